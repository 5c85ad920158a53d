// The sources of an answer: each document, its passages that are cited, and what supports each sentence.

import { fresh, h } from "./dom.js";
import { link } from "./spans.js";

export class Sources {
  /** `run` is a kept run, whose citations come with their passage cut around what supports them. */
  constructor({ output, citations, documents }) {
    this.citations = citations;
    this.cards = new Map();
    const groups = new Map();
    for (const cited of [...citations].sort((one, other) => one.marker - other.marker)) {
      if (this.cards.has(cited.reference_id)) continue;
      const document = documents[cited.reference_id];
      const reference = output.references.find((each) => each.id === cited.reference_id);
      const card = cardOf(cited, reference, document);
      this.cards.set(cited.reference_id, card);
      if (!groups.has(document.key)) groups.set(document.key, { document, cards: [] });
      groups.get(document.key).cards.push(card);
    }
    const others = output.references.length - this.cards.size;
    this.element = h("section", { class: "sources", "aria-label": "Sources" },
      groups.size ? h("h3", {}, "Sources") : null,
      groups.size ? h("ol", {}, [...groups.values()].map(groupOf)) : null,
      others > 0 ? h("p", { class: "faint" }, `${others} more ${others === 1 ? "passage was" : "passages were"} read, but not cited.`) : null);
  }

  /** A marker in the answer, which shows the sentence that supports it. */
  marker(text, place) {
    const cited = this.citations[place];
    const card = this.cards.get(cited.reference_id);
    return h("button", {
      type: "button", class: "marker", dir: "ltr", "aria-label": `Source ${cited.marker}: ${card.name}`, "aria-controls": card.element.id,
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
    card.back.hidden = false;
    card.element.querySelector("summary").focus({ preventScroll: true });
  }

  /** The sources as lines of text. */
  get lines() {
    return [...this.cards.values()].map((card) => card.line());
  }
}

function groupOf({ document, cards }) {
  return h("li", { class: "document" },
    h("h4", { dir: "auto" }, link(document.name, document.name) ?? document.name),
    cards.map((card) => card.element));
}

function cardOf(first, reference, document) {
  const name = [document.name, document.place].filter(Boolean).join(", ");
  const place = document.place || (reference.title === document.name ? "" : reference.title);
  const quote = h("q", { class: "quote", dir: "auto" });
  const passage = h("p", { class: "passage-text", dir: "auto" });
  const back = h("button", { type: "button", class: "quiet", hidden: true }, "Back to the answer");
  const mark = ({ parts: [before, quoted, after] }) => {
    quote.textContent = quoted.trim();
    quote.hidden = !quoted.trim();
    passage.replaceChildren(before, quoted ? h("mark", {}, quoted) : "", after);
  };
  mark(first);
  const element = h("details", { class: "source", id: fresh("source") },
    h("summary", {}, h("span", { class: "number" }, first.marker),
      h("span", {}, h("span", { class: place ? "place" : "place unnamed", dir: "auto" }, place || "Passage"), quote)),
    passage, back);
  const line = () => `[${first.marker}] ${name}${quote.textContent ? `: “${quote.textContent}”` : ""}`;
  return { element, mark, name: reference.title && reference.title !== document.name ? `${reference.title}, ${name}` : name, back, line };
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
