// All photos: find them by tags and words, and change many at once.

import { download, get, post } from "/static/js/api.js";
import { fill, h, picture, pictureUrl } from "/static/js/dom.js";
import { has, number, percent, t } from "/static/js/i18n.js";
import { chooser, done, empty, enlarge, guard, undoButton, undoKey } from "/static/js/ui.js";

const SIZE = 60;
const IN_PHOTOS = ["photos", "xmp"];
const STATES = ["any", "yes", "no", "suggested", "unknown"];

export async function show(main, query) {
  const page = new Browser(main, query);
  await page.start();
}

class Browser {
  constructor(main, query) {
    this.main = main;
    this.wanted = { tag: query.get("tag") ?? "", state: query.get("state") ?? "any", q: query.get("q") ?? "", page: 0 };
    this.chosen = new Set();
    this.grid = h("div.gallery");
    this.format = h("p.faint.hint", { "aria-live": "polite" });
    this.count = h("p.faint", { "aria-live": "polite" });
    this.bulk = h("div.bulk.card", { hidden: true });
    this.pager = h("p.actions");
  }

  async start() {
    const [tags, formats] = await Promise.all([get("/api/tags"), get("/api/labels/formats")]);
    this.tags = tags;
    const names = this.tags.map((tag) => tag.tag);
    const select = (id, label, options, value) => h("label", h("small", label), h("select", {
      id, onchange: (event) => this.filter({ [id]: event.target.value }),
    }, options.map(([key, text]) => h("option", { value: key, selected: key === value }, text))));
    fill(
      this.main,
      h("h1", t("nav.data")),
      h("form.filters", { onsubmit: (event) => event.preventDefault() },
        h("label", h("small", t("data.search")), h("input", {
          type: "search", id: "q", value: this.wanted.q, maxlength: "200",
          oninput: (event) => {
            clearTimeout(this.timer);
            this.timer = setTimeout(() => this.filter({ q: event.target.value }), 200);
          },
        })),
        select("tag", t("data.tag"), [["", t("data.all")], ...names.map((name) => [name, name])], this.wanted.tag),
        select("state", t("data.state"), STATES.map((state) => [state, t(`state.${state}`)]), this.wanted.state),
      ),
      this.exports(formats),
      this.bulk,
      this.count,
      this.grid,
      this.pager,
    );
    this.bulkForm();
    await Promise.all([this.load(), this.explain("csv_wide")]);
  }

  exports(formats) {
    const name = (format) => (has(`format.${format}`) ? t(`format.${format}`) : format);
    const select = h("select", { id: "format", onchange: guard(() => this.explain(select.value)) },
      formats.map((format) => h("option", { value: format, selected: format === "csv_wide" }, name(format))));
    const save = h("button", { type: "button", onclick: guard(() => download(`/api/labels/export?format=${encodeURIComponent(select.value)}`)) }, t("data.download"));
    return h("details.export",
      h("summary.button.quiet", t("data.export")),
      h("div.card", h("label", h("small", t("data.format")), h("span.pairwise", select, save)), this.format));
  }

  // What the chosen format holds; for photos the command that writes into the files themselves.
  async explain(format) {
    const key = `format.${format}.why`;
    const inPlace = IN_PHOTOS.includes(format) ? (await get("/api/labels/command")).command : null;
    fill(this.format, has(key) ? t(key) : null, inPlace ? [" ", t("data.in_place"), " ", h("code", inPlace)] : null);
  }

  bulkForm() {
    const names = this.tags.map((tag) => tag.tag);
    const change = (value) => guard(async (tag) => {
      const saved = await post("/api/labels", { photos: [...this.chosen], tag, value });
      done(t(`bulk.${value}`, { count: saved.saved, tag }), saved, () => this.load());
      await this.load();
    });
    const field = chooser("bulk-tag", t("bulk.tag"), names, change("yes"));
    const remove = h("button.quiet", {
      type: "button",
      onclick: () => field.field.value.trim() && change("no")(field.field.value.trim()),
    }, t("bulk.remove"));
    const all = h("button.quiet", { type: "button", onclick: () => this.choosePage() }, t("bulk.page"));
    const none = h("button.quiet", { type: "button", onclick: () => this.clear() }, t("bulk.clear"));
    this.chosenText = h("strong");
    fill(this.bulk, this.chosenText, field, remove, all, none, undoButton(() => this.load()));
    undoKey(() => this.load());
  }

  async filter(change) {
    Object.assign(this.wanted, change, { page: 0 });
    await guard(() => this.load())();
  }

  async load() {
    const query = new URLSearchParams({ size: SIZE });
    for (const [name, value] of Object.entries(this.wanted)) if (value !== "") query.set(name, value);
    const answer = await get(`/api/photos?${query}`);
    this.photos = answer.photos;
    this.count.textContent = t("data.count", { count: answer.total });
    const clear = h("button", { type: "button", onclick: () => location.assign("/data") }, t("data.clear"));
    fill(this.grid, answer.photos.length ? answer.photos.map((photo) => this.tile(photo)) : empty(t("data.none"), t("data.none.why"), clear));
    const pages = Math.ceil(answer.total / SIZE);
    const go = (step) => h("button.quiet", {
      type: "button",
      disabled: this.wanted.page + step < 0 || this.wanted.page + step >= pages,
      onclick: guard(() => {
        this.wanted.page += step;
        return this.load();
      }),
    }, step < 0 ? t("data.previous") : t("data.next"));
    fill(this.pager, pages > 1 ? [go(-1), h("span", `${number(this.wanted.page + 1)} / ${number(pages)}`), go(1)] : []);
    this.drawChosen();
  }

  tile(photo) {
    const box = h("input", {
      type: "checkbox",
      "aria-label": t("data.choose", { name: photo.name }),
      checked: this.chosen.has(photo.photo),
      onclick: (event) => this.choose(photo, event.target.checked, event.shiftKey),
    });
    photo.box = box;
    return h("figure.thing",
      h("label.pick", box),
      h("button.plain", { type: "button", "aria-label": photo.name, onclick: () => enlarge(pictureUrl(photo.photo, 1600), photo.name) }, picture(photo.photo, 320)),
      h("figcaption",
        h("a", { href: `/review?view=photo&photo=${photo.photo}` }, photo.name),
        photo.probability !== null && this.wanted.state !== "any" ? h("span.badge", percent(photo.probability)) : null,
        h("span.faint", photo.yes.join(", ") || "–"),
      ),
    );
  }

  choose(photo, on, range) {
    const place = this.photos.indexOf(photo);
    const from = range && this.last !== undefined ? this.last : place;
    for (let row = Math.min(from, place); row <= Math.max(from, place); row += 1) {
      this.photos[row].box.checked = on;
      if (on) this.chosen.add(this.photos[row].photo);
      else this.chosen.delete(this.photos[row].photo);
    }
    this.last = place;
    this.drawChosen();
  }

  choosePage() {
    this.photos.forEach((photo) => {
      photo.box.checked = true;
      this.chosen.add(photo.photo);
    });
    this.drawChosen();
  }

  clear() {
    this.chosen.clear();
    this.photos.forEach((photo) => (photo.box.checked = false));
    this.drawChosen();
  }

  drawChosen() {
    this.bulk.hidden = this.chosen.size === 0;
    this.chosenText.textContent = t("bulk.chosen", { count: this.chosen.size });
  }
}
