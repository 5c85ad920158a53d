// One question and its answer: drawn from the graph's events, while they come or when they are kept.

import { ask } from "./api.js";
import { count, failure, fresh, h, say, thumb } from "./dom.js";
import { answers, decision, missing, passages, percent } from "./steps.js";
import { Sources } from "./sources.js";

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
    this.now = h("span", { class: "now" }, "Deciding …");
    this.how = h("details", { class: "how", open: true },
      h("summary", {}, "How it is answered ", this.now), this.steps);
    this.text = h("p", { class: "text" });
    this.answer = h("section", { class: "answer", "aria-label": "Answer", "aria-live": "polite", "aria-busy": "true" }, this.text);
    this.below = h("div", { class: "below" });
    this.element = h("article", { class: "run", "aria-labelledby": heading },
      h("h2", { id: heading, class: "asked" }, question), this.how, this.answer, this.below);
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
      start: () => this.at(DOING[event.task] ?? "Working …"),
      query: () => this.searches(event),
      references: () => this.finds(event),
      packed: () => this.leavesOut(event.round, event.dropped, "did not fit into the model's context"),
      draft: () => this.drafts(event),
      reflection: () => this.round(event.round).append(missing(event.reflection)),
      token: () => this.streams(event.text),
      retract: () => this.streams(null),
      verdict: () => this.step("Which answer to trust", ...answers(event.verdict, this.about)),
    }[event.type];
    if (show) show();
  }

  /** Show the run as it is kept: the answer with its citations, its sources and what it cost. */
  finish(run) {
    const output = run.output;
    this.dropped(output.rounds);
    const sources = new Sources(output, run.citations);
    this.text.replaceChildren(...run.pieces.map((piece) =>
      piece.citation === undefined ? piece.text : sources.marker(piece.text, piece.citation)));
    if (!run.pieces.length) this.text.append("(no answer)");
    this.answer.setAttribute("aria-busy", "false");
    this.how.open = WIDE.matches;
    this.how.firstChild.firstChild.textContent = "How it was answered ";
    this.now.textContent = this.inShort(run);
    const said = [];
    if (output.verdict) said.push(h("p", { class: "trust" }, `Served: ${output.verdict.reason}`));
    if (output.chance != null) said.push(h("p", { class: "chance" }, `${percent(output.chance)} likely to be right`));
    if (output.decision.retrieve && !run.grounded && !run.partial) {
      said.push(h("p", { class: "caution" }, "Not supported by the references."));
    }
    this.below.replaceChildren(...said, votes(run), facts(run, this.about), sources.element);
    say("Answered.");
  }

  /** Hide how it was answered: what is asked next matters more. */
  fold() {
    this.how.open = false;
  }

  /** Show what failed in place of an answer. */
  fail(line) {
    this.answer.setAttribute("aria-busy", "false");
    this.now.textContent = "";
    if (!this.streamed) this.text.remove();
    this.below.replaceChildren(failure(line));
  }

  at(doing) {
    this.now.textContent = doing;
  }

  step(title, ...parts) {
    const item = h("li", {}, h("h3", {}, title), ...parts);
    this.steps.append(item);
    return item;
  }

  understood(question) {
    if (question !== this.question) this.step("Understood as", h("p", { class: "query" }, question));
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
    this.at("Searching …");
    this.round(round).append(h("p", { class: "query" }, h("span", { class: "kind" }, "searched "), query));
    say(`Searching: ${query}`);
  }

  finds({ round, added, total }) {
    for (const each of added) this.titles.set(each.id, each.title || each.text.slice(0, 60));
    this.round(round).append(passages(added, total));
    say(`${count(added.length, "new reference")}, ${total} in hand.`);
  }

  leavesOut(round, ids, why) {
    if (!ids.length) return;
    const names = ids.map((id) => this.titles.get(id) ?? "a reference").join(", ");
    this.round(round).append(h("p", { class: "dropped" }, h("span", { class: "kind" }, "dropped "), `${names}: ${why}`));
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
    const shown = h("details", { class: "draft" }, h("summary", {}, "Draft"), h("blockquote", {}, text || "(nothing)"));
    this.round(round).append(shown);
  }

  streams(piece) {
    this.at("Answering …");
    this.streamed = piece === null ? "" : this.streamed + piece;
    this.text.textContent = this.streamed;
  }

  inShort(run) {
    const parts = [this.about.decided[run.decided].toLowerCase()];
    if (run.rounds) parts.push(count(run.rounds, "round"));
    return parts.join(", ");
  }
}

const WIDE = matchMedia("(min-width: 62rem)");
const DOING = {
  condense: "Reading the conversation …",
  route: "Deciding …",
  decompose: "Taking the question apart …",
  answer_directly: "Answering from memory …",
  answer_with_references: "Reading …",
  reflect: "Judging the draft …",
  self_complete: "Looking for what is missing …",
  answer_anyway: "Answering as well as it can …",
  arbitrate: "Weighing the answers …",
};

function facts(run, about) {
  const spent = [
    ["Stopped", about.stop_reasons[run.stop_reason] ?? run.stop_reason],
    ["Rounds", run.rounds],
    ["Calls", run.calls],
    ["Tokens", run.tokens.toLocaleString("en") + (run.estimated ? " (estimated)" : "")],
    ["Money", run.usd === null ? "no prices given" : `$${run.usd.toPrecision(2)}`],
    ["Time", `${run.seconds.toFixed(1)} s`],
  ];
  return h("dl", { class: "facts" }, spent.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function votes(run) {
  let right = run.right;
  const note = h("span", { class: "faint", role: "status" });
  const answer = h("input", {
    type: "text", maxlength: 500, value: run.right_answer, hidden: right !== false,
    "aria-label": "The right answer", placeholder: "The right answer is …",
    onchange: async () => {
      try {
        await ask("PUT", `/api/runs/${run.id}/vote`, { right: false, answer: answer.value });
        note.textContent = "Noted: it is among the questions of the history.";
      } catch (error) {
        note.textContent = error.message;
      }
    },
  });
  const button = (value, label) => h("button", {
    type: "button", class: "vote", "aria-label": label, title: label, "aria-pressed": String(right === value),
    onclick: async () => {
      try {
        ({ right } = await ask("PUT", `/api/runs/${run.id}/vote`, { right: right === value ? null : value, answer: answer.value }));
        for (const [each, of] of buttons) each.setAttribute("aria-pressed", String(right === of));
        answer.hidden = right !== false;
        note.textContent = right === null ? "" : "Noted: the router can be calibrated on it.";
      } catch (error) {
        note.textContent = error.message;
      }
    },
  }, thumb(value));
  const buttons = [[button(true, "The answer is right"), true], [button(false, "The answer is wrong"), false]];
  return h("p", { class: "votes" }, buttons.map(([each]) => each), answer, note);
}
