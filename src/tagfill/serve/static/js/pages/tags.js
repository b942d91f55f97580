// All tags: how often, with which others, other names, and written tags that look wrong.

import { get, post } from "/static/js/api.js";
import { fill, h, picture } from "/static/js/dom.js";
import { number, percent, t } from "/static/js/i18n.js";
import { tagUrl } from "/static/js/pages/tag.js";
import { dialog, done, guard, undoButton, undoKey } from "/static/js/ui.js";

export async function show(main) {
  undoKey(() => draw(main));
  await draw(main);
}

async function draw(main) {
  const [tags, together, suspects] = await Promise.all([
    get("/api/tags"), get("/api/tags/together?count=14"), get("/api/suspects?count=24"),
  ]);
  const reload = () => draw(main);
  fill(
    main,
    h("div.tagtop", h("h1", t("nav.tags")), undoButton(reload)),
    h("p.jumps", h("a", { href: "#together" }, t("tags.together")), h("a", { href: "#suspects" }, t("tags.suspects"), suspects.length ? ` (${number(suspects.length)})` : null)),
    h("section.card.scroll", table(tags, reload)),
    h("div.columns2",
      h("section.card.scroll", { id: "together" }, h("h2", t("tags.together")), matrix(together)),
      h("section.card", { id: "suspects" }, h("h2", t("tags.suspects")), h("p.faint", t("tags.suspects.why")), suspectList(suspects, reload)),
    ),
  );
}

function table(tags, reload) {
  const names = tags.map((tag) => tag.tag);
  const rows = [...tags].sort((one, other) => other.yes - one.yes).map((tag) => h("tr",
    h("td", h("a", { href: `/data?state=yes&tag=${encodeURIComponent(tag.tag)}` }, tag.tag), tag.learned ? null : h("span.badge", t("tags.new"))),
    h("td", number(tag.yes)), h("td", number(tag.no)), h("td", number(tag.unknown)),
    h("td", h("a", { href: tagUrl(tag.tag) }, number(tag.suggested))),
    h("td", h("button.quiet", { type: "button", "aria-label": t("tags.rename"), onclick: () => rename(tag.tag, names, reload) }, h("span.word", t("tags.rename")), h("span.sign", "✎"))),
  ));
  const heads = ["tag", "yes", "no", "unknown", "suggested"].map((name) => h("th", { scope: "col" }, t(`tags.${name}`)));
  return [h("table.tagtable", h("thead", h("tr", heads, h("td"))), h("tbody", rows))];
}

function rename(tag, names, reload) {
  const list = h("datalist", { id: "tag-names" }, names.map((name) => h("option", { value: name })));
  const field = h("input", { id: "new-name", list: list.id, value: tag, maxlength: "200", "aria-label": t("tags.rename") });
  dialog(t("tags.rename.title", { tag }), h("div", h("p", t("tags.rename.why")), field, list), (close) =>
    h("button", {
      type: "button",
      onclick: guard(async () => {
        const saved = await post("/api/tags/rename", { tag, to: field.value });
        close();
        done(t("tags.renamed", { tag, to: field.value.trim() }), saved, reload);
        await reload();
      }),
    }, t("save")),
  );
}

function matrix({ tags, counts }) {
  const most = Math.max(1, ...counts.flatMap((row, one) => row.filter((_, other) => other !== one)));
  const head = h("tr", h("td"), tags.map((tag) => h("th.upright", { scope: "col" }, h("span", tag))));
  const rows = tags.map((tag, one) => h("tr", h("th", { scope: "row" }, tag), counts[one].map((count, other) =>
    h("td.heatcell", { style: { "--strength": one === other ? "0" : String(count / most) } }, count || "·"))));
  return h("table.matrix", h("thead", head), h("tbody", rows));
}

function suspectList(suspects, reload) {
  if (!suspects.length) return h("p.faint", t("tags.suspects.none"));
  const decide = (suspect, value, row) => guard(async () => {
    const saved = await post("/api/review/decisions", { view: "suspects", decisions: [{ photo: suspect.photo, tag: suspect.tag, value }] });
    row.remove();
    done(t("tags.decided", { tag: suspect.tag, value: t(`value.${value}`) }), saved, reload);
  });
  return h("ul.suspects", suspects.map((suspect) => {
    const row = h("li", picture(suspect.photo, 160, suspect.name), h("span", h("strong", suspect.tag), h("small.faint", ` ${percent(suspect.probability, 1)}`)));
    row.append(
      h("button.quiet", { type: "button", onclick: decide(suspect, "yes", row) }, t("tags.right")),
      h("button.quiet", { type: "button", onclick: decide(suspect, "no", row) }, t("tags.wrong")),
    );
    return row;
  }));
}
