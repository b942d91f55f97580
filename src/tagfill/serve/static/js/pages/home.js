// The state of things, and what to do next.

import { get } from "/static/js/api.js";
import { fill, h, picture } from "/static/js/dom.js";
import { number, percent, t } from "/static/js/i18n.js";

export async function show(main) {
  const [review, history, measured] = await Promise.all([
    get("/api/review"),
    get("/api/review/history?limit=8"),
    get("/api/runs/measured"),
  ]);
  const { totals } = review;
  fill(
    main,
    h("div.hero", h("h1", t("home.title", totals)), h("p.faint", t("home.model", { model: review.model }))),
    h("div.tiles",
      figure(Math.round(totals.expected), t("home.expected"), "/review"),
      figure(totals.found, t("home.found")),
      figure(totals.decided, t("home.decided")),
      figure(totals.complete, t("home.complete")),
    ),
    h("div.ways",
      h("section.card", { "data-kind": "main" }, h("h2", t("nav.review")), h("p", t("home.review")),
        h("p.actions", h("a.button", { href: "/review" }, t("by_tag")), h("a.button", { href: "/review?view=photo" }, t("by_photo")))),
      quality(totals.guided, measured),
      h("section.card", h("h2", t("train.title")), h("p", t("home.train", totals)),
        h("p.actions", h("a.button.quiet", { href: "/train" }, t("train.title")))),
    ),
    h("section.card", h("h2", t("home.recent")), recent(history)),
  );
}

export function figure(value, label, href) {
  const shown = typeof value === "number" ? number(value) : value;
  return h(href ? "a.card.figure.way" : "div.card.figure", href ? { href } : {}, h("strong", shown), h("small.faint", label));
}

export function quality(guided, measured) {
  const start = h("a.button.quiet", { href: "/review?view=photo&guided=1" }, t("home.start", guided));
  if (!measured.photos) {
    return h("section.card", h("h2", t("home.measured")), h("p", t("home.unmeasured", guided)), h("p.actions", start));
  }
  return h("section.card",
    h("h2", t("home.measured")),
    h("p.badges", metric("mAP", measured.mAP === null ? null : measured.mAP / 100), metric(t("precision"), measured.precision), metric(t("recall"), measured.recall)),
    h("small.faint", t("measured.on", { count: measured.photos })),
    measured.photos < guided.count ? h("p.actions", h("small", t("home.partly", guided)), start) : null,
  );
}

function metric(name, value) {
  return h("span.badge", `${name} ${percent(value, 1)}`);
}

function recent(lines) {
  if (!lines.length) return h("p.faint", t("home.none"));
  const rows = lines.map((line) => h("tr",
    h("td", line.photo === null ? null : picture(line.photo, 160, "")), h("td", line.tag || t(`kind.${line.kind}`)), h("td", line.image), h("td", line.who), h("td", line.kind === "answer" ? t(`value.${["unsure", "no", "yes"][line.value + 1]}`) : t(`kind.${line.kind}`)),
  ));
  return h("div.scroll", h("table.recent", h("tbody", rows)));
}
