// The steps of an answer: the decision, what was found, what was missing, which answer was trusted.

import { count, h } from "./dom.js";

const EFFECTS = { helps: "helped", hurts: "hurt", same: "no difference" };
export const percent = (share) => `${Math.round(100 * share)} %`;

/** The decision's title, its reason, and the recorded questions that it rests on. */
export function decision(made, about) {
  const action = !made.retrieve ? "direct" : made.max_rounds === 1 ? "single" : "loop";
  const parts = [about.decided[action], h("p", {}, made.reason || "")];
  if (made.neighbours.length) parts.push(neighbours(made.neighbours));
  return parts;
}

function neighbours(found) {
  const rows = found.map((each) => h("tr", {},
    h("td", {}, each.question), h("td", { class: "figure" }, each.similarity.toFixed(2)), h("td", {}, EFFECTS[each.effect])));
  const head = h("tr", {}, ["Known question", "Similarity", "Retrieval"].map((name) => h("th", { scope: "col" }, name)));
  return h("details", {}, h("summary", {}, `Nearest known questions (${found.length})`),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Nearest known questions" },
      h("table", {}, h("thead", {}, head), h("tbody", {}, rows))));
}

/** The references that a round added. */
export function passages(added, total) {
  const items = added.map((each) => h("li", {},
    h("details", { class: "passage" }, h("summary", {}, each.title || `${each.text.slice(0, 60)} …`), h("p", {}, each.text))));
  return h("div", { class: "found" },
    h("p", {}, h("span", { class: "kind" }, "found "), `${count(added.length, "new reference")}, ${total} in hand`),
    items.length ? h("ul", {}, items) : null);
}

/** What a judgement says of a draft. */
export function missing(judged) {
  if (judged.sufficient) return h("p", { class: "enough" }, judged.reason || "The references suffice.");
  const said = judged.missing ? [h("span", { class: "kind" }, "missing "), judged.missing] : judged.reason;
  return h("p", { class: "missing" }, said || "The references do not suffice.");
}

/** The answers that were weighed, each with its chance to be right; the served one is marked. */
export function answers(verdict, about) {
  const rows = Object.entries(verdict.answers).map(([action, text]) => {
    const served = action === verdict.served;
    const chance = verdict.chances[action];
    return h("li", { class: served ? "served" : "" },
      h("p", {}, h("strong", {}, about.served[action]), ` · ${chance === undefined ? "not estimated" : `${percent(chance)} likely to be right`}${served ? " · served" : ""}`),
      h("p", { class: "weighed" }, text));
  });
  return [h("p", {}, verdict.reason), h("ul", { class: "answers" }, rows)];
}
