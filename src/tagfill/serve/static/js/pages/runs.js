// Runs: metrics, curves, every class, and two side by side.

import { get, send } from "/static/js/api.js";
import { lines } from "/static/js/chart.js";
import { fill, h } from "/static/js/dom.js";
import { number, percent, t } from "/static/js/i18n.js";
import { guard, toast } from "/static/js/ui.js";
import { quality } from "/static/js/pages/home.js";

export async function show(main, query) {
  const [runs, review, measured] = await Promise.all([get("/api/runs"), get("/api/review"), get("/api/runs/measured")]);
  const served = runs.find((run) => run.served);
  const names = [query.get("run") ?? served?.name ?? runs[0]?.name, query.get("other")].filter(Boolean);
  const detail = h("div.detail");
  fill(
    main,
    h("h1", t("nav.runs")),
    h("section.card.scroll", list(runs, names)),
    quality(review.totals.guided, measured),
    detail,
  );
  if (names.length === 2) {
    await guard(() => compare(detail, names))();
    detail.scrollIntoView({ block: "start" });
  }
  else if (names.length) await guard(() => one(detail, names[0]))();
}

function list(runs, names) {
  const rows = runs.map((run) => h("tr",
    h("td", h("a", { href: `/runs?run=${encodeURIComponent(run.name)}` }, run.name), run.served ? h("span.badge", t("runs.served")) : null),
    h("td", run.problem ? h("span.problem", run.problem) : run.method), h("td", score(run.mAP.val)), h("td", score(run.mAP.test)),
    h("td", h("div.buttons",
      run.name === names[0] ? null : h("a.button.quiet", { href: `/runs?run=${encodeURIComponent(names[0])}&other=${encodeURIComponent(run.name)}` }, t("runs.compare")),
      run.served || !run.finished ? null : h("button.quiet", { type: "button", onclick: guard(() => serve(run.name)) }, t("runs.serve")),
    )),
  ));
  const heads = ["name", "method", "val", "test"].map((name) => h("th", { scope: "col" }, t(`runs.${name}`)));
  return h("table.runlist", h("thead", h("tr", heads, h("td"))), h("tbody", rows));
}

export async function serve(run) {
  toast(t("runs.switching"));
  await send("PUT", "/api/runs/served", { run });
  toast(t("runs.switched", { run }));
  location.reload();
}

const score = (value) => number(value, 1);
const share = (value) => percent(value, 1);

async function one(detail, name) {
  const run = await get(`/api/runs/${encodeURIComponent(name)}`);
  const split = run.splits.test ?? run.splits.val;
  const epochs = run.curve.filter((point) => point.score !== null).map((point) => [point.epoch, point.score]);
  fill(detail,
    h("section.card", h("h2", run.name),
      h("p.faint", `${run.method} · ${run.backbone} · ${run.head}`),
      split ? metrics(split) : null,
      h("div.curves",
        h("div",
          await precisionCurves([name], split?.per_class.map((row) => row.name) ?? []),
          epochs.length > 1 ? h("figure.curve", h("figcaption", t("runs.curve"), h("small.faint", ` ${run.criterion}`)), lines([{ name, points: epochs }], t("runs.curve"))) : null,
        ),
        split ? h("div.scroll", h("h2", t("runs.classes")), classes(split.per_class)) : null,
      ),
    ),
  );
}

// The metrics of all tags together, at the thresholds found on validation photos.
function metrics(split) {
  const { overall_precision: precision, overall_recall: recall, overall_f1: f1 } = split.at_fitted_thresholds ?? {};
  const shown = [
    ["mAP", score(split.mAP)], [t("runs.precision"), share(precision)], [t("runs.recall"), share(recall)],
    [t("runs.f1"), share(f1)], [t("runs.calibration"), share(split.calibrated?.expected_calibration_error)],
  ];
  return h("p.badges", shown.map(([name, value]) => h("span.badge", `${name} ${value}`)), h("small.faint", t("runs.on", { count: split.images })));
}

// Precision by recall, of all tags together or of the one chosen.
async function precisionCurves(names, tags) {
  const chart = h("div");
  const choice = h("select", { "aria-label": t("runs.tag"), onchange: guard(() => draw()) },
    h("option", { value: "" }, t("data.all_together")), tags.map((tag) => h("option", { value: tag }, tag)));
  const draw = async () => {
    const query = choice.value ? `?tag=${encodeURIComponent(choice.value)}` : "";
    const curves = await Promise.all(names.map((name) => get(`/api/runs/${encodeURIComponent(name)}/curve${query}`)));
    const series = curves.map(({ run, points }) => ({ name: run, points: points.map(([x, y]) => [100 * x, 100 * y]) }));
    const drawn = series.some(({ points }) => points.length);
    const legend = names.length > 1 ? h("p.legend", names.map((name, place) => h("span", h("i", { class: `key s${place}` }), name))) : null;
    fill(chart, drawn ? [lines(series, t("runs.pr"), { from: 0, to: 100, x: t("runs.recall"), y: t("runs.precision") }), legend] : h("p.faint", t("runs.pr.none")));
  };
  try {
    await draw();
  } catch {
    return null; // the run held out other photos
  }
  return h("figure.curve", h("figcaption", t("runs.pr"), choice), chart);
}

function classes(rows) {
  const heads = ["tag", "positives", "ap", "precision", "recall", "f1"].map((name) => h("th", { scope: "col" }, t(`runs.${name}`)));
  const body = [...rows].sort((first, second) => (second.average_precision ?? -1) - (first.average_precision ?? -1)).map((row) =>
    h("tr", h("td", row.name), h("td", number(row.positives)), h("td", share(row.average_precision)), h("td", share(row.precision)), h("td", share(row.recall)), h("td", share(row.f1))));
  return h("table.classlist", h("thead", h("tr", heads)), h("tbody", body));
}

async function compare(detail, [first, second]) {
  const result = await get(`/api/runs/${encodeURIComponent(first)}/compare/${encodeURIComponent(second)}`);
  const curves = await precisionCurves([first, second], result.tags);
  const same = t("runs.same", { photos: result.photos, split: t(`split.${result.split}`) });
  fill(detail, h("section.card", h("h2", t("runs.side")), h("p.faint", same), h("div.curves", curves, h("div.scroll", comparison(result)))));
}

export function comparison({ tags, runs: [one, two] }) {
  const rows = tags.map((tag, place) => [tag, one.per_class[place], two.per_class[place]]).filter((row) => row[1] !== null && row[2] !== null);
  rows.sort((a, b) => b[2] - b[1] - (a[2] - a[1]));
  const change = (a, b) => (a === null || b === null ? "–" : h("span", { "data-sign": Math.sign(b - a) }, `${b >= a ? "+" : "−"}${score(Math.abs(b - a))}`));
  return h("table",
    h("thead", h("tr", h("th", { scope: "col" }, t("runs.tag")), h("th", { scope: "col" }, one.name), h("th", { scope: "col" }, two.name), h("th", { scope: "col" }, t("runs.change")))),
    h("tbody",
      h("tr.total", h("td", "mAP"), h("td", score(one.mAP)), h("td", score(two.mAP)), h("td", change(one.mAP, two.mAP))),
      rows.map(([tag, a, b]) => h("tr", h("td", tag), h("td", score(a)), h("td", score(b)), h("td", change(a, b)))),
    ),
  );
}
