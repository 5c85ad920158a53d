// The router in use: what it gets right, how sure it is, and choosing another one on what is known.

import { ask, listen } from "./api.js";
import { drawCurve, figures, risk } from "./curve.js";
import { count, failure, h, percent } from "./dom.js";

const NAMES = {
  always: "Searching for every question (no router is set).",
  never: "Answering every question from memory (no question is searched for).",
  policy: "A router that estimates after each answer whether it is right, and searches if that is worth it.",
};
const FEWEST = 10; // records that a router can be judged by

/** Show the router, and let a person choose another one on records and votes. */
export async function showRouter(place, about) {
  shown = h("div", {});
  panel ??= calibration(() => fill());
  place.append(h("h1", {}, "When to search"), shown, panel);
  await fill();
}

// What is under way goes on, and is shown again, while another view of this tab is looked at.
let panel = null;
let shown = null;

async function fill() {
  const router = await ask("GET", "/api/router");
  panel.querySelector("#votes").textContent =
    `Known so far: ${count(router.records, "record")} of what your model knows, and ${count(router.votes, "answer")} judged here.`;
  const parts = [h("p", {}, NAMES[router.name] ?? `A router of the kind “${router.name}” decides.`)];
  const [verdict, ...notes] = router.sentences;
  if (verdict) parts.push(h("p", { class: "finding" }, verdict));
  if (notes.length) parts.push(h("details", {}, h("summary", {}, "More about it"), notes.map((each) => h("p", {}, each))));
  if (router.curve) parts.push(worth(router.curve, router.figures), sureness(router.surest));
  else parts.push(h("p", { class: "faint" }, unknown(router)));
  if (router.monitor) parts.push(h("section", { class: "panel" }, h("h2", {}, "Since this router is in use"), h(router.monitor.includes("\n") ? "pre" : "p", { id: "monitor", tabindex: "0" }, router.monitor)));
  shown.replaceChildren(...parts);
  await offer(router.questions);
}

/** Offer to measure, and say before what it costs. */
async function offer(questions) {
  const collect = panel.querySelector("#collect");
  collect.hidden = !questions;
  if (!questions || collect.dataset.told) return;
  const { calls: [least, most], sentence } = await ask("GET", "/api/collect");
  const calls = least === most ? count(least, "call") : `${least.toLocaleString("en")} to ${count(most, "call")}`;
  collect.textContent = `Measure on ${count(questions, "question")} (${calls})`;
  collect.title = `Estimated: ${sentence}`;
  collect.dataset.told = "yes";
}

function unknown(router) {
  return router.records + router.votes < FEWEST
    ? "What it gets right and what it costs is not known yet: that needs records or judged answers."
    : "What it gets right and what it costs is shown once you press “Choose a router”.";
}

function worth(curve, rows) {
  return h("section", {}, h("h2", {}, "What it gets right, and what it costs"), figures(rows, curve.label), drawCurve(curve));
}

function sureness(surest) {
  return h("section", { id: "risk" }, h("h2", {}, "How sure it is of its answers"), surest.length ? risk(surest)
    : h("p", { class: "faint" }, "This router does not estimate the chance that an answer is right."));
}

function calibration(done) {
  const told = h("div", { role: "status" });
  const bar = h("progress", { hidden: true, "aria-label": "Progress", max: 1 });
  let underWay = null;
  const busy = (on) => {
    for (const button of [collect, calibrate]) button.disabled = on;
    bar.hidden = !on;
    stop.hidden = !on;
  };
  const work = async (path, report) => {
    underWay = new AbortController();
    busy(true);
    bar.removeAttribute("value");
    told.replaceChildren();
    try {
      await listen(path, {}, (name, said) => {
        if (name === "progress" && said.total) bar.value = said.done / said.total;
        if (name === "result") told.replaceChildren(...report(said));
      }, underWay.signal);
      await done();
    } catch (error) {
      told.replaceChildren(failure(error.name === "AbortError" ? "Stopped." : error.message));
    }
    busy(false);
  };
  const pressed = (path, report) => () => work(path, report);
  const collect = h("button", { type: "button", id: "collect", hidden: true, onclick: pressed("/api/collect", collected) }, "Measure");
  const calibrate = h("button", { type: "button", class: "main", onclick: pressed("/api/calibrate", calibrated) }, "Choose a router");
  const stop = h("button", { type: "button", hidden: true, onclick: () => underWay.abort() }, "Stop");
  return h("section", { class: "panel" }, h("h2", {}, "Choose a router on what is known"),
    h("p", { id: "votes" }), h("p", { class: "faint" }, `It takes ${FEWEST} records or judged answers to choose a router, and some hundreds to choose a good one.`),
    h("p", { class: "row" }, collect, calibrate, stop), bar, told);
}

const ACTIONS = { direct: "from memory", single: "after one search", loop: "after searching until it sufficed" };

function collected({ records, failed, right }) {
  const shares = Object.entries(right).map(([action, share]) => `${percent(share)} ${ACTIONS[action]}`);
  const parts = [h("p", {}, `${count(records, "question")} measured.${shares.length ? ` Right answers: ${shares.join(", ")}.` : ""}`)];
  if (failed) parts.push(h("p", { class: "faint" }, `${count(failed, "question")} failed. Measure again to ask only those.`));
  return parts;
}

function calibrated({ records, left_out: leftOut }) {
  const parts = [h("p", {}, `Chosen on ${count(records, "record")}, and in use from the next question on. It is kept as “router.skr” in the folder of this page: start with --router and that file to use it again.`)];
  if (leftOut) parts.push(h("p", { class: "faint" }, `${count(leftOut, "record")} of another number of rounds could not be compared with these.`));
  return parts;
}
