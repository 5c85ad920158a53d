// What stands within a line of Markdown: citations, code, bold, emphasis and links. No text becomes HTML.

import { h } from "./dom.js";

/** Stands around the number of a citation; in the text of a model it is replaced. */
export const FENCE = "\uFFFC";

const SPAN = new RegExp([
  `${FENCE}(?<citation>\\d+)${FENCE}`,
  "\\\\(?<escaped>[*_`#|])",
  "`(?<code>[^`\\n]+)`",
  "\\*\\*\\*?(?=[^\\s*])(?<bold>[^*]+(?:\\*(?!\\*)[^*]*)*)\\*\\*\\*?",
  "(?<![\\w*])\\*(?=[^\\s*])(?<emphasis>[^*\\n]+)\\*(?!\\w)",
  `!?\\[(?<label>[^\\[\\]\\n${FENCE}]*)\\]\\((?<target>[^()\\s${FENCE}]*(?:\\([^()\\s${FENCE}]*\\)[^()\\s${FENCE}]*)*)\\)`,
  "(?<bare>\\bhttps?:\\/\\/[\\w\\-.~:/?#@!$&()*+,;=%]{1,2000})",
].join("|"), "g");
const SAFE = ["http:", "https:", "mailto:"];

/** A line's texts and elements; `marker` makes the element of a citation, by its place. */
export function spans(text, marker) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(SPAN)) {
    const made = element(found.groups, marker);
    if (made === null) continue;
    parts.push(text.slice(at, found.index), ...made);
    at = found.index + found[0].length;
  }
  parts.push(text.slice(at));
  return parts.filter((each) => each !== "");
}

function element(found, marker) {
  if (found.citation !== undefined) return [marker(Number(found.citation))];
  if (found.escaped !== undefined) return [found.escaped];
  if (found.code !== undefined) return [h("code", {}, citationsOf(found.code, marker))];
  if (found.bold !== undefined) return [h("strong", {}, spans(found.bold, marker))];
  if (found.emphasis !== undefined) return [h("em", {}, spans(found.emphasis, marker))];
  if (found.label !== undefined) {
    const made = link(found.target, found.label.replace(/[*`]/g, ""));
    return made && [made];
  }
  const [address, behind] = ended(found.bare);
  const made = link(address, address);
  return made && [made, behind];
}

/** A text in which nothing but citations is looked for: that of code. */
export function citationsOf(text, marker) {
  return text.split(FENCE).map((part, place) => (place % 2 ? marker(Number(part)) : part));
}

/**
 * A link that names the host it leads to, or null where its address is none that may be opened.
 *
 * Label and address are a model's or a passage's: the label may name another host.
 */
export function link(address, label) {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!SAFE.includes(url?.protocol)) return null;
  const host = url.host || url.pathname;
  const told = [host, address, ""].includes(label) && !url.username;
  return h("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, label || host,
    told ? null : h("span", { class: "faint" }, ` (${host})`));
}

/** An address that stands in a sentence, and the signs behind it that belong to the sentence. */
function ended(address) {
  let end = address.length;
  while (/[.,;:!?*]/.test(address[end - 1]) || (address[end - 1] === ")" && !address.slice(0, end).includes("("))) end -= 1;
  return [address.slice(0, end), address.slice(end)];
}
