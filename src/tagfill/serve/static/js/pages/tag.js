// Many photos, one tag: tick those that show it, and confirm the page with one key.

import { get, post, releaseOnLeaving } from "/static/js/api.js";
import { fill, h, picture, pictureUrl, typing } from "/static/js/dom.js";
import { percent, t } from "/static/js/i18n.js";
import { done, empty, enlarge, guard, keysHelp, meter, undo } from "/static/js/ui.js";

const ROWS = 4;
export const LIKELY = 0.5; // from here on a photo is set to yes
const MARKS = { yes: "✓", no: "✕", unsure: "?" };

export async function show(main, query) {
  const page = new Page(main, query.get("tag") ?? "");
  await page.start();
}

export function tagUrl(tag) {
  return `/review?view=tag&tag=${encodeURIComponent(tag)}`;
}

// The highest probability of the photos left.
export function atMost(state) {
  return percent(Math.max(0.01, state.likeliest));
}

class Page {
  constructor(main, tag) {
    Object.assign(this, { main, tag, cards: [], focus: 0, anchor: 0, answered: 0, began: Date.now() });
    this.columns = Number(localStorage.getItem("columns")) || (innerWidth < 720 ? 2 : 6);
    this.grid = h("div.grid", { role: "group", "aria-label": tag });
    this.side = h("div.tagside");
    this.offer = h("div");
    this.ahead = [];
    releaseOnLeaving(() => ({ tag: this.tag, photos: [...this.cards.map((card) => card.photo), ...this.ahead] }));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  async start() {
    const button = (kind, text, key, action) => h(kind, { type: "button", onclick: action }, text, h("kbd", key));
    this.deciding = [
      button("button", t("confirm"), "Enter", guard(() => this.confirm())),
      button("button.quiet", t("all_yes"), "A", () => this.all("yes")),
      button("button.quiet", t("all_no"), "X", () => this.all("no")),
    ];
    const slider = h("input", {
      type: "range", min: "2", max: "10", value: String(this.columns), "aria-label": t("columns"),
      oninput: (event) => this.setColumns(Number(event.target.value)),
      onpointerup: (event) => event.target.blur(), // so that arrows move between photos again
    });
    fill(
      this.main,
      h("div.tagtop",
        h("div", h("a.back", { href: "/review" }, "← ", t("by_tag")), h("h1", t("tag.question", { tag: this.tag }))),
        h("label.columns", h("small", t("columns")), slider),
      ),
      this.offer,
      h("div.tagwork", this.grid, h("aside.card", this.side,
        h("p.actions.stack", this.deciding, button("button.quiet", t("undo"), "U", () => this.undo())),
        keysHelp([
          ["← → ↑ ↓", t("keys.move")], ["Space", t("keys.toggle")], ["⇧ click", t("keys.range")],
          ["?", t("keys.unsure")], ["Z", t("keys.zoom")], ["A X", t("keys.all")], ["Enter", t("keys.confirm")], ["U", t("keys.undo")],
        ]),
      )),
    );
    this.setColumns(this.columns);
    await this.refresh();
  }

  async refresh() {
    await this.load();
    await this.status();
  }

  setColumns(columns) {
    this.columns = columns;
    localStorage.setItem("columns", String(columns));
    this.grid.style.setProperty("--columns", String(columns));
  }

  async load() {
    const { grid } = await post("/api/review/next", { view: "tag", tag: this.tag, count: this.columns * ROWS });
    this.cards = grid.map((card) => ({ ...card, value: card.probability >= LIKELY ? "yes" : "no" }));
    this.focus = this.anchor = 0;
    this.deciding.forEach((button) => (button.hidden = !this.cards.length));
    if (!this.cards.length) {
      const { learned } = (await get("/api/tags")).find((other) => other.tag === this.tag) ?? {};
      const why = t(learned ? "tag.finished.why" : "tag.finished.new", { tag: this.tag });
      fill(this.grid, empty(t("tag.finished", { tag: this.tag }), why, await this.nextTag()));
      return;
    }
    fill(this.grid, this.cards.map((card, place) => this.tile(card, place)));
    this.prefetch();
  }

  // The way to the tag with most to review.
  async nextTag() {
    const { tags } = await get("/api/review");
    const next = tags.find((other) => other.open && other.tag !== this.tag);
    return next ? h("a.button", { href: tagUrl(next.tag) }, t("tag.next", next)) : h("a.button", { href: "/review" }, t("by_tag"));
  }

  // The next page's pictures, so that they are there at once.
  prefetch() {
    const exclude = this.cards.map((card) => card.photo);
    post("/api/review/next", { view: "tag", tag: this.tag, count: this.columns * ROWS, exclude })
      .then(({ grid }) => {
        this.ahead = grid.map((card) => card.photo);
        this.ahead.forEach((photo) => (new Image().src = pictureUrl(photo, 320)));
      })
      .catch(() => {});
  }

  tile(card, place) {
    card.tile = h("button.tile", {
      type: "button",
      tabindex: place === 0 ? "0" : "-1",
      onclick: (event) => this.click(place, event.shiftKey),
      ondblclick: () => enlarge(pictureUrl(card.photo, 1600), card.name),
      onfocus: () => (this.focus = place),
    }, picture(card.photo, 320), h("span.chance", percent(card.probability)), h("span.mark"));
    this.draw(card);
    return card.tile;
  }

  draw(card) {
    card.tile.dataset.value = card.value;
    card.tile.querySelector(".mark").textContent = MARKS[card.value];
    card.tile.setAttribute("aria-pressed", card.value === "unsure" ? "mixed" : String(card.value === "yes"));
    card.tile.setAttribute("aria-label", `${card.name}, ${percent(card.probability)}: ${t(`value.${card.value}`)}`);
  }

  put(place, value) {
    const card = this.cards[place];
    if (!card) return;
    card.value = value;
    this.draw(card);
  }

  click(place, range) {
    if (range) {
      const value = this.cards[this.anchor]?.value ?? "yes";
      const [from, to] = [Math.min(place, this.anchor), Math.max(place, this.anchor)];
      for (let tile = from; tile <= to; tile += 1) this.put(tile, value);
    } else {
      this.put(place, this.cards[place].value === "yes" ? "no" : "yes");
      this.anchor = place;
    }
    this.focus = place;
  }

  all(value) {
    this.cards.forEach((_, place) => this.put(place, value));
  }

  move(step) {
    const next = this.focus + step;
    if (!this.cards[next]) return;
    this.cards[this.focus].tile.tabIndex = -1;
    this.focus = next;
    this.cards[next].tile.tabIndex = 0;
    this.cards[next].tile.focus();
  }

  key(event) {
    if (this.busy || typing(event) || document.querySelector("dialog[open]")) return;
    if (event.repeat && !event.key.startsWith("Arrow")) return; // a key held down is one answer
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns };
    const actions = {
      a: () => this.all("yes"),
      x: () => this.all("no"),
      u: () => this.undo(),
      z: () => this.zoom(),
      "?": () => this.put(this.focus, "unsure"),
      " ": () => this.click(this.focus, false),
      Enter: guard(() => this.confirm()),
    };
    if (event.target.matches("aside button, a") && (event.key === "Enter" || event.key === " ")) return;
    if (event.key in steps) this.move(steps[event.key]);
    else if (event.key in actions) actions[event.key]();
    else if (event.key.toLowerCase() in actions) actions[event.key.toLowerCase()]();
    else return;
    event.preventDefault();
  }

