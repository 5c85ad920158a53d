// A conversation: its questions with their answers, and where the next one is written.

import { ask, listen } from "./api.js";
import { failure, h, say } from "./dom.js";
import { RunView } from "./run.js";

const WAYS = [
  ["", "as the router decides"],
  ["direct", "from memory, without searching"],
  ["single", "with one search"],
  ["loop", "searching until it suffices"],
];

const POINTED = matchMedia("(pointer: fine)");

/** Show a conversation, or the beginning of one; returns what ends a question under way. */
export async function showAsk(place, about, [conversation = null]) {
  const turns = h("div", { class: "turns" });
  const earlier = conversation ? await ask("GET", `/api/conversations/${conversation}`) : [];
  const heading = h("h1", {}, "Ask your documents");
  const opening = beginning(about, (question) => {
    composer.field.value = question;
    composer.form.requestSubmit();
  });
  const begin = () => {
    heading.classList.add("hidden");
    opening.remove();
    place.classList.add("begun");
  };
  place.append(heading, opening);
  if (earlier.length) begin();
  const views = earlier.map((run) => RunView.of(about, run));
  views.slice(0, -1).forEach((view) => view.fold());
  turns.append(...views.map((view) => view.element));
  place.append(turns);

  let underWay = null;
  const composer = compose(about, async (question, action) => {
    begin();
    underWay = new AbortController();
    composer.busy(true);
    views.at(-1)?.fold();
    const view = new RunView(about, question);
    views.push(view);
    turns.append(view.element);
    view.element.scrollIntoView({ block: "start" });
    say("Asked.");
    try {
      const body = { question, conversation, action: action || null };
      await listen("/api/questions", body, (name, said) => {
        if (name === "run") {
          conversation = said.conversation;
          view.finish(said);
          history.replaceState(null, "", `#/ask/${conversation}`);
          another.hidden = false;
        } else view.hear(said);
      }, underWay.signal);
    } catch (error) {
      const stopped = error.name === "AbortError";
      view.fail(stopped ? "Stopped." : error.message, stopped ? "" : "Your question is in the field below, to be asked again.");
      composer.field.value ||= question;
    }
    underWay = null;
    composer.busy(false);
  }, () => underWay?.abort());
  place.append(composer.form);
  const another = h("p", { class: "faint", hidden: !conversation }, h("a", { href: "#/ask" }, "Start another conversation"));
  turns.before(another);
  return () => underWay?.abort();
}

function beginning(about, choose) {
  const parts = [h("p", {}, "You see each step: whether a search is needed, what was found, what was still missing, and which sentence supports the answer.")];
  if (about.references === 0) parts.push(failure("There are no documents yet: add some under Documents."));
  if (about.examples.length) {
    const examples = about.examples.map((each) =>
      h("li", {}, h("button", { type: "button", class: "example", dir: "auto", onclick: () => choose(each) }, each)));
    parts.push(h("p", {}, "For example:"), h("ul", { class: "examples" }, examples));
  }
  if (about.remark) parts.push(h("p", { class: "faint" }, about.remark));
  return h("div", { class: "beginning" }, parts);
}

function compose(about, submit, stop) {
  const field = h("textarea", {
    id: "question", rows: 1, required: true, maxlength: about.longest_question,
    placeholder: "What do you want to know?", dir: "auto",
    onkeydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    },
  });
  const way = h("select", { id: "way" }, WAYS.map(([value, label]) => h("option", { value }, label)));
  const send = h("button", { type: "submit", class: "main" }, "Ask");
  const end = h("button", { type: "button", hidden: true, onclick: stop }, "Stop");
  const form = h("form", {
    class: "composer",
    onsubmit: (event) => {
      event.preventDefault();
      const question = field.value.trim();
      if (!question || send.hidden) return;
      field.value = "";
      submit(question, way.value);
    },
  }, h("label", { for: "question", class: "hidden" }, "Question"), field, h("div", { class: "row" },
    h("label", { for: "way", class: "faint" }, "Answer"), way, send, end));
  const busy = (on) => {
    send.hidden = on;
    end.hidden = !on;
    if (!on && POINTED.matches) field.focus({ preventScroll: true }); // no keyboard over a telephone's answer
  };
  return { form, field, busy };
}
