// The steps of an answer: the decision, what was found, what was missing, which answer was chosen.

import { count, h, percent } from "./dom.js";

const EFFECTS = { helps: "helped", hurts: "did harm", same: "made no difference" };

/** The decision's title, its reason, and the recorded questions that it rests on. */
export function decision(made, about) {
  const action = !made.retrieve ? "direct" : made.max_rounds === 1 ? "single" : "loop";
  const parts = [about.decided[action], h("p", {}, made.reason || "")];
  if (made.neighbours.length) parts.push(neighbours(made.neighbours));
  return parts;
}

function neighbours(found) {
  const rows = found.map((each) => h("tr", {},
    h("td", { dir: "auto" }, each.question), h("td", { class: "figure" }, percent(each.similarity)), h("td", {}, EFFECTS[each.effect])));
  const head = h("tr", {}, ["Question", "Similar", "Searching"].map((name) => h("th", { scope: "col" }, name)));
  return h("details", {}, h("summary", {}, `${count(found.length, "similar question")} on record`),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Similar questions on record" },
      h("table", {}, h("thead", {}, head), h("tbody", {}, rows))));
}

/** The passages that a round added. */
export function passages(added, total) {
  const items = added.map((each) => h("li", {},
    h("details", { class: "passage" },
      h("summary", {}, h("bdi", {}, each.title || `${each.text.slice(0, 60)} …`), pageOf(each)), h("p", { dir: "auto" }, each.text))));
  const sum = total > added.length ? `, ${total} in all` : "";
  return h("div", { class: "found" },
    h("p", {}, h("span", { class: "kind" }, "found "), items.length ? `${count(added.length, "new passage")}${sum}` : "nothing new"),
    items.length ? h("ul", {}, items) : null);
}

const pageOf = ({ metadata = {} }) => {
  const page = metadata.page_label ?? metadata.page;
  return page === undefined ? null : h("span", { class: "faint" }, `, page ${page}`);
};

/** What a judgement says of a draft. */
export function missing(judged) {
  if (judged.sufficient) return h("p", { class: "enough" }, judged.reason || "This is enough to answer.");
  const said = judged.missing ? [h("span", { class: "kind" }, "still missing "), h("bdi", {}, judged.missing)] : judged.reason;
  return h("p", { class: "missing" }, said || "This is not enough to answer.");
}

/** The answers that were compared, each with its chance to be right; the one that is shown is marked. */
export function answers(verdict, about) {
  const rows = Object.entries(verdict.answers).map(([action, text]) => {
    const served = action === verdict.served;
    const chance = verdict.chances[action];
    const likely = chance === undefined ? "" : ` · ${percent(chance)} likely to be right`;
    return h("li", { class: served ? "served" : "" },
      h("p", {}, h("strong", {}, about.served[action]), likely, served ? " · shown" : ""),
      h("p", { class: "weighed", dir: "auto" }, text));
  });
  return [h("p", {}, verdict.reason), h("ul", { class: "answers" }, rows)];
}
