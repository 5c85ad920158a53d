// One question and its answer: drawn from the graph's events, while they come or when they are kept.

import { copyButton } from "./copy.js";
import { count, failure, fresh, h, percent, say, svg } from "./dom.js";
import { answerOf } from "./markdown.js";
import { answers, decision, missing, passages } from "./steps.js";
import { Sources } from "./sources.js";
import { votes } from "./votes.js";
import { Waiting } from "./waiting.js";

export class RunView {
  /** `about` is what the server tells of its system; the element grows with the events. */
  constructor(about, question) {
    this.about = about;
    this.question = question;
    this.titles = new Map();
    this.rounds = new Map();
    this.streamed = "";
    const heading = fresh("question");
    this.steps = h("ol", { class: "steps" });
    this.now = h("span", { class: "now" });
    this.how = h("details", { class: "how", open: true },
      h("summary", {}, "How it is answered ", this.now), this.steps);
    this.waiting = new Waiting();
    this.text = h("div", { class: "text" });
    this.answer = h("section", { class: "answer", "aria-label": "Answer", "aria-live": "polite", "aria-busy": "true" }, this.text);
    this.below = h("div", { class: "below" });
    this.element = h("article", { class: "run", "aria-labelledby": heading },
      h("h2", { id: heading, class: "asked", dir: "auto" }, question), this.waiting.element, this.how, this.answer, this.below);
  }

  /** A run that is kept. */
  static of(about, run) {
    const view = new RunView(about, run.question);
    for (const event of run.events) view.hear(event);
    view.finish(run);
    return view;
  }

  /** Show one event of the graph. */
  hear(event) {
    const show = {
      condense: () => this.understood(event.question),
      route: () => this.decided(event.decision),
      start: () => this.waiting.at(event.task, event.round),
      query: () => this.searches(event),
      references: () => this.finds(event),
      packed: () => this.leavesOut(event.round, event.dropped, "too long for the model to read as well"),
      draft: () => this.drafts(event),
      reflection: () => this.round(event.round).append(missing(event.reflection)),
      token: () => this.streams(event.text),
      retract: () => this.streams(null),
      verdict: () => this.step("Which answer is shown", ...answers(event.verdict, this.about)),
    }[event.type];
    if (show) show();
  }

  /** Show the run as it is kept: the answer with its citations, its sources and what it cost. */
  finish(run) {
    const output = run.output;
    this.waiting.end();
    this.dropped(output.rounds);
    const sources = new Sources(run);
    this.shows(run.pieces.length ? run.pieces : [{ text: "(no answer)" }], (place) => sources.marker(`[${run.citations[place].marker}]`, place));
    this.answer.setAttribute("aria-busy", "false");
    this.how.open = WIDE.matches;
    this.how.firstChild.firstChild.textContent = "How it was answered ";
    this.now.textContent = this.inShort(run);
    const said = [];
    if (output.chance != null) said.push(chance(output.chance));
    if (output.verdict) said.push(h("p", { class: "trust" }, `Chosen: ${output.verdict.reason}`));
    if (output.decision.retrieve && !run.grounded && !run.partial) {
      said.push(h("p", { class: "caution" }, "Your documents do not support this answer."));
    }
    this.below.replaceChildren(...said, votes(run, share(run, sources)), facts(run, this.about), sources.element);
    say("Answered.");
  }

  /** Hide how it was answered: what is asked next matters more. */
  fold() {
    this.how.open = false;
  }

  /** Show what failed in place of an answer. */
  fail(line, further) {
    this.waiting.end();
    this.how.open = WIDE.matches;
    this.how.firstChild.firstChild.textContent = "How far it came ";
    this.answer.setAttribute("aria-busy", "false");
    if (!this.streamed) this.text.remove();
    this.below.replaceChildren(failure(line), h("p", { class: "faint" }, further));
  }

  step(title, ...parts) {
    const item = h("li", {}, h("h3", {}, title), ...parts);
    this.steps.append(item);
    return item;
  }

