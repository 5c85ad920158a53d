// Copying what the page shows.

import { h, say } from "./dom.js";

/** A button that copies what `read` gives when it is pressed. */
export function copyButton(read, label, name = label) {
  const button = h("button", {
    type: "button", class: "quiet copy", "aria-label": name,
    onclick: async () => {
      await copy(read());
      button.textContent = "Copied";
      say("Copied.");
      setTimeout(() => { button.textContent = label; }, 2000);
    },
  }, label);
  return button;
}

/** A browser keeps its clipboard from a page that is served over HTTP to another machine. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h("textarea", { class: "hidden", readonly: true });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}
