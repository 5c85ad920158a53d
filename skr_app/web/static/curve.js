// What a router gets right and what it costs, beside doing the same for every question.

import { chart } from "./chart.js";
import { h, percent, svg } from "./dom.js";

/** The router's curve with its band, the constant policies, and the one figure that is promised. */
export function drawCurve(curve) {
  const points = [curve.chosen, ...curve.constants];
  const heights = [...curve.low, ...curve.high, ...curve.oracle.accuracy, ...points.map((each) => each.accuracy)];
  const dearest = Math.max(...curve.costs, ...points.map((each) => each.cost)) || 1;
  const { across, up, path, band, figure } = chart({
    x: { label: curve.label, from: 0, to: dearest, show: (value) => String(Number(value.toPrecision(3))) },
    y: { label: "Right answers", from: Math.max(0, Math.floor(10 * Math.min(...heights)) / 10), to: Math.min(1, Math.ceil(10 * Math.max(...heights)) / 10), show: percent },
  });
  const constant = ({ action, cost, accuracy }) => {
    const side = cost < dearest / 4 ? "start" : cost > (3 * dearest) / 4 ? "end" : "middle";
    return svg("g", {}, svg("circle", { class: "constant", r: 4, cx: across(cost), cy: up(accuracy) }),
      svg("text", { x: across(cost), y: up(accuracy) + 20, "text-anchor": side }, ALWAYS[action]));
  };
  return figure(`Right answers against ${curve.label}. ${curve.verdict}`, [
    svg("path", { class: "band", d: band(curve.costs, curve.low, curve.high) }),
    svg("path", { class: "best", d: path(curve.oracle.costs, curve.oracle.accuracy) }),
    svg("path", { class: "line", d: path(curve.costs, curve.accuracy) }),
    curve.constants.map(constant),
    svg("circle", { class: "at", r: 7, cx: across(curve.chosen.cost), cy: up(curve.chosen.accuracy) }),
  ], [["at", "this router, on questions it has not seen"], ["line", "the same, set to search less or more"], ["best", "the best that any choice could do"]]);
}

const ALWAYS = { direct: "never search", single: "always search once", loop: "always search" };

/** The figures of the router and of doing the same for every question, a row each. */
export function figures(rows, label) {
  const head = ["", "Right", "Share, with its likely range", label[0].toUpperCase() + label.slice(1), "Searched for"];
  const body = rows.map(({ name, right, cost, searched }, place) => h("tr", {},
    h("th", { scope: "row" }, place ? ALWAYS[name.replace("always ", "")] ?? name : "this router"),
    [`${Math.round(right.n * right.mean)} of ${right.n}`, `${percent(right.mean)} (${percent(right.low)} to ${percent(right.high)})`,
      String(Number(cost.toPrecision(3))), percent(searched)].map((text) => h("td", { class: "figure" }, text))));
  return tableOf("Figures", head, body);
}

/** Risk and coverage: how many answers are wrong where only the surest are given. */
export function risk(surest) {
  const shares = surest.map((each) => each.share);
  const wrong = (end) => surest.map((each) => 1 - each.accuracy[end]);
  const highest = Math.max(...wrong("low"), 0.1);
  const { path, band, figure } = chart({
    x: { label: "Questions answered (coverage)", from: 0, to: 1, show: percent },
    y: { label: "Wrong answers among them (risk)", from: 0, to: Math.min(1, Math.ceil(10 * highest) / 10), show: percent },
  });
  const told = [0.25, 0.5, 0.75, 1].map((share) => surest.find((each) => Math.abs(each.share - share) < 0.01)).filter(Boolean);
  const body = told.map((each) => h("tr", {},
    h("th", { scope: "row" }, each.share < 1 ? `the surest ${percent(each.share)}` : "all questions"),
    [percent(1 - each.accuracy.mean), `${percent(1 - each.accuracy.high)} to ${percent(1 - each.accuracy.low)}`,
      each.share < 1 ? each.chance.toFixed(2) : ""].map((text) => h("td", { class: "figure" }, text))));
  const [most, half] = [told.at(-1), told[1]];
  return [
    h("p", {}, `If all questions are answered, ${percent(1 - most.accuracy.mean)} of the answers are wrong. If only the surer half is answered, ${percent(1 - half.accuracy.mean)} of those are.`),
    h("p", { class: "faint" }, "Start with --abstain-below and a chance of the table to give only the answers that are at least so sure."),
    figure(`Risk against coverage: ${percent(1 - half.accuracy.mean)} of the answers are wrong where half of the questions are answered, ${percent(1 - most.accuracy.mean)} where all are.`, [
      svg("path", { class: "band", d: band(shares, wrong("low"), wrong("high")) }),
      svg("path", { class: "line", d: path(shares, wrong("mean")) }),
    ], [["line", "wrong answers, with their likely range"]]),
    tableOf("Risk and coverage", ["Answered", "Wrong", "Likely range", "Chance from"], body),
  ];
}

function tableOf(name, head, body) {
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": name },
    h("table", { class: "figures" }, h("thead", {}, h("tr", {}, head.map((each, place) => (each ? h("th", { scope: "col", class: place ? "figure" : "" }, each) : h("td", {}))))), h("tbody", {}, body)));
}
