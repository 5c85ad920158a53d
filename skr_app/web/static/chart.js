// The axes of a drawing, and what all drawings of the page share.

import { h, svg } from "./dom.js";

const HEIGHT = 310;
const EDGE = { left: 52, right: 16, top: 14, bottom: 54 };

/**
 * An empty drawing over two ranges that begin at 0 or above.
 *
 * `x` and `y` each have a `label`, a range `from` `to`, and `show`, which writes a value. Gives the
 * places of values, paths through them, and `figure`, which makes the drawing of its parts.
 */
export function chart({ x, y }) {
  const width = matchMedia("(max-width: 40rem)").matches ? 370 : 640;
  const right = width - EDGE.right;
  const below = HEIGHT - EDGE.bottom;
  const across = (value) => EDGE.left + ((value - x.from) / (x.to - x.from || 1)) * (right - EDGE.left);
  const up = (value) => below - ((value - y.from) / (y.to - y.from || 1)) * (below - EDGE.top);
  const path = (values, heights) => values.map((value, place) =>
    `${place ? "L" : "M"}${across(value).toFixed(1)} ${up(heights[place]).toFixed(1)}`).join("");
  const band = (values, low, high) =>
    `${path(values, low)}${path([...values].reverse(), [...high].reverse()).replace("M", "L")}Z`;
  const axes = [
    ...marks(y).flatMap((value) => [
      svg("line", { class: "grid", x1: EDGE.left, x2: right, y1: up(value), y2: up(value) }),
      svg("text", { x: EDGE.left - 8, y: up(value) + 5, "text-anchor": "end" }, y.show(value)),
    ]),
    ...marks(x).map((value) => svg("text", { x: across(value), y: below + 23, "text-anchor": "middle" }, x.show(value))),
    svg("text", { x: (right + EDGE.left) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, x.label),
  ];
  /** The drawing: what it says to those who do not see it, its parts, and the names of its lines. */
  const figure = (said, parts, names) => h("figure", {},
    h("figcaption", { class: "faint" }, y.label),
    svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": said }, axes, parts),
    h("ul", { class: "legend" }, names.map(([kind, name]) => h("li", { class: `key-${kind}` }, name))));
  return { across, up, path, band, figure };
}

/** Round values on an axis, two to six of them. */
function marks({ from, to }) {
  const power = 10 ** Math.floor(Math.log10(to - from || 1));
  const step = [0.1, 0.2, 0.5, 1].map((part) => part * power).find((each) => (to - from) / each <= 5) ?? 2 * power;
  const first = Math.ceil(from / step - 1e-9);
  return Array.from({ length: Math.floor(to / step + 1e-9) - first + 1 }, (_, place) => (first + place) * step);
}
