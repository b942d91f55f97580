// Where review begins: the tags, how far each has come, and the two ways to look.

import { get } from "/static/js/api.js";
import { fill, h } from "/static/js/dom.js";
import { atMost, LIKELY, show as showTag, tagUrl } from "/static/js/pages/tag.js";
import { percent, t } from "/static/js/i18n.js";
import { empty, meter } from "/static/js/ui.js";

export async function show(main, query, session) {
  const view = query.get("view");
  if (view && session.read_only) return refuse(main);
  if (view === "tag") return showTag(main, query);
  if (view === "photo") return (await import("/static/js/pages/photo.js")).show(main, query);
  return menu(main);
}

function refuse(main) {
  fill(main, empty(t("read_only"), t("read_only.why"), h("a.button", { href: "/data" }, t("nav.data"))));
}

async function menu(main) {
  const review = await get("/api/review");
  const { totals } = review;
  if (!totals.left && !totals.decided) {
    fill(main, empty(t("review.nothing"), t("review.nothing.why"), h("a.button", { href: "/train" }, t("nav.train"))));
    return;
  }
  const share = totals.decided / Math.max(1, totals.decided + totals.open);
  fill(
    main,
    h("h1", t("nav.review")),
    h("p.faint", t("review.intro", { expected: Math.round(totals.expected) })),
    h("div.ways",
      way("/review?view=photo", t("by_photo"), t("by_photo.why"), "main"),
      way("/review?view=photo&guided=1", t("guided", { count: totals.guided.count }), t("guided.why", totals.guided), ""),
    ),
    h("section",
      h("div.progress", meter(share, t("progress")), h("small", t("review.progress", totals))),
      h("h2", t("by_tag")),
      h("div.taglist", review.tags.map(row)),
    ),
  );
}

function way(href, title, text, kind) {
  return h("a.way.card", { href, "data-kind": kind }, h("h2", title), h("p", text));
}

function row(tag) {
  const answered = tag.yes + tag.no;
  const done = (tag.suggested - tag.open) / Math.max(1, tag.suggested);
  return h(
    "a.tagrow",
    { href: tagUrl(tag.tag), "data-done": tag.open === 0 ? "true" : null },
    h("strong", tag.tag),
    h("span.faint", tag.open ? t("tag.open", { open: tag.open }) : t("tag.done")),
    meter(done, t("progress")),
    h("small.faint",
      h("span", answered ? t("tag.answered", { yes: tag.yes, no: tag.no }) : t("tag.written", { written: tag.written })),
      tag.open && tag.likeliest < LIKELY ? h("span", t("tag.most", { most: atMost(tag) })) : null,
    ),
    tag.acceptable ? h("span.badge", t("tag.acceptable", { share: percent(tag.rest.expected) })) : null,
  );
}