  zoom() {
    const card = this.cards[this.focus];
    if (card) enlarge(pictureUrl(card.photo, 1600), card.name);
  }

  // One change at a time: keys pressed before the next page is there do not count for it.
  async alone(action) {
    if (this.busy) return;
    this.setBusy(true);
    try {
      await action();
    } finally {
      this.setBusy(false);
    }
  }

  setBusy(busy) {
    this.busy = busy;
    this.grid.setAttribute("aria-busy", String(busy));
  }

  confirm() {
    return this.alone(async () => {
      if (!this.cards.length) return;
      const decisions = this.cards.map((card) => ({ photo: card.photo, tag: this.tag, value: card.value }));
      await post("/api/review/decisions", { view: "tag", decisions });
      this.answered += decisions.length;
      await this.refresh();
      this.cards[0]?.tile.focus();
    });
  }

  undo() {
    return this.alone(() => undo(async (lines) => {
      this.answered = Math.max(0, this.answered - lines.length);
      await this.refresh();
    }));
  }

  async status() {
    const state = await get(`/api/review/tags/${encodeURIComponent(this.tag)}`);
    const minutes = Math.max(1 / 60, (Date.now() - this.began) / 60000);
    const speed = this.answered ? Math.round(this.answered / minutes) : 0;
    const { rest } = state;
    const estimated = rest.sampled > 0 && rest.count > 0;
    const bounds = h("small.faint", t("n.bounds", { low: percent(rest.low), high: percent(rest.high) }));
    fill(
      this.side,
      meter((state.suggested - state.open) / Math.max(1, state.suggested), t("progress")),
      h("dl.numbers",
        pair(t("n.open"), state.open), pair(t("n.yes"), state.yes), pair(t("n.no"), state.no),
        pair(t("n.speed"), speed || "–"),
        pair(t("n.precision"), estimated ? [percent(rest.expected), bounds] : "–"),
      ),
    );
    fill(this.offer, state.acceptable ? this.offered(state) : await this.remark(state));
  }

  // What to expect where no photo is likely to show the tag.
  async remark(state) {
    if (!this.cards.length || state.likeliest >= LIKELY) return [];
    const values = { tag: this.tag, most: atMost(state) };
    return h("section.remark.card",
      h("p", t(state.open ? "tag.unlikely" : "tag.only_unlikely", values)),
      state.open ? null : await this.nextTag(),
    );
  }

  offered(state) {
    const accept = guard(async () => {
      const saved = await post("/api/review/accept", { tag: this.tag });
      done(t("accepted", { count: saved.saved, tag: this.tag }), saved, () => this.refresh());
      await this.refresh();
    });
    const values = { count: state.rest.count, tag: this.tag, share: percent(state.rest.expected), low: percent(state.rest.low) };
    return h("section.offer.card",
      h("p", t("offer", values)),
      h("button", { type: "button", onclick: accept }, t("offer.accept", values)),
    );
  }
}

function pair(name, value) {
  return [h("dt", name), h("dd", typeof value === "number" ? t("{n}", { n: value }) : value)];
}
