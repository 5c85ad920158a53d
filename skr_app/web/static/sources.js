// The sources of an answer, and what supports each of its sentences.

import { fresh, h } from "./dom.js";

export class Sources {
  /** `output` is the graph's; `citations` come with their passage cut around what supports them. */
  constructor(output, citations) {
    this.citations = citations;
    this.cards = new Map();
    for (const cited of citations) {
      if (!this.cards.has(cited.reference_id)) this.cards.set(cited.reference_id, this.card(cited, output));
    }
    const cards = [...this.cards.values()].sort((one, other) => one.number - other.number);
    const list = cards.map((card) => h("li", {}, card.element));
    const others = output.references.length - list.length;
    this.element = h("section", { class: "sources", "aria-label": "Sources" },
      list.length ? h("h3", {}, "Sources") : null,
      list.length ? h("ol", {}, list) : null,
      others > 0 ? h("p", { class: "faint" }, `${others} more ${others === 1 ? "reference was" : "references were"} read and not cited.`) : null);
  }

  /** A marker in the answer, which shows the sentence that supports it. */
  marker(text, place) {
    const cited = this.citations[place];
    const card = this.cards.get(cited.reference_id);
    return h("button", {
      type: "button", class: "marker", "aria-label": `Source ${cited.marker}: ${card.title}`, "aria-controls": card.element.id,
      onclick: (event) => this.open(cited, event.currentTarget),
    }, text);
  }

  open(cited, marker) {
    for (const card of this.cards.values()) card.element.classList.remove("lit");
    const card = this.cards.get(cited.reference_id);
    card.mark(cited);
    card.element.open = true;
    card.element.classList.add("lit");
    const place = card.element.querySelector("mark") ?? card.element;
    place.scrollIntoView({ block: "center", behavior: calm() ? "auto" : "smooth" });
    card.back.onclick = () => marker.focus();
    card.element.querySelector("summary").focus({ preventScroll: true });
  }

  card(first, output) {
    const reference = output.references.find((each) => each.id === first.reference_id);
    const title = reference.title || "Untitled";
    const quote = h("span", { class: "quote" });
    const passage = h("p", { class: "passage-text" });
    const back = h("button", { type: "button", class: "quiet" }, "Back to the answer");
    const mark = ({ parts: [before, quoted, after] }) => {
      quote.textContent = quoted ? `“${quoted.trim()}”` : "";
      passage.replaceChildren(before, quoted ? h("mark", {}, quoted) : "", after);
    };
    mark(first);
    const element = h("details", { class: "source", id: fresh("source") },
      h("summary", {}, h("span", { class: "number" }, first.marker), h("span", {}, h("strong", {}, title), " ", quote)),
      passage, h("p", { class: "faint where" }, whereOf(reference)), back);
    return { element, mark, title, back, number: first.marker };
  }
}

function whereOf({ metadata = {} }) {
  const file = String(metadata.source ?? metadata.url ?? "").split(/[/\\]/).pop();
  return [file, metadata.page === undefined ? "" : `page ${metadata.page}`].filter(Boolean).join(", ");
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
