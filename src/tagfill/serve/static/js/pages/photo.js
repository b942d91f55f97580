// One large photo, its tags and the tags it may have.

import { get, post, releaseOnLeaving } from "/static/js/api.js";
import { fill, h, pictureUrl, typing } from "/static/js/dom.js";
import { percent, t } from "/static/js/i18n.js";
import { chooser, complain, done, empty, guard, keysHelp, meter, undo } from "/static/js/ui.js";
import { swipes } from "/static/js/swipe.js";

const AHEAD = 4;
const MOST_EXCLUDED = 2000; // so many the server takes

export async function show(main, query) {
  const deck = new Deck(main, query.get("guided") === "1", query.get("photo"));
  await deck.start();
}

class Deck {
  constructor(main, guided, first) {
    Object.assign(this, { main, guided, first, cards: [], place: 0, active: 0, actions: [], began: Date.now() });
    this.stage = h("div.stage");
    this.progress = h("div.progress");
    this.panel = h("aside.card.panel");
    document.addEventListener("keydown", (event) => this.key(event));
    swipes(this.stage, { right: () => this.answer("yes"), left: () => this.answer("no") });
    releaseOnLeaving(() => ({ photos: this.cards.slice(-2 * AHEAD).map((card) => card.photo) }));
  }

  async start() {
    fill(this.main, h("div.photowork", this.stage, this.panel));
    await this.review();
    if (this.first !== null) this.take([await get(`/api/photos/${Number(this.first)}`)]);
    await this.fetch();
    this.draw();
  }

  // How far the review has come, by everybody.
  async review() {
    const { tags, totals } = await get("/api/review");
    this.tags = new Map(tags.map((tag) => [tag.tag, tag]));
    this.names = [...this.tags.keys()].sort();
    this.totals = totals;
    this.drawProgress();
  }

  drawProgress() {
    const { totals } = this;
    const { done, count } = totals.guided;
    const share = this.guided ? done / Math.max(1, count) : totals.decided / Math.max(1, totals.decided + totals.open);
    const text = this.guided ? t("home.partly", totals.guided) : t("review.progress", totals);
    fill(this.progress, meter(share, t("progress")), h("small.faint", text));
  }

  get card() {
    return this.cards[this.place];
  }

  take(cards) {
    for (const card of cards) {
      if (this.cards.some((held) => held.photo === card.photo)) continue;
      card.suggestions.forEach((suggestion) => (suggestion.value = null));
      this.cards.push(card);
      new Image().src = pictureUrl(card.photo, 1600);
    }
  }

  // Keep a few photos ahead, so that the next one is there at once.
  async fetch() {
    if (this.cards.length - this.place > AHEAD || this.exhausted) return;
    const exclude = this.cards.slice(-MOST_EXCLUDED).map((card) => card.photo);
    const { photos } = await post("/api/review/next", { view: "photo", count: AHEAD, exclude, guided: this.guided });
    this.exhausted = photos.length === 0;
    this.take(photos);
  }

  draw() {
    const { card } = this;
    if (!card) {
      fill(this.panel);
      this.panel.hidden = true;
      fill(this.stage, this.finished());
      return;
    }
    this.panel.hidden = false;
    this.heat = h("img.heat", { alt: "", hidden: true });
    this.image = h("img.photo", { src: pictureUrl(card.photo, 1600), alt: card.name, draggable: "false" });
    this.question = h("p.question", { "aria-live": "polite" });
    fill(this.stage, h("div.frame", { ondblclick: () => this.zoom() }, this.image, this.heat), this.question, this.bar());
    this.drawPanel();
  }

  finished() {
    const { done, count } = this.totals.guided;
    if (!this.guided) return empty(t("photo.finished"), t("photo.finished.why"), h("a.button", { href: "/train" }, t("train.title")), h("a.button.quiet", { href: "/review" }, t("nav.review")));
    if (done < count) return empty(t("photo.finished"), t("guided.others", { left: count - done }), h("a.button", { href: "/review" }, t("nav.review")));
    return empty(t("guided.finished"), t("guided.finished.why"), h("a.button", { href: "/runs" }, t("home.measured")), h("a.button.quiet", { href: "/review" }, t("nav.review")));
  }

  bar() {
    const button = (kind, text, key, action) =>
      h("button", { type: "button", "data-kind": kind, onclick: action, class: kind ? `answer ${kind}` : "quiet" }, text, h("kbd", key));
    return h("div.answers",
      button("no", t("no"), "N", () => this.answer("no")),
      button("unsure", t("unsure"), "?", () => this.answer("unsure")),
      button("yes", t("yes"), "Y", () => this.answer("yes")),
    );
  }

