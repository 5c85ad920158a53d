// The documents of the store: listed, uploaded and removed.

import { ask } from "./api.js";
import { count, failure, h, moment, say } from "./dom.js";

const STATES = { waiting: "waits for its turn", reading: "is being read", done: "", failed: "could not be read" };
const EVERY = 700; // milliseconds between two looks at the uploads

/** Show the documents and the uploads under way; returns what ends looking at these. */
export async function showDocuments(place, about) {
  const held = h("p", {});
  const told = h("div", { role: "status" });
  const uploads = h("ul", { id: "uploads", "aria-label": "Uploads" });
  const list = h("ul", { class: "runs", id: "documents", "aria-label": "Documents" });
  const more = h("p", { class: "faint" });
  const find = h("input", { id: "find", type: "search", oninput: () => refresh() });
  const state = { timer: 0, left: false, ended: null, asked: 0 };

  const trying = async (work) => {
    try {
      await work();
    } catch (error) {
      told.replaceChildren(failure(error.message));
    }
  };
  const refresh = () => trying(async () => {
    const asked = ++state.asked;
    const { documents, total } = await ask("GET", `/api/documents?find=${encodeURIComponent(find.value)}`);
    const { references } = await ask("GET", "/api/system");
    if (asked !== state.asked) return; // another one was asked for meanwhile
    held.textContent = references === null
      ? `Your own retriever “${about.store}” is searched. Documents are added to it where it is kept.`
      : `“${about.store}” holds ${count(references, "passage")} that a question can find.`;
    list.replaceChildren(...documents.map((each) => entry({ ...each, name: each.name || "(without a name)" }, remove)));
    more.textContent = total > documents.length
      ? `The latest ${documents.length} of ${count(total, "document")}: search by name to see others.`
      : count(total, "document");
  });
  const remove = ({ id, name }) => trying(async () => {
    if (!confirm(`Remove ${name}? Questions will not find it any more.`)) return;
    told.replaceChildren();
    await ask("DELETE", `/api/documents/${id}`, {});
    say(`${name} was removed.`);
    await refresh();
    find.focus(); // the button that was pressed is gone
  });
  const follow = () => trying(async () => {
    clearTimeout(state.timer);
    const all = await ask("GET", "/api/uploads");
    if (state.left) return;
    const over = all.filter((each) => each.state === "done" || each.state === "failed");
    uploads.replaceChildren(...all.reverse().map(upload));
    if (state.ended !== null && over.length !== state.ended) {
      say(`${over.at(-1).name}: ${over.at(-1).line}`);
      await refresh();
    }
    state.ended = over.length;
    if (over.length < all.length && !state.left) state.timer = setTimeout(follow, EVERY);
  });

  const files = h("input", { id: "files", type: "file", multiple: true, accept: about.kinds.join(","), required: true });
  const send = h("button", { type: "submit", class: "main" }, "Add these files");
  const form = h("form", {
    class: "panel",
    onsubmit: (event) => {
      event.preventDefault();
      const body = new FormData();
      for (const file of files.files) body.append("files", file);
      send.disabled = true;
      trying(async () => {
        told.replaceChildren("Uploading …");
        await ask("POST", "/api/documents", body);
        form.reset();
        told.replaceChildren();
        await follow();
      }).finally(() => { send.disabled = false; });
    },
  }, h("label", { for: "files" }, "Files to add"), files,
  h("p", { class: "faint" }, `At most 20 files and 50 MB at a time. Kinds: ${about.kinds.join(", ")}. A file with the name of an earlier one replaces it.`),
  send, told, uploads);
  for (const kind of ["dragover", "drop"]) {
    form.addEventListener(kind, (event) => {
      event.preventDefault();
      if (kind === "drop" && event.dataTransfer.files.length) files.files = event.dataTransfer.files;
    });
  }
  place.append(h("h1", {}, "Documents"), held, form,
    h("div", { class: "row" }, h("label", { for: "find" }, "Search by name"), find), list, more);
  await refresh();
  await follow();
  return () => {
    state.left = true;
    clearTimeout(state.timer);
  };
}

function upload({ name, state, line }) {
  const bar = state === "reading" ? h("progress", { "aria-label": `Reading ${name}` }) : null;
  return h("li", { class: state === "failed" ? "failure" : "" }, h("bdi", { class: "name" }, name), " ", line || STATES[state], bar);
}

function entry(document, remove) {
  const { name, passages, added } = document;
  return h("li", {},
    h("div", {}, h("strong", { dir: "auto" }, name),
      h("p", { class: "faint" }, `${count(passages, "passage")} · ${moment(added * 1000)}`)),
    h("button", { type: "button", "aria-label": `Remove ${name}`, onclick: () => remove(document) }, "Remove"));
}
