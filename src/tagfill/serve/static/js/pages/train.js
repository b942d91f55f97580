// Train again from the decisions, in the background.

import { get, post, send } from "/static/js/api.js";
import { fill, h } from "/static/js/dom.js";
import { has, number, t, time } from "/static/js/i18n.js";
import { guard, meter } from "/static/js/ui.js";
import { comparison, serve } from "/static/js/pages/runs.js";

const EVERY = 1000;

export async function show(main) {
  const { totals, model } = await get("/api/review");
  const box = h("div.joblist", { "aria-live": "polite" });
  const start = h("button", { type: "button", onclick: guard(async () => {
    await post("/api/jobs");
    await draw();
  }) }, t("train.start"));
  fill(
    main,
    h("h1", t("train.title")),
    h("section.card", h("p", t("train.intro", totals)), h("p.faint", t("home.model", { model })), h("p.actions", start)),
    box,
  );
  let shown = "";
  async function draw() {
    const jobs = await get("/api/jobs");
    const running = jobs.some((job) => job.state === "running");
    start.disabled = running;
    const state = JSON.stringify(jobs);
    if (!jobs.length) fill(box, h("p.faint", t("train.none")));
    else if (state !== shown) fill(box, await Promise.all(jobs.map((job) => card(job, model, totals.guided.count, draw))));
    shown = state;
    if (running) setTimeout(() => draw().catch(() => {}), EVERY);
  }
  await draw();
}

async function card(job, served, count, draw) {
  const when = time(job.at);
  const parts = [h("h2", job.run, h("span.badge", t(`job.${job.state}`))), h("p.faint", `${job.who}, ${when}`)];
  if (job.state === "running") {
    const { done = 0, total = 1, label = "" } = job.progress ?? {};
    parts.push(meter(done / total, t("progress")), h("p.faint", label ? `${phase(label)} ${number(done)} / ${number(total)}` : t("loading")));
    parts.push(h("p.actions", h("button.danger", { type: "button", onclick: guard(async () => {
      await send("DELETE", `/api/jobs/${job.id}`);
      await draw();
    }) }, t("train.cancel"))));
  }
  if (job.message) parts.push(h("p.problem", job.message));
  if (job.state === "done") parts.push(await result(job, served, count));
  return h("section.card.job", { "data-state": job.state }, parts);
}

function phase(label) {
  const key = `phase.${label.match(/^\w*/)[0]}`;
  return has(key) ? t(key) : t("phase.training");
}

// Without known negatives nothing can be measured: the way to get some.
function guided(count) {
  return h("a.button.quiet", { href: "/review?view=photo&guided=1" }, t("home.start", { count }));
}

async function result(job, served, count) {
  if (job.run === served) return h("p", t("train.served"));
  const use = h("button", { type: "button", onclick: guard(() => serve(job.run)) }, t("train.use"));
  try {
    const both = await get(`/api/runs/${encodeURIComponent(served)}/compare/${encodeURIComponent(job.run)}`);
    return h("div", h("p.faint", t("runs.same", { photos: both.photos, split: t(`split.${both.split}`) })), h("div.scroll", comparison(both)), h("p.actions", use, both.runs.some((run) => run.mAP === null) ? guided(count) : null));
  } catch {
    return h("p.actions", use);
  }
}
