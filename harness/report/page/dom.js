// Building the page: every text from outside becomes a text node, never markup.

const MISSING = "–";
const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element. Attributes that are functions listen to the event of that name; `null` and
 * `false` are left out, as they are among the children, which may be nested lists.
 */
function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an element of a drawing. */
function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value);
  }
  const present = (child) => ![null, undefined, false, ""].includes(child);
  const safe = (child) => (typeof child === "string" ? unturned(child) : child);
  node.append(...children.flat(Infinity).filter(present).map(safe));
  return node;
}

/** A text without what turns the direction of all behind it: it could seem to say something else. */
function unturned(text) {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

/** Text that came from outside, in a box of its own direction. */
function quoted(tag, className, ...children) {
  return el(tag, { class: `quoted ${className}`.trim(), dir: "auto" }, ...children);
}

/** What opens on request. `filling` makes its content, when it is opened for the first time. */
function fold(title, filling) {
  const details = el("details", { class: "fold" }, el("summary", {}, title));
  const fill = () => details.append(...[filling()].flat());
  details.addEventListener("toggle", fill, { once: true });
  return details;
}

/** A table that keeps its roles where the style turns rows into cards, and cells say their head. */
function table(className, head, rows) {
  const headings = head.map((text) => el("th", { scope: "col", role: "columnheader" }, text));
  const cell = (content, at) =>
    at === 0
      ? el("th", { scope: "row", role: "rowheader" }, content)
      : el("td", { role: "cell", "data-label": head[at] }, content);
  const bodies = rows.map(({ cells, ...attributes }) =>
    el("tr", { role: "row", ...attributes }, cells.map(cell)));
  return el("table", { class: className, role: "table" },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, headings)),
    el("tbody", { role: "rowgroup" }, bodies));
}

/** A score with two digits. */
function score(value) {
  return value === null || value === undefined ? MISSING : value.toFixed(2).replace("-", "−");
}

/** A whole number with its thousands apart. */
function grouped(count) {
  return count.toLocaleString("en");
}

function counted(count, noun) {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Seconds with two significant digits. */
function seconds(value) {
  if (value >= 10) return `${grouped(Math.round(value))} s`;
  const two = (number) => String(Number(number.toPrecision(2)));
  return value >= 1 ? `${two(value)} s` : `${two(value * 1000)} ms`;
}

/** The characters of a text as Python counts them: offsets in the data are such. */
function characters(text) {
  return /[\ud800-\udfff]/.test(text) ? Array.from(text) : text;
}

function between(chars, start, end) {
  return typeof chars === "string" ? chars.slice(start, end) : chars.slice(start, end).join("");
}

/**
 * Return a text as nodes with the evidence in it marked. `spans` are `{start, end}` in the text's
 * document, where the text begins at `docStart`; they may overlap and may lie outside of it.
 */
function marked(text, docStart, spans) {
  const chars = characters(text);
  const inside = spans
    .map(({ start, end }) => [Math.max(start - docStart, 0), Math.min(end - docStart, chars.length)])
    .filter(([start, end]) => start < end)
    .sort((a, b) => a[0] - b[0]);
  return withMarks(chars, inside, {});
}

/** Characters as nodes, with the stretches [start, end] marked; they are in order, and may overlap. */
function withMarks(chars, stretches, attributes) {
  const nodes = [];
  let at = 0;
  for (const [start, end] of stretches) {
    if (end <= at) continue;
    nodes.push(between(chars, at, start));
    nodes.push(el("mark", attributes, between(chars, Math.max(start, at), end)));
    at = end;
  }
  nodes.push(between(chars, at));
  return nodes.filter((node) => node !== "");
}

const WORD = /[\p{L}\p{N}\p{M}_]+/gu;

/** The words of texts in lower case, each once. */
function wordsOf(texts) {
  return new Set(texts.flatMap((text) => text.toLowerCase().match(WORD) ?? []));
}

/** Return a text as nodes with those of its words marked that are among `words`. */
function sharing(text, words) {
  const runs = [];
  for (const { 0: word, index: start } of text.matchAll(WORD)) {
    if (!words.has(word.toLowerCase())) continue;
    const last = runs.at(-1);
    if (last && /^\s+$/.test(text.slice(last[1], start))) last[1] = start + word.length;
    else runs.push([start, start + word.length]);
  }
  return withMarks(text, runs, { class: "shared" });
}
