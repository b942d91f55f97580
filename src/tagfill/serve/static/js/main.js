// The frame of every page: navigation, language, theme, name; then the page itself.

import { setName, whoAmI } from "/static/js/api.js";
import { fill, h } from "/static/js/dom.js";
import { choose, language, languages, t } from "/static/js/i18n.js";
import { dialog, empty, guard, reason } from "/static/js/ui.js";

const pages = {
  "/": "home",
  "/review": "review",
  "/try": "try",
  "/data": "data",
  "/tags": "tags",
  "/runs": "runs",
  "/train": "train",
  "/login": "login",
};
const shown = ["/review", "/try", "/data", "/tags", "/runs", "/train"];

applyTheme(localStorage.getItem("theme"));
start();

async function start() {
  const name = pages[location.pathname] ?? "missing";
  const main = document.getElementById("main");
  document.title = `${t(`nav.${name}`)} – tagfill`;
  document.body.dataset.page = name;
  try {
    const session = name === "login" ? null : await whoAmI();
    header(session);
    if (name === "missing") {
      fill(main, empty(t("nav.missing"), t("missing.why"), h("a.button", { href: "/" }, t("nav.home"))));
    } else {
      const page = await import(`/static/js/pages/${name}.js`);
      await page.show(main, new URLSearchParams(location.search), session);
    }
  } catch (error) {
    const again = h("button", { type: "button", onclick: () => location.reload() }, t("again"));
    fill(main, empty(t("failed"), reason(error), again, h("a.button.quiet", { href: "/" }, t("nav.home"))));
  }
  main.removeAttribute("aria-busy");
}

function header(session) {
  const links = shown.map((path) =>
    h("a", { href: path, "aria-current": path === location.pathname ? "page" : null }, t(`nav.${pages[path]}`)),
  );
  const others = Object.entries(languages).map(([code, name]) =>
    h("option", { value: code, selected: code === language }, name),
  );
  fill(
    document.getElementById("header"),
    h("a.skip", { href: "#main" }, t("skip")),
    h("a.brand", { href: "/" }, h("img", { src: "/static/icon.svg", alt: "", width: "24", height: "24" }), "tagfill"),
    h("nav", { "aria-label": t("nav") }, session ? links : []),
    h(
      "div.tools",
      session?.read_only ? h("span.badge", t("read_only")) : null,
      session ? h("button.quiet.person", { type: "button", title: t("name.change"), onclick: () => askName(session) }, session.name) : null,
      h("select", { "aria-label": t("language"), onchange: (event) => choose(event.target.value) }, others),
      h("button.quiet.theme", { type: "button", "aria-label": t("theme"), title: t("theme"), onclick: nextTheme }, "◐"),
    ),
  );
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

function askName(session) {
  if (!session.csrf) return;
  const field = h("input", { id: "name", maxlength: "80", "aria-label": t("name"), value: session.name });
  dialog(t("name.change"), h("p", field), (close) =>
    h("button", {
      type: "button",
      onclick: guard(async () => {
        header(await setName(field.value));
        close();
      }),
    }, t("save")),
  );
}

function applyTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function nextTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = dark ? "light" : "dark";
  localStorage.setItem("theme", theme);
  applyTheme(theme);
}
