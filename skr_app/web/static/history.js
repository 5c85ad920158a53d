// The history of runs, and two of them side by side.

import { ask } from "./api.js";
import { count, h, moment, thumb } from "./dom.js";
import { RunView } from "./run.js";
import { percent } from "./steps.js";

/** List the latest runs; two can be chosen and compared. */
export async function showHistory(place, about) {
  const runs = await ask("GET", "/api/runs");
  place.append(h("h1", {}, "History"));
  if (!runs.length) {
    place.append(h("p", {}, "Nothing has been asked yet. ", h("a", { href: "#/ask" }, "Ask something")));
    return;
  }
  const chosen = new Set();
  const compare = h("button", {
    type: "submit", class: "main", disabled: true,
  }, "Compare");
  const told = h("p", { class: "faint", id: "chosen", role: "status" }, "Choose two runs to compare them.");
  const choose = (event) => {
    const { checked, value } = event.currentTarget;
    if (checked) chosen.add(value);
    else chosen.delete(value);
    compare.disabled = chosen.size !== 2;
    told.textContent = chosen.size === 2 ? "Two runs are chosen." : `${count(chosen.size, "run")} chosen; two can be compared.`;
  };
  place.append(h("form", {
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = `#/compare/${[...chosen].join("/")}`;
    },
  }, h("div", { class: "row sticky" }, told, compare), h("ul", { class: "runs" }, runs.map((run) => line(run, about, choose)))));
  if (runs.some((run) => run.right_answer)) {
    place.append(h("p", {}, h("a", { href: "/api/questions", download: "questions.jsonl" }, "Download the questions whose right answers were given")));
  }
}

function line(run, about, choose) {
  const judged = run.right === null ? [] : [" · ", thumb(run.right), h("span", { class: "hidden" }, run.right ? "judged right" : "judged wrong")];
  const facts = [about.decided[run.decided], count(run.rounds, "round"), count(run.calls, "call"), `${run.tokens.toLocaleString("en")} tokens`, when(run)];
  return h("li", {},
    h("input", { type: "checkbox", value: run.id, onchange: choose, "aria-label": `Compare: ${run.question}` }),
    h("div", {}, h("a", { href: `#/ask/${run.conversation}` }, run.question),
      h("p", { class: "short" }, run.answer || "(no answer)"),
      h("p", { class: "faint" }, facts.join(" · "), judged)));
}

const when = (run) => moment(run.asked_at);

/** Show two runs beside one another, with what differs between them. */
export async function showCompare(place, about, keys) {
  const runs = await Promise.all(keys.slice(0, 2).map((key) => ask("GET", `/api/runs/${key}`)));
  place.append(h("h1", {}, "Two runs compared"), h("p", {}, h("a", { href: "#/history" }, "Back to the history")));
  const rows = [
    ["Asked", when],
    ["Model", (run) => run.model],
    ["Decided", (run) => about.decided[run.decided]],
    ["Searches", (run) => run.output.rounds.flatMap((each) => each.queries).length],
    ["Rounds", (run) => run.rounds],
    ["Calls", (run) => run.calls],
    ["Tokens", (run) => run.tokens.toLocaleString("en")],
    ["Money", (run) => (run.usd === null ? "no prices given" : `$${run.usd.toPrecision(2)}`)],
    ["Time", (run) => `${run.seconds.toFixed(1)} s`],
    ["Stopped", (run) => about.stop_reasons[run.stop_reason] ?? run.stop_reason],
    ["Likely to be right", (run) => (run.output.chance == null ? "not estimated" : percent(run.output.chance))],
    ["Grounded", (run) => (run.grounded ? "yes" : "no")],
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
