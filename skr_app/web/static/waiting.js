// What is under way, and for how long: a slow model should not look like a page that hangs.

import { h } from "./dom.js";

const LONG = 20; // seconds without a word of the answer, after which a person is told what may be

const DOING = {
  condense: "Reading the conversation",
  route: "Deciding whether to search",
  decompose: "Splitting the question",
  search: "Searching",
  answer_directly: "Answering from memory",
  answer_with_references: "Reading what was found",
  reflect: "Checking the draft",
  self_complete: "Looking for what is missing",
  answer_anyway: "Answering as far as it can",
  arbitrate: "Choosing between the answers",
  write: "Writing the answer",
};

export class Waiting {
  constructor() {
    this.begun = performance.now();
    this.step = h("strong", {});
    this.seconds = h("span", { class: "seconds", role: "timer", "aria-label": "Time so far" });
    this.hint = h("span", { class: "faint" });
    this.element = h("p", { class: "waiting" }, this.step, " ", this.seconds, this.hint);
    this.clock = setInterval(() => this.tick(), 1000);
    this.at("route");
  }

  /** Say what is being done: a task of the graph, in which round. */
  at(task, round = 0) {
    if (this.task !== task || this.round !== round) this.since = performance.now();
    this.task = task;
    this.round = round;
    const again = round > 1 && task !== "write" ? `, round ${round}` : "";
    this.step.textContent = `${DOING[task] ?? "Working"}${again} …`;
    this.tick();
  }

  tick() {
    const [step, all] = [this.since, this.begun].map((from) => Math.floor((performance.now() - from) / 1000));
    this.seconds.textContent = step < all ? `${step} s (${all} s in all)` : `${all} s`;
    const silent = this.task !== "search" && this.task !== "write" && step >= LONG;
    this.hint.textContent = silent ? " The model has not answered yet. You can wait, or press Stop." : "";
  }

  end() {
    clearInterval(this.clock);
    this.element.remove();
  }
}
