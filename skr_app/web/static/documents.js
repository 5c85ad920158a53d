// Documents into the store.

import { ask, listen } from "./api.js";
import { count, failure, h } from "./dom.js";

/** Show how much the store holds, and take files in. */
export async function showDocuments(place, about) {
  const held = h("p", { id: "held" });
  const tell = (number) => {
    held.textContent = `The store “${about.store}” holds ${count(number, "passage")}.`;
  };
  tell(about.references);
  const files = h("input", { id: "files", type: "file", multiple: true, accept: about.kinds.join(","), required: true });
  const bar = h("progress", { hidden: true, "aria-label": "Reading the files" });
  const told = h("div", { role: "status" });
  const send = h("button", { type: "submit", class: "main" }, "Add to the store");
  const form = h("form", {
    class: "panel",
    onsubmit: async (event) => {
      event.preventDefault();
      const body = new FormData();
      for (const file of files.files) body.append("files", file);
      send.disabled = true;
      bar.hidden = false;
      told.replaceChildren("Uploading …");
      try {
        await listen("/api/documents", body, (name, said) => {
          if (name === "progress") told.replaceChildren(`${count(said.done, "passage")} read`);
          if (name !== "result") return;
          told.replaceChildren(...report(said));
          form.reset(); // at once: later it would take away what is chosen next
        });
        tell((await ask("GET", "/api/system")).references);
      } catch (error) {
        told.replaceChildren(failure(error.message));
      }
      bar.hidden = true;
      send.disabled = false;
    },
  }, h("label", { for: "files" }, "Files to add"), files,
  h("p", { class: "faint" }, `At most 20 files and 50 MB at a time: ${about.kinds.join(", ")}.`), send, bar, told);
  for (const kind of ["dragover", "drop"]) {
    form.addEventListener(kind, (event) => {
      event.preventDefault();
      if (kind === "drop" && event.dataTransfer.files.length) files.files = event.dataTransfer.files;
    });
  }
  place.append(h("h1", {}, "Documents"), held, form);
}

function report(said) {
  const skipped = said.skipped ? `, ${said.skipped} left out` : "";
  const parts = [h("p", {}, `${count(said.added, "passage")} added, ${said.already_present} there already${skipped}.`)];
  if (said.problems.length) parts.push(h("ul", {}, said.problems.map((each) => h("li", {}, each))));
  return parts;
}
