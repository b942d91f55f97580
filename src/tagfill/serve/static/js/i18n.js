// All texts of the pages, in the reader's language.

import { de } from "/static/js/strings/de.js";
import { en } from "/static/js/strings/en.js";

export const languages = { en: "English", de: "Deutsch" };
const texts = { en, de };
const wanted = localStorage.getItem("language") ?? navigator.language.slice(0, 2);
export const language = wanted in texts ? wanted : "en";
document.documentElement.lang = language;

const numbers = new Intl.NumberFormat(language);

export function number(value) {
  return numbers.format(value);
}

export function t(key, values = {}) {
  const text = texts[language][key] ?? en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === "number" ? number(value) : (value ?? "");
  });
}

export function choose(name) {
  localStorage.setItem("language", name);
  location.reload();
}