  drawPanel() {
    const { card } = this;
    this.ask(card.suggestions[this.active]);
    const minutes = Math.max(1 / 60, (Date.now() - this.began) / 60000);
    const [answered, found] = ["answered", "found"].map((name) => this.actions.reduce((sum, action) => sum + action[name], 0));
    const speed = answered ? Math.round(answered / minutes) : 0;
    const field = chooser("add-tag", t("add_tag"), this.names, guard((tag) => this.add(tag)), "+");
    this.field = field.field;
    fill(
      this.panel,
      h("div.place",
        h("button.quiet", { type: "button", "aria-label": t("previous"), onclick: () => this.go(-1) }, "←"),
        h("small.faint", card.name, " ", card.split ? h("span.badge", t(`split.${card.split}`)) : null, card.complete ? h("span.badge", t("complete.done")) : null),
        h("button.quiet", { type: "button", "aria-label": t("next"), onclick: guard(() => this.go(1)) }, "→"),
      ),
      h("h2", t("suggested")),
      card.suggestions.length ? h("ul.chips.asked", card.suggestions.map((suggestion, place) => this.chip(suggestion, place))) : h("p.faint", t("photo.nothing")),
      h("h2", t("written")),
      card.yes.length ? h("ul.chips", card.yes.map((tag) => this.known(tag))) : h("p.faint", t("photo.no_tags")),
      field,
      h("p.actions.stack",
        h("button", { type: "button", onclick: guard(() => this.complete()) }, t("complete"), h("kbd", "C")),
        h("span.pairwise",
          h("button.quiet", { type: "button", onclick: guard(() => this.go(1)) }, t("skip_photo"), h("kbd", "S")),
          h("button.quiet", { type: "button", onclick: () => this.undo() }, t("undo"), h("kbd", "U")),
        ),
      ),
      this.progress,
      h("small.faint.tally", t("photo.tally", { answered, found, speed: speed || "–" })),
      keysHelp([
        ["Y N ?", t("keys.answer")], ["↑ ↓", t("keys.choose")], ["← →", t("keys.photo")], ["S", t("keys.skip")],
        ["H", t("keys.heat")], ["Z", t("keys.zoom")], ["T", t("keys.add")], ["C", t("keys.complete")], ["U", t("keys.undo")],
      ]),
    );
  }

  // The question, and what the answers say of the tag so far.
  ask(suggestion) {
    const asked = this.card.suggestions.some((other) => other.value === null);
    if (!suggestion || (this.guided && !asked)) {
      fill(this.question, t(this.guided ? "guided.last" : "photo.nothing"));
      return;
    }
    const { yes = 0, no = 0 } = this.tags.get(suggestion.tag) ?? {};
    const right = yes + no ? t("photo.right", { yes, count: yes + no }) : "";
    fill(this.question, t("tag.question", { tag: suggestion.tag }), " ", h("small.faint", right));
  }

  chip(suggestion, place) {
    const active = place === this.active;
    return h("li",
      h("button.chip", {
        type: "button",
        "data-value": suggestion.value,
        "aria-current": active ? "true" : null,
        onclick: () => this.activate(place),
        onmouseenter: () => this.showHeat(suggestion.tag),
        onmouseleave: () => this.hideHeat(),
      },
      h("span", suggestion.tag),
      suggestion.value ? h("span", t(`value.${suggestion.value}`)) : h("span.faint", percent(suggestion.probability))),
    );
  }

  known(tag) {
    const label = t("photo.remove", { tag });
    return h("li.chip", { "data-value": "yes" }, h("span", tag),
      h("button.remove", { type: "button", "aria-label": label, title: label, onclick: guard(() => this.remove(tag)) }, "×"));
  }

  activate(place) {
    const count = this.card?.suggestions.length ?? 0;
    if (!count) return;
    this.active = (place + count) % count;
    this.drawPanel();
    if (this.heated) this.showHeat(this.card.suggestions[this.active].tag);
  }

  showHeat(tag) {
    this.heat.src = `/api/photos/${this.card.photo}/heat?tag=${encodeURIComponent(tag)}`;
    this.heat.hidden = false;
  }

  hideHeat() {
    if (!this.heated) this.heat.hidden = true;
  }

  toggleHeat() {
    const suggestion = this.card?.suggestions[this.active];
    if (!suggestion) return;
    this.heated = !this.heated;
    if (this.heated) this.showHeat(suggestion.tag);
    else this.hideHeat();
  }

  zoom() {
    this.stage.classList.toggle("zoomed");
  }

