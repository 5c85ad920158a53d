// Accuracy against cost, as the command's drawing shows it.

import { h, svg } from "./dom.js";

const HEIGHT = 330;
const EDGE = { left: 46, right: 16, top: 14, bottom: 44 };

/** The curve with its band, the constant policies, and what was chosen. */
export function draw(curve) {
  const width = matchMedia("(max-width: 40rem)").matches ? 370 : 640;
  const widest = Math.max(...curve.costs, curve.chosen.cost, ...curve.constants.map((each) => each.cost)) || 1;
  const all = [...curve.low, ...curve.high, ...curve.oracle.accuracy, curve.chosen.accuracy, ...curve.constants.map((each) => each.accuracy)];
  const bottom = Math.max(0, Math.floor(5 * Math.min(...all)) / 5);
  const top = Math.min(1, Math.ceil(5 * Math.max(...all)) / 5);
  const x = (cost) => EDGE.left + (cost / widest) * (width - EDGE.left - EDGE.right);
  const y = (accuracy) => HEIGHT - EDGE.bottom - ((accuracy - bottom) / (top - bottom || 1)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const line = (costs, values) => costs.map((cost, place) => `${place ? "L" : "M"}${x(cost).toFixed(1)} ${y(values[place]).toFixed(1)}`).join("");
  const back = [...curve.costs].reverse();
  const band = `${line(curve.costs, curve.low)}${line(back, [...curve.high].reverse()).replace("M", "L")}Z`;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `Accuracy against ${curve.label}. ${curve.verdict}` },
    grid(bottom, top, widest, x, y, width, curve.label),
    svg("path", { class: "band", d: band }),
    svg("path", { class: "best", d: line(curve.oracle.costs, curve.oracle.accuracy) }),
    svg("path", { class: "line", d: line(curve.costs, curve.accuracy) }),
    curve.constants.map((each) => constant(each, x, y, widest)),
    svg("circle", { class: "at", r: 7, cx: x(curve.chosen.cost), cy: y(curve.chosen.accuracy) }));
  const names = [["line", curve.router], ["at", "chosen"], ["best", "best possible"]];
  const legend = h("ul", { class: "legend" }, names.map(([kind, name]) => h("li", { class: `key-${kind}` }, name)));
  return h("figure", {}, drawing, legend);
}

function constant(each, x, y, widest) {
  const side = each.cost < widest / 4 ? "start" : each.cost > (3 * widest) / 4 ? "end" : "middle";
  return svg("g", {}, svg("circle", { class: "constant", r: 4, cx: x(each.cost), cy: y(each.accuracy) }),
    svg("text", { x: x(each.cost), y: y(each.accuracy) + 20, "text-anchor": side }, each.action));
}

function grid(bottom, top, widest, x, y, width, label) {
  const parts = [];
  for (let value = bottom; value <= top + 0.01; value += 0.2) {
    parts.push(svg("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }));
    parts.push(svg("text", { x: EDGE.left - 8, y: y(value) + 5, "text-anchor": "end" }, value.toFixed(1)));
  }
  const step = stepOf(widest);
  for (let place = 0; place * step <= widest * 1.001; place += 1) {
    const value = place * step;
    parts.push(svg("text", { x: x(value), y: HEIGHT - EDGE.bottom + 18, "text-anchor": "middle" }, String(Number(value.toPrecision(3)))));
  }
  parts.push(svg("text", { class: "axis", x: (width + EDGE.left) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, label));
  return parts;
}

/** A round step by which an axis of this length has two to five marks. */
function stepOf(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  return [0.2, 0.5, 1].map((part) => part * power).find((step) => length / step <= 5) ?? power * 2;
}
