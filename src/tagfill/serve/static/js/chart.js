// Small charts as SVG.

import { number } from "/static/js/i18n.js";

const NS = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [520, 200, 44, 26, 10];

function node(name, attributes, text) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// series: [{ name, points: [[x, y], ...] }]; from and to are the ends of both axes, where they are known
export function lines(series, label, { from, to, x: across, y: up } = {}) {
  const points = series.flatMap((one) => one.points);
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label, class: "chart" });
  if (!points.length) return svg;
  const xs = points.map((point) => point[0]);
  const ys = points.map((point) => point[1]);
  const pad = Math.max((Math.max(...ys) - Math.min(...ys)) * 0.1, 0.5);
  const [x0, x1] = [from ?? Math.min(...xs), to ?? Math.max(...xs, Math.min(...xs) + 1)];
  const [y0, y1] = [from ?? Math.min(...ys) - pad, to ?? Math.max(...ys) + pad];
  const x = (value) => LEFT + ((value - x0) / (x1 - x0)) * (WIDTH - LEFT - 10);
  const y = (value) => TOP + ((y1 - value) / (y1 - y0)) * (HEIGHT - TOP - BOTTOM);
  for (let step = 0; step <= 4; step += 1) {
    const value = y0 + ((y1 - y0) * step) / 4;
    svg.append(node("line", { x1: LEFT, x2: WIDTH - 10, y1: y(value), y2: y(value), class: "grid-line" }));
    svg.append(node("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, number(value, to === undefined ? 1 : 0)));
  }
  for (const value of new Set([x0, Math.round((x0 + x1) / 2), x1])) {
    svg.append(node("text", { x: x(value), y: HEIGHT - 6, "text-anchor": value === x1 ? "end" : "middle" }, number(value)));
  }
  if (across) svg.append(node("text", { x: x(x0 + 0.75 * (x1 - x0)), y: HEIGHT - 6, "text-anchor": "middle" }, `${across} →`));
  if (up) svg.append(node("text", { x: LEFT + 6, y: HEIGHT - BOTTOM - 8 }, `↑ ${up}`));
  series.forEach((one, number) => {
    const path = one.points.map((point, place) => `${place ? "L" : "M"}${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}`).join("");
    svg.append(node("path", { d: path, class: `series s${number}` }));
  });
  return svg;
}
