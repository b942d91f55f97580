// The token, once.

import { fill, h } from "/static/js/dom.js";
import { t } from "/static/js/i18n.js";

export async function show(main, query) {
  const problem = h("p.problem", { role: "alert" });
  const field = h("input", { id: "token", name: "token", type: "password", required: true, autocomplete: "current-password" });
  const form = h("form.login.card", {
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        const response = await fetch("/login", { method: "POST", body: new FormData(form), redirect: "manual" });
        if (response.type === "opaqueredirect" || response.ok) location.assign(target(query.get("next")));
        else problem.textContent = t(response.status === 429 ? "refused.429" : "login.wrong");
      } catch {
        problem.textContent = t("offline");
      }
    },
  }, h("h1", t("nav.login")), h("p.faint", t("login.why")), h("label", { for: "token" }, t("login.token")), field, problem, h("button", { type: "submit" }, t("nav.login")));
  fill(main, form);
  field.focus();
}

// Only pages of this server.
function target(next) {
  const url = new URL(next ?? "/", location.origin);
  return url.origin === location.origin ? url.href : "/";
}
