// Small parts that several pages share.

import { post } from "/static/js/api.js";
import { fill, h, typing } from "/static/js/dom.js";
import { has, t } from "/static/js/i18n.js";

export function toast(text, kind = "", action = null) {
  const box = h("div.toast", { "data-kind": kind }, text, action);
  const toasts = document.getElementById("toasts");
  toasts.querySelectorAll(kind ? `[data-kind=${kind}]` : "[data-kind='']").forEach((old) => old.remove()); // the latest of a kind
  toasts.append(box);
  setTimeout(() => box.remove(), kind || action ? 8000 : 3000);
}

// What was done, and a way back.
export function done(text, { batch }, reload) {
  toast(text, "", h("button.quiet", { type: "button", onclick: () => undo(reload, batch) }, t("undo")));
}

// Take back an action, by default the person's last one; what it changed is loaded again.
export const undo = guard(async (reload, batch = null) => {
  const lines = await post("/api/review/undo", { batch });
  toast(lines.length ? t("undone", { count: lines.length }) : t("undo.nothing"));
  if (lines.length) await reload(lines);
});

export function undoButton(reload) {
  return h("button.quiet", { type: "button", onclick: () => undo(reload) }, t("undo"), h("kbd", "U"));
}

// U takes back, wherever nothing is typed.
export function undoKey(reload) {
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "u" && !typing(event) && !document.querySelector("dialog[open]")) undo(reload);
  });
}

// Why the server refused: in the reader's language, then in its own words.
export function reason(error) {
  if (error.status === 0) return t("offline");
  const why = has(`refused.${error.status}`) ? t(`refused.${error.status}`) : t("failed");
  return [why, error.message ? h("small", ` (${error.message})`) : null];
}

export function complain(error) {
  toast(reason(error), "error");
}

export function guard(action) {
  return async (...given) => {
    try {
      return await action(...given);
    } catch (error) {
      complain(error);
      return undefined;
    }
  };
}

export function empty(title, text, ...actions) {
  return h("section.empty", h("h2", title), h("p", text), h("p.actions", actions));
}

export function meter(share, label) {
  const value = Math.max(0, Math.min(1, share || 0));
  return h(
    "div.meter",
    {
      role: "progressbar",
      "aria-label": label,
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-valuenow": String(Math.round(100 * value)),
    },
    h("span", { style: { width: `${100 * value}%` } }),
  );
}

export function keysHelp(pairs) {
  const rows = pairs.map(([keys, text]) =>
    h("li", keys.split(" ").map((key) => h("kbd", key)), h("span", text)),
  );
  return h("details.keys", h("summary", t("keys")), h("ul", rows));
}

// A text field that offers names; calls back with the one chosen.
export function chooser(id, label, names, chosen, button = t("add")) {
  const list = h("datalist", { id: `${id}-names` }, names.map((name) => h("option", { value: name })));
  const field = h("input", { id, list: list.id, autocomplete: "off", maxlength: "200", placeholder: label, "aria-label": label });
  const form = h("form.chooser", {
    onsubmit: (event) => {
      event.preventDefault();
      const name = field.value.trim();
      if (name) chosen(name);
      field.value = "";
    },
  }, field, h("button", { type: "submit", "aria-label": t("add"), title: t("add") }, button), list);
  form.field = field;
  return form;
}

export function dialog(title, content, actions) {
  const box = h("dialog", { "aria-label": title }, h("h2", title), content);
  const close = () => {
    box.close();
    box.remove();
  };
  box.append(
    h("p.actions", actions(close), h("button.quiet", { type: "button", onclick: close }, t("cancel"))),
  );
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return box;
}

export function enlarge(url, name) {
  const box = h("dialog.lightbox", { "aria-label": name, onclick: () => box.close() }, h("img", { src: url, alt: name }));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

export function loading(element) {
  fill(element, h("p.loading", t("loading")));
}
