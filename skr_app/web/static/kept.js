// Runs that are kept: one by its link, and two side by side.

import { ask } from "./api.js";
import { h, moment, percent } from "./dom.js";
import { RunView } from "./run.js";

/** Show the run that a link names. */
export async function showRun(place, about, [key]) {
  const run = await ask("GET", `/api/runs/${key}`);
  place.append(h("p", { class: "faint" }, `Asked ${moment(run.asked_at)}, answered by ${run.model}. `,
    h("a", { href: `#/ask/${run.conversation}` }, "Open the conversation")));
  place.append(RunView.of(about, run).element);
}

/** Show two runs beside one another, with what differs between them. */
export async function showCompare(place, about, keys) {
  const runs = await Promise.all(keys.slice(0, 2).map((key) => ask("GET", `/api/runs/${key}`)));
  place.append(h("h1", {}, "Two answers compared"), h("p", {}, h("a", { href: "#/history" }, "Back to the history")));
  const rows = [
    ["Asked", (run) => moment(run.asked_at)],
    ["Model", (run) => run.model],
    ["Decided", (run) => about.decided[run.decided]],
    ["Searches", (run) => run.output.rounds.flatMap((each) => each.queries).length],
    ["Rounds", (run) => run.rounds],
    ["Calls of the model", (run) => run.calls],
    ["Tokens", (run) => run.tokens.toLocaleString("en")],
    ["Cost", (run) => (run.usd === null ? "unknown" : `$${run.usd.toPrecision(2)}`)],
    ["Time", (run) => `${run.seconds.toFixed(1)} s`],
    ["Why it stopped", (run) => about.stop_reasons[run.stop_reason] ?? run.stop_reason],
    ["Likely to be right", (run) => (run.output.chance == null ? "not estimated" : percent(run.output.chance))],
    ["Supported by documents", (run) => (run.grounded ? "yes" : "no")],
  ];
  const body = rows.map(([name, of]) => {
    const values = runs.map((run) => String(of(run)));
    return h("tr", { class: new Set(values).size > 1 ? "differs" : "" },
      h("th", { scope: "row" }, name), values.map((value) => h("td", {}, value)));
  });
  const head = h("tr", {}, h("td", {}), ["First", "Second"].slice(0, runs.length).map((name) => h("th", { scope: "col" }, name)));
  place.append(h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "What differs" },
    h("table", { class: "compared" }, h("thead", {}, head), h("tbody", {}, body))));
  const views = runs.map((run) => RunView.of(about, run));
  for (const view of views) view.how.open = true;
  place.append(h("div", { class: "pair" }, views.map((view) => view.element)));
}
