// What a person says of an answer: right, or wrong and what is right instead.

import { ask } from "./api.js";
import { h, thumb } from "./dom.js";

/** Thumbs for a run's answer, and what else can be done with it. */
export function votes(run, more) {
  let right = run.right;
  const note = h("span", { class: "faint", role: "status" });
  const answer = h("input", {
    type: "text", maxlength: 500, value: run.right_answer, hidden: right !== false,
    "aria-label": "The right answer", placeholder: "The right answer is …",
    onchange: async () => {
      try {
        await ask("PUT", `/api/runs/${run.id}/vote`, { right: false, answer: answer.value });
        note.textContent = "Saved: it can be downloaded from the history.";
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
        note.textContent = right === null ? "" : "Saved: the router can learn from it.";
      } catch (error) {
        note.textContent = error.message;
      }
    },
  }, thumb(value));
  const buttons = [[button(true, "The answer is right"), true], [button(false, "The answer is wrong"), false]];
  return h("div", { class: "votes" }, buttons.map(([each]) => each), more, answer, note);
}
