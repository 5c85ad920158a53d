// The router that is served, its curve, and calibrating it on votes.

import { ask, listen } from "./api.js";
import { count, failure, h } from "./dom.js";
import { draw } from "./curve.js";

const NAMES = {
  always: "Always retrieve",
  never: "Never retrieve",
  policy: "one estimate, at each answer, of whether it is right",
};

/** Show the router, and let a person calibrate it. */
export async function showRouter(place, about) {
  shown = h("div", {});
  panel ??= calibration(about, () => fill(about));
  place.append(h("h1", {}, "When to retrieve"), shown, panel);
  await fill(about);
}

// What is under way goes on, and is shown again, while another view of this tab is looked at.
let panel = null;
let shown = null;

async function fill(about) {
  const router = await ask("GET", "/api/router");
  panel.querySelector("#votes").textContent = `Judged on this page: ${count(router.votes, "answer")}. Collected: ${count(router.records, "record")}.`;
  const collect = panel.querySelector("#collect");
  collect.hidden = !router.questions;
  collect.textContent = `Ask ${count(router.questions, "question")} in each way`;
  const parts = [h("p", {}, "The router in use: ", h("strong", {}, NAMES[router.name] ?? router.name))];
  parts.push(...router.sentences.map((each) => h("p", { class: "finding" }, each)));
  if (router.curve) parts.push(draw(router.curve));
  else parts.push(h("p", { class: "faint" }, "It was not calibrated here: its curve follows once you calibrate on judged answers or records."));
  if (router.monitor) parts.push(h("section", { class: "panel" }, h("h2", {}, "Since it serves"), h("pre", { id: "monitor" }, router.monitor)));
  shown.replaceChildren(...parts);
}

function calibration(about, done) {
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
  const collect = h("button", { type: "button", id: "collect", hidden: true, onclick: pressed("/api/collect", collected) }, "Collect records");
  const calibrate = h("button", { type: "button", class: "main", onclick: pressed("/api/calibrate", calibrated) }, "Calibrate");
  const stop = h("button", { type: "button", hidden: true, onclick: () => underWay.abort() }, "Stop");
  return h("section", { class: "panel" }, h("h2", {}, "Calibrate on what is known"),
    h("p", { id: "votes" }), h("p", { class: "faint" }, "Ten records are the fewest that a router can be judged by; some hundreds make it good."),
    h("p", { class: "row" }, collect, calibrate, stop), bar, told);
}

const ACTIONS = { direct: "without references", single: "with one round", loop: "with the loop" };

function collected({ records, failed, right }) {
  const shares = Object.entries(right).map(([action, share]) => `${Math.round(100 * share)} % ${ACTIONS[action]}`);
  const parts = [h("p", {}, `${count(records, "record")}${shares.length ? `; right are ${shares.join(", ")}` : ""}.`)];
  if (failed) parts.push(h("p", { class: "faint" }, `${count(failed, "question")} failed: collect again to ask them again.`));
  return parts;
}

function calibrated({ records, left_out: leftOut }) {
  const parts = [h("p", {}, `Calibrated on ${count(records, "record")}; the next questions are routed by it. It is in the file “router.skr” of --folder: give it as --router when you start again.`)];
  if (leftOut) parts.push(h("p", { class: "faint" }, `${count(leftOut, "record")} of another number of rounds could not be compared with them.`));
  return parts;
}
