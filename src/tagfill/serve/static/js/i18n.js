// All texts of the pages, in the reader's language.

import { de } from "/static/js/strings/de.js";
import { en } from "/static/js/strings/en.js";

export const languages = { en: "English", de: "Deutsch" };
const texts = { en, de };
const wanted = localStorage.getItem("language") ?? navigator.language.slice(0, 2);
export const language = wanted in texts ? wanted : "en";
document.documentElement.lang = language;

export function number(value, digits = 0) {
  if (value === null || value === undefined) return "–";
  return value.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function percent(value, digits = 0) {
  return value === null || value === undefined ? "–" : `${number(100 * value, digits)} %`;
}

export function time(seconds) {
  return new Date(seconds * 1000).toLocaleString(language);
}

export function t(key, values = {}) {
  const text = texts[language][key] ?? en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === "number" ? number(value) : (value ?? "");
  });
}

export function has(key) {
  return key in en;
}

export function choose(name) {
  localStorage.setItem("language", name);
  location.reload();
}
