// Train again from the decisions, in the background.

import { get, post, send } from "/static/js/api.js";
import { fill, h } from "/static/js/dom.js";
import { number, t, time } from "/static/js/i18n.js";
import { guard, meter } from "/static/js/ui.js";
import { comparison, serve } from "/static/js/pages/runs.js";

const EVERY = 1000;

export async function show(main, _, session) {
  const { totals, model } = await get("/api/review");
  const box = h("div.joblist", { "aria-live": "polite" });
  const start = h("button", { type: "button", onclick: guard(async () => {
    await post("/api/jobs");
    await draw();
  }) }, t("train.start"));
  fill(
    main,
    h("h1", t("train.title")),
    h("section.card", h("p", t("train.intro", totals)), h("p.faint", t("home.model", { model })),
      session.read_only ? h("p.problem", t("read_only.why")) : null, h("p.actions", start)),
    box,
  );
  const live = h("div"); // the progress of the training that runs
  let shown = "";
  async function draw() {
    const jobs = await get("/api/jobs");
    const running = jobs.find((job) => job.state === "running");
    start.disabled = Boolean(running) || session.read_only;
    if (running) fill(live, progress(running));
    const state = jobs.map((job) => job.id + job.state).join();
    if (!jobs.length) fill(box, h("p.faint", t("train.none")));
    else if (state !== shown) fill(box, await Promise.all(jobs.map((job) => card(job, model, totals.guided.count, live, draw))));
    shown = state;
    if (running) setTimeout(() => draw().catch(() => {}), EVERY);
  }
  await draw();
}

// The step, what is counted in it, and the time beside that of the last training.
function progress({ progress: told, seconds, usual }) {
  if (!told) return h("p.faint", t("train.begins"));
  const { step, steps, label, done, total } = told;
  const inStep = total ? done / total : 0;
  const share = Math.max((step - 1 + inStep) / steps, usual ? Math.min(0.95, seconds / usual) : 0);
  const counted = total ? ` ${number(done)} / ${number(total)}` : "";
  return [
    meter(share, t("progress")),
    h("p", t("train.step", { step, steps }), ": ", t(`phase.${label}`), counted),
    h("p.faint", t(usual ? "train.time" : "train.elapsed", { time: clock(seconds), usual: clock(usual) })),
  ];
}

const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

async function card(job, served, count, live, draw) {
  const when = time(job.at);
  const parts = [h("h2", job.run, h("span.badge", t(`job.${job.state}`))), h("p.faint", `${job.who}, ${when}`)];
  if (job.state === "running") {
    parts.push(live, h("p.actions", h("button.danger", { type: "button", onclick: guard(async () => {
      await send("DELETE", `/api/jobs/${job.id}`);
      await draw();
    }) }, t("train.cancel"))));
  }
  if (job.message) parts.push(h("p.problem", job.message));
  if (job.state === "done") parts.push(await result(job, served, count));
  return h("section.card.job", { "data-state": job.state }, parts);
}

// Without known negatives nothing can be measured: the way to get some.
function guided(count) {
  return h("a.button.quiet", { href: "/review?view=photo&guided=1" }, t("home.start", { count }));
}

// Before and after, and a way to the other model.
async function result(job, served, count) {
  const before = job.run === served ? job.base : served;
  const other = job.run === served ? before : job.run;
  const use = h("button", { type: "button", onclick: guard(() => serve(other)) }, job.run === served ? t("train.back", { run: before }) : t("train.use"));
  const now = job.run === served ? h("p", t("train.served")) : null;
  try {
    const both = await get(`/api/runs/${encodeURIComponent(before)}/compare/${encodeURIComponent(job.run)}`);
    return h("div", now, h("p.actions", use, both.runs.some((run) => run.mAP === null) ? guided(count) : null),
      h("p.faint", t("runs.same", { photos: both.photos, split: t(`split.${both.split}`) })), h("div.scroll", comparison(both)));
  } catch {
    return h("div", now, h("p.actions", use));
  }
}
