// The history of runs: searched, leafed through, and two of them chosen to be compared.

import { ask } from "./api.js";
import { count, failure, h, moment, thumb } from "./dom.js";

/** List the latest runs; two can be chosen and compared. */
export async function showHistory(place, about) {
  const chosen = new Set();
  const state = { page: 1, asked: 0 };
  const find = h("input", { id: "find", type: "search", maxlength: 200, oninput: () => show(1) });
  const compare = h("button", { type: "submit", class: "main", disabled: true }, "Compare");
  const told = h("p", { class: "faint", id: "chosen", role: "status" });
  const list = h("ul", { class: "runs", "aria-label": "Answers" });
  const where = h("p", { class: "faint", role: "status" });
  const newer = h("button", { type: "button", onclick: () => show(state.page - 1) }, "Newer");
  const older = h("button", { type: "button", onclick: () => show(state.page + 1) }, "Older");
  const pages = h("nav", { class: "row pages", "aria-label": "Pages of the history" }, newer, where, older);

  const choose = (event) => {
    const { checked, value } = event.currentTarget;
    if (checked) chosen.add(value);
    else chosen.delete(value);
    tell();
  };
  const tell = () => {
    compare.disabled = chosen.size !== 2;
    told.textContent = chosen.size === 0 ? "Choose two answers to compare them."
      : chosen.size === 2 ? "Two answers are chosen." : `${count(chosen.size, "answer")} chosen; choose two.`;
  };
  const show = async (page) => {
    const asked = ++state.asked;
    try {
      const { runs, total, listed } = await ask("GET", `/api/runs?page=${page}&find=${encodeURIComponent(find.value)}`);
      if (asked !== state.asked) return; // another one was asked for meanwhile
      const turned = page !== state.page;
      state.page = page;
      list.replaceChildren(...runs.map((run) => line(run, about, choose, chosen)));
      const first = (page - 1) * listed + 1;
      where.textContent = !total ? "Nothing was found."
        : total > listed ? `${first} to ${first + runs.length - 1} of ${count(total, "answer")}` : count(total, "answer");
      newer.hidden = page === 1;
      older.hidden = first + runs.length > total;
      if (turned) list.querySelector("a")?.focus(); // the button that was pressed may be gone
    } catch (error) {
      list.replaceChildren(h("li", {}, failure(error.message)));
    }
  };

  place.append(h("h1", {}, "History"));
  await show(1);
  if (!list.children.length) {
    place.append(h("p", {}, "Nothing has been asked yet. ", h("a", { href: "#/ask" }, "Ask something")));
    return;
  }
  tell();
  place.append(
    h("div", { class: "row" }, h("label", { for: "find" }, "Search"), find),
    h("form", {
      onsubmit: (event) => {
        event.preventDefault();
        location.hash = `#/compare/${[...chosen].join("/")}`;
      },
    }, h("div", { class: "row sticky" }, told, compare), list, pages),
    h("p", { class: "faint" }, h("a", { href: "/api/questions", download: "questions.jsonl" }, "Download the questions you gave the right answer to")));
}

/** An answer in one line: without the signs of Markdown. */
const plain = (text) => text.replace(/^[\s|:-]+$/gm, "").replace(/\*\*|`+|^ *#+ +/gm, "").replaceAll("|", " ");

function line(run, about, choose, chosen) {
  const judged = run.right === null ? [] : [" · ", thumb(run.right), h("span", { class: "hidden" }, run.right ? "judged right" : "judged wrong")];
  const facts = [about.decided[run.decided], run.rounds ? count(run.rounds, "round") : null, count(run.calls, "call"),
    `${run.tokens.toLocaleString("en")} tokens`, moment(run.asked_at)];
  return h("li", {},
    h("input", { type: "checkbox", value: run.id, checked: chosen.has(run.id), onchange: choose, "aria-label": `Compare: ${run.question}` }),
    h("div", {}, h("a", { href: `#/ask/${run.conversation}`, dir: "auto" }, run.question),
      h("p", { class: "short", dir: "auto" }, plain(run.answer) || "(no answer)"),
      h("p", { class: "faint" }, facts.filter(Boolean).join(" · "), judged)));
}