  understood(question) {
    if (question !== this.question) this.step("Understood as", h("p", { class: "query", dir: "auto" }, question));
  }

  decided(made) {
    const [title, ...parts] = decision(made, this.about);
    this.step(title, ...parts);
    say(title);
  }

  round(number) {
    if (!this.rounds.has(number)) this.rounds.set(number, this.step(`Round ${number}`));
    return this.rounds.get(number);
  }

  searches({ round, query }) {
    this.waiting.at("search", round);
    this.round(round).append(h("p", { class: "query" }, h("span", { class: "kind" }, "searched for "), h("bdi", {}, query)));
    say(`Searching: ${query}`);
  }

  finds({ round, added, total }) {
    for (const each of added) this.titles.set(each.id, each.title || each.text.slice(0, 60));
    this.round(round).append(passages(added, total));
    say(`${count(added.length, "new passage")}, ${total} in all.`);
  }

  leavesOut(round, ids, why) {
    if (!ids.length) return;
    const names = ids.map((id) => this.titles.get(id) ?? "a passage").join(", ");
    this.round(round).append(h("p", { class: "dropped" }, h("span", { class: "kind" }, "left out "), `${names}: ${why}`));
  }

  /** References that later rounds no longer handed to the model, by the rank of what they found. */
  dropped(rounds) {
    for (let place = 1; place < rounds.length; place += 1) {
      const now = new Set(rounds[place].given);
      const gone = now.size ? rounds[place - 1].given.filter((id) => !now.has(id)) : [];
      this.leavesOut(place + 1, gone, "better ones were found");
    }
  }

  drafts({ round, text }) {
    const shown = h("details", { class: "draft" }, h("summary", {}, "Draft"), h("blockquote", { dir: "auto" }, text || "(nothing)"));
    this.round(round).append(shown);
  }

  streams(piece) {
    if (!this.streamed && piece !== null) this.waiting.at("write");
    this.streamed = piece === null ? "" : this.streamed + piece;
    this.shows([{ text: this.streamed }]);
  }

  /** Show an answer's pieces, once for all that come before the browser draws. */
  shows(pieces, marker) {
    if (!this.pieces) requestAnimationFrame(() => this.draw());
    this.pieces = [pieces, marker];
    if (marker) this.draw();
  }

  draw() {
    if (this.pieces) this.text.replaceChildren(...answerOf(...this.pieces));
    this.pieces = null;
  }

  inShort(run) {
    const parts = [this.about.decided[run.decided].toLowerCase()];
    if (run.rounds) parts.push(count(run.rounds, "round"));
    return parts.join(", ");
  }
}

const WIDE = matchMedia("(min-width: 62rem)");
/** The answer as text with its sources, and the address of this run, to be taken along. */
function share(run, sources) {
  const text = () => [run.answer, ...(sources.lines.length ? ["", "Sources:", ...sources.lines] : [])].join("\n");
  const address = () => new URL(`#/kept/${run.id}`, location.href).href;
  return [copyButton(text, "Copy answer"), copyButton(address, "Copy link")];
}

function chance(share) {
  return h("p", { class: "chance" },
    svg("svg", { viewBox: "0 0 100 10", "aria-hidden": "true" }, svg("rect", { class: "whole", width: 100, height: 10 }), svg("rect", { width: 100 * share, height: 10 })),
    `${percent(share)} likely to be right${share < 0.5 ? ": check it against the sources" : ""}`);
}

function facts(run, about) {
  const spent = [
    ["Why it stopped", about.stop_reasons[run.stop_reason] ?? run.stop_reason],
    ["Rounds", run.rounds],
    ["Calls of the model", run.calls],
    ["Tokens", run.tokens.toLocaleString("en") + (run.estimated ? " (estimated)" : "")],
    ["Cost", run.usd === null ? "unknown" : `$${run.usd.toPrecision(2)}`],
    ["Time", `${run.seconds.toFixed(1)} s`],
  ];
  return h("dl", { class: "facts" }, spent.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}
