// The results of a ranking: which of them can be moved, and how each is shown.

const SHOWN = 20;
const FOLDED = 400; // characters
const BEFORE_EVIDENCE = 90;

/**
 * Return the results of a record: those `shown`, those too far down for it, and `further`: what is
 * relevant and was missed, or is hidden. `item` says what a result is judged as: the chunk, or its
 * document.
 */
function resultsOf({ hits, missed, judged }) {
  const place = ({ doc, start, end }) =>
    index.labels === "documents" ? doc : JSON.stringify([doc, start, end]);
  const items = new Map();
  judged?.items.forEach((at, item) => items.set(at, item));
  const first = new Map();
  const ranked = hits.map((hit, at) => {
    const item = items.get(at) ?? first.get(place(hit)) ?? `hit ${at}`;
    if (!first.has(place(hit))) first.set(place(hit), item);
    return { ...hit, item, itemGrade: judged?.grades[item] ?? hit.grade };
  });
  const shown = ranked.slice(0, SHOWN);
  const hidden = ranked.slice(SHOWN);
  const far = hidden.filter(isRelevant).map((hit) =>
    Object.assign(hit, { missing: `rank ${grouped(ranked.indexOf(hit) + 1)}` }));
  const lost = missed.filter(isRelevant).map((hit) =>
    ({ ...hit, item: place(hit), itemGrade: hit.grade }));
  return { shown, hidden, further: [...far.slice(0, SHOWN), ...lost] };
}

function isRelevant({ grade }) {
  return grade !== null && grade >= index.level;
}

/** The row of a result, and the parts of it that change as it moves. */
function hitRow(hit, spans, isMovable) {
  const button = (className) =>
    isMovable ? el("button", { type: "button", class: className }) : null;
  const [handle, up, down] = ["handle", "up", "down"].map(button);
  const rank = el("span", { class: "rank" });
  const remark = el("span", {});
  const [text, unfold] = hit.text ? hitText(hit, spans) : [null, null];
  const about = el("p", { class: "hit-about" },
    el("bdi", { class: "doc" }, hit.doc), factsOf(hit), remark, unfold);
  const box = el("li", { class: isRelevant(hit) ? "hit relevant" : "hit" },
    handle, rank, el("div", { class: "hit-body" }, about, text),
    isMovable ? el("span", { class: "arrows" }, up, down) : null);
  return { box, rank, remark, handle, up, down };
}

function factsOf(hit) {
  const { score, prompt, before, missing } = hit;
  const grade = el("span", { class: isRelevant(hit) ? "grade" : "" }, gradeInWords(hit.grade));
  const said = missing ? [missing] : [`score ${score.toFixed(3).replace("-", "−")}`];
  if (prompt) said.push(prompt === "cut" ? "in the prompt, cut" : "in the prompt");
  if (before) said.push(`rank ${grouped(before)} before reranking`);
  return [grade, said.map((fact) => el("span", {}, fact))];
}

function gradeInWords(grade) {
  if (grade === null) return "not judged";
  if (grade < 0) return "outside the pool";
  if (grade === 0) return "not relevant";
  if (grade < index.level) return `not relevant, grade ${grade}`;
  return `relevant, grade ${grade}`;
}

/** The text, folded to a few lines round the first evidence in it, and what unfolds it. */
function hitText({ text: whole, start, doc }, spans) {
  const text = unturned(whole);
  const chars = characters(text);
  const own = spans.filter((span) => span.doc === doc);
  const shown = quoted("p", "hit-text");
  if (chars.length <= FOLDED / 2 && text.split("\n").length <= 4) {
    shown.append(...marked(text, start, own));
    return [shown, null];
  }
  const begins = own.map((span) => span.start - start).filter((at) => at < chars.length);
  const first = Math.min(...begins.filter((at) => at >= 0), Infinity);
  let from = first === Infinity ? 0 : Math.max(first - BEFORE_EVIDENCE, 0);
  while (from > 0 && from < first && /\S/.test(chars[from - 1])) from += 1; // begin with a word
  const to = Math.min(from + FOLDED, chars.length);
  const few = [
    from > 0 && "… ", ...marked(between(chars, from, to), start + from, own),
    to < chars.length && " …",
  ].filter(Boolean);
  const turn = () => {
    const isFolded = shown.classList.toggle("folded");
    shown.replaceChildren(...(isFolded ? few : marked(text, start, own)));
    toggle.textContent = isFolded ? "Whole text" : "Fewer lines";
    toggle.setAttribute("aria-expanded", !isFolded);
  };
  const toggle = el("button", { type: "button", class: "unfold", click: turn });
  turn();
  return [shown, toggle];
}