  // The answer shows at once; saving goes on behind it, and a failure brings the question back.
  async answer(value) {
    const { card } = this;
    const suggestion = card?.suggestions[this.active];
    if (!suggestion) return;
    const before = suggestion.value;
    const action = { answered: Number(before === null), found: Number(value === "yes") - Number(before === "yes") };
    this.actions.push(action);
    this.count(suggestion, value);
    const saving = post("/api/review/decisions", {
      view: "photo",
      decisions: [{ photo: card.photo, tag: suggestion.tag, value }],
    }).catch((error) => {
      this.count(suggestion, before);
      this.actions.splice(this.actions.indexOf(action), 1);
      if (this.card === card) this.active = card.suggestions.indexOf(suggestion);
      if (this.card) this.drawPanel();
      complain(error);
    });
    const next = card.suggestions.findIndex((other) => other.value === null);
    if (next >= 0) this.activate(next);
    else if (this.guided) this.drawPanel();
    else this.go(1).catch(() => {});
    await saving;
  }

  count(suggestion, value) {
    const tag = this.tags.get(suggestion.tag);
    if (tag && suggestion.value in tag) tag[suggestion.value] -= 1;
    if (tag && value in tag) tag[value] += 1;
    const change = (test) => Number(test(value)) - Number(test(suggestion.value));
    this.totals.decided += change((answer) => answer === "yes" || answer === "no");
    this.totals.found += change((answer) => answer === "yes");
    suggestion.value = value;
    this.drawProgress();
  }

  async go(step) {
    const next = this.place + step;
    if (next < 0) return;
    if (next >= this.cards.length) await this.fetch();
    this.place = Math.min(next, this.cards.length);
    const open = this.card?.suggestions.findIndex((suggestion) => suggestion.value === null) ?? 0;
    this.active = Math.max(0, open);
    this.stage.classList.remove("zoomed");
    this.heated = false;
    this.draw();
    Promise.all([this.fetch(), this.review()]).catch(() => {});
  }

  async add(tag) {
    const { card } = this;
    await post("/api/review/decisions", { view: "photo", decisions: [{ photo: card.photo, tag, value: "yes" }] });
    card.yes.push(tag);
    card.suggestions = card.suggestions.filter((suggestion) => suggestion.tag !== tag);
    if (!this.names.includes(tag)) this.names.push(tag);
    this.actions.push({ answered: 1, found: 1 });
    this.active = Math.min(this.active, Math.max(0, card.suggestions.length - 1));
    this.drawPanel();
    this.field.focus();
  }

  // A tag that somebody wrote and that is not there.
  async remove(tag) {
    const { card } = this;
    const saved = await post("/api/review/decisions", { view: "photo", decisions: [{ photo: card.photo, tag, value: "no" }] });
    card.yes = card.yes.filter((name) => name !== tag);
    this.actions.push({ answered: 1, found: 0 });
    done(t("tags.decided", { tag, value: t("value.no") }), saved, (lines) => this.undone(lines));
    this.drawPanel();
    await this.review();
  }

  async complete() {
    const { card } = this;
    if (!card) return;
    const yes = card.suggestions.filter((suggestion) => suggestion.value === "yes").map((suggestion) => suggestion.tag);
    const saved = await post("/api/review/complete", { photo: card.photo, yes });
    if (!card.complete && this.guided) this.totals.guided.done += 1;
    card.complete = true;
    this.actions.push({ answered: 0, found: 0 });
    done(t("complete.saved"), saved, (lines) => this.undone(lines));
    await this.go(1);
  }

  async undone(lines) {
    this.actions.pop();
    await this.review();
    const { photo } = lines[0];
    if (photo === null) return this.restart(); // a tag has its old name again
    const fresh = await get(`/api/photos/${photo}`);
    fresh.suggestions.forEach((suggestion) => (suggestion.value = null));
    const place = this.cards.findIndex((card) => card.photo === photo);
    if (place >= 0) this.cards[place] = fresh;
    else this.cards.splice(this.place, 0, fresh);
    this.place = place >= 0 ? place : this.place;
    this.active = Math.max(0, fresh.suggestions.findIndex((suggestion) => suggestion.tag === lines[0].tag));
    this.draw();
  }

  undo() {
    return undo((lines) => this.undone(lines));
  }

  async restart() {
    Object.assign(this, { cards: [], place: 0, active: 0, exhausted: false });
    await this.fetch();
    this.draw();
  }

  key(event) {
    if (event.key === "Escape") this.field?.blur();
    if (typing(event) || document.querySelector("dialog[open]")) return;
    if (event.repeat && !event.key.startsWith("Arrow")) return; // a key held down is one answer
    const actions = {
      y: () => this.answer("yes"),
      n: () => this.answer("no"),
      "?": () => this.answer("unsure"),
      s: guard(() => this.go(1)),
      u: () => this.undo(),
      c: guard(() => this.complete()),
      h: () => this.toggleHeat(),
      z: () => this.zoom(),
      t: () => this.field?.focus(),
      arrowleft: guard(() => this.go(-1)),
      arrowright: guard(() => this.go(1)),
      arrowup: () => this.activate(this.active - 1),
      arrowdown: () => this.activate(this.active + 1),
    };
    const action = actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  }
}
