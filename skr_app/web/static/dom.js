// Elements are made here and nowhere else: every text becomes a text node, never HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: attributes, listeners under `on...`, and children; null children are left out. */
export function h(name, given = {}, ...children) {
  return fill(document.createElement(name), given, children);
}

/** The same for a part of a drawing. */
export function svg(name, given = {}, ...children) {
  return fill(document.createElementNS(SVG, name), given, children);
}

function fill(element, given, children) {
  for (const [key, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined));
  return element;
}

/** Tell those who do not see the page what happens on it. */
export function say(text) {
  document.getElementById("status").textContent = text;
}

/** A failure, where it happened. */
export function failure(line) {
  return h("p", { class: "failure", role: "alert" }, line);
}

/** "1 round", "2 rounds". */
export function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** A share in whole percent, "75%", rounded as Python rounds, so that it is the figure of the reports. */
export function percent(share) {
  const points = Number((100 * share).toFixed(6));
  const whole = Math.round(points);
  return `${whole - points === 0.5 ? 2 * Math.round(points / 2) : whole}%`;
}

/** A moment as people write it: "23 Nov 2026, 02:30". */
export const moment = (given) => new Date(given).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

let last = 0;

/** An id that no other element has. */
export function fresh(prefix) {
  last += 1;
  return `${prefix}-${last}`;
}

const HAND = "M2 10h3v9H2zM7 10l4-8c1.7 0 2.6 1.2 2.3 3l-.6 3H19c1.2 0 2 1 1.8 2.2l-1.3 7c-.2 1-1 1.8-2 1.8H7z";

/** A thumb: up for what is right, down for what is wrong. */
export function thumb(up) {
  const hand = svg("path", { d: HAND, transform: up ? null : "rotate(180 11.5 11)" });
  return svg("svg", { class: "thumb", viewBox: "0 0 23 22", "aria-hidden": "true" }, hand);
}
