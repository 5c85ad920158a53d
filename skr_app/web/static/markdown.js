// A subset of Markdown as elements: paragraphs, headings, lists, tables and code. No text becomes HTML.

import { copyButton } from "./copy.js";
import { h } from "./dom.js";
import { citationsOf, FENCE, spans } from "./spans.js";

const CODE = /^ {0,3}(`{3,}|~{3,}) *([\w+#.-]{0,30})[^`\uFFFC]*$/;
const HEADING = /^ {0,3}#{1,6} +(\S.*)$/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const ITEM = /^( *)([-*+•]|\d{1,3}[.)]) +(?=\S)/;
const ALIGNED = /^ *:?-+:? *$/;
const DEEPEST = 6; // lists in lists

/**
 * The elements of an answer.
 *
 * It comes in pieces, some of which are citations: `marker` makes the element of one, by its place
 * among the citations. They are found again wherever in a list or a table they stand.
 */
export function answerOf(pieces, marker = () => "") {
  const parts = pieces.map(({ text, citation }) =>
    (citation === undefined ? text.replaceAll(FENCE, "\uFFFD") : `${FENCE}${citation}${FENCE}`));
  const labels = new Map(pieces.filter((each) => each.citation !== undefined).map((each) => [each.citation, each.text]));
  const text = parts.join("");
  const given = { marker, label: (place) => labels.get(place), depth: 0 };
  const made = isData(text) ? [codeOf(text, "json", given)] : blocks(text.replaceAll("\t", "    ").split(/\r?\n/), given);
  for (const each of made) if (!each.matches(".code")) each.dir = "auto";
  return made;
}

/** Whether an answer is an object for a program, which is shown as it is. */
function isData(text) {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

function blocks(lines, given) {
  const made = [];
  for (let at = 0; at < lines.length;) {
    if (!lines[at].trim()) at += 1;
    else {
      const [element, next] = KINDS.map((kind) => kind(lines, at, given)).find(Boolean);
      made.push(element);
      at = next;
    }
  }
  return made;
}

// Each kind of block gives its element and the line behind it, or null where another kind begins.

function code(lines, at, given) {
  const [, fence, language] = CODE.exec(lines[at]) ?? [];
  if (!fence) return null;
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(fence) && !lines[end].trim().replaceAll(fence[0], ""))) end += 1;
  const margin = lines[at].search(/\S/);
  const inner = lines.slice(at + 1, end).map((line) => line.slice(Math.min(margin, indent(line))));
  return [codeOf(inner.join("\n"), language, given), end + 1];
}

function codeOf(text, language, { marker, label }) {
  const plain = citationsOf(text, label).join("");
  return h("figure", { class: "code" },
    h("figcaption", {}, h("span", {}, language || "code"), copyButton(() => plain, "Copy", "Copy the code")),
    h("pre", { tabindex: "0", dir: "ltr" }, h("code", {}, citationsOf(text, marker))));
}

function heading(lines, at, { marker }) {
  const [, text] = HEADING.exec(lines[at]) ?? [];
  return text ? [h("h3", {}, spans(text, marker)), at + 1] : null;
}

function rule(lines, at) {
  return RULE.test(lines[at]) ? [h("hr"), at + 1] : null;
}

function table(lines, at, { marker }) {
  const head = cells(lines[at]);
  if (!beginsTable(lines, at, head)) return null;
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  const row = (name, scope) => (line) => h("tr", {},
    cells(line).map((cell) => h(name, { scope }, spans(cell, marker))));
  const body = lines.slice(at + 2, end).map(row("td"));
  return [h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" },
    h("table", {}, h("thead", {}, row("th", "col")(lines[at])), h("tbody", {}, body))), end];
}

function beginsTable(lines, at, head = cells(lines[at])) {
  if (!lines[at].includes("|") || !lines[at + 1]?.includes("-")) return false;
  const aligned = cells(lines[at + 1]);
  return aligned.length === head.length && aligned.every((cell) => ALIGNED.test(cell));
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim());
}

function list(lines, at, given) {
  const first = ITEM.exec(lines[at]);
  if (!first || given.depth === DEEPEST) return null;
  const numbered = isNumber(first);
  const items = [];
  let end = at;
  for (let found = first; found;) {
    const next = afterItem(lines, end, found);
    const inner = lines.slice(end + 1, next).map((line) => line.slice(Math.min(found[0].length, indent(line))));
    const [begin, ...rest] = blocks([lines[end].slice(found[0].length), ...inner], { ...given, depth: given.depth + 1 });
    items.push(h("li", {}, begin.matches("p") ? [...begin.childNodes] : begin, rest));
    end = next;
    found = ITEM.exec(lines[end] ?? "");
    if (found && isNumber(found) !== numbered) found = null;
  }
  const start = numbered && parseInt(first[2], 10) !== 1 ? parseInt(first[2], 10) : null;
  return [h(numbered ? "ol" : "ul", { start }, items), end];
}

const isNumber = (item) => /\d/.test(item[2]);
const indent = (line) => line.length - line.trimStart().length;

/** The line behind an item: what is indented belongs to it, and what goes on with its paragraph. */
function afterItem(lines, at, item) {
  let end = at + 1;
  while (end < lines.length) {
    if (lines[end].trim()) {
      const inside = indent(lines[end]) > item[1].length + 1;
      if (!inside && (!lines[end - 1].trim() || begins(lines, end))) break;
    }
    end += 1;
  }
  const next = ITEM.exec(lines[end] ?? "");
  while (!next && !lines[end - 1].trim()) end -= 1;
  return end;
}

function paragraph(lines, at, { marker }) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !begins(lines, end)) end += 1;
  return [h("p", {}, spans(lines.slice(at, end).map((line) => line.trim()).join("\n"), marker)), end];
}

/** Whether something else than a paragraph's next line begins. */
function begins(lines, at) {
  const item = ITEM.exec(lines[at]);
  return CODE.test(lines[at]) || HEADING.test(lines[at]) || RULE.test(lines[at]) || Boolean(item) || beginsTable(lines, at);
}

const KINDS = [code, heading, rule, table, list, paragraph];
