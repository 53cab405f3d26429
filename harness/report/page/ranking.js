// The ranking of one question, to be moved about: what it is worth follows every move.

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
  const numbers = new Map(); // of the items, in the order in which they are found
  const ranked = hits.map((hit) => {
    const item = place(hit);
    if (!numbers.has(item)) numbers.set(item, numbers.size);
    return { ...hit, item, itemGrade: judged?.grades[numbers.get(item)] ?? hit.grade };
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
  const buttons = isMovable ? moveButtons() : {};
  const [rank, remark] = [el("span", { class: "rank" }), el("span", {})];
  const [text, unfold] = hit.text ? hitText(hit, spans) : [null, null];
  const about = el("p", { class: "hit-about" },
    el("bdi", { class: "doc" }, hit.doc), factsOf(hit), remark, unfold);
  const box = el("li", { class: isRelevant(hit) ? "hit relevant" : "hit" },
    buttons.handle, rank, el("div", { class: "hit-body" }, about, text), buttons.arrows);
  return { ...hit, ...buttons, box, rank, remark };
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

/**
 * Return the ranking of a record beside what it is worth. Results move by their handles, by
 * pointer or keyboard; what is relevant and was missed stands below, to be pulled in.
 */
function ranking(record, spans) {
  const root = el("div", { class: "ranking" });
  const header = document.querySelector("body > header"); // stays in view: values stick below it
  root.style.setProperty("--under", `${header?.offsetHeight ?? 0}px`);
  const { judged } = record;
  const { shown, hidden, further } = resultsOf(record);
  const rowOf = (hit) => hitRow(hit, spans, Boolean(judged));
  const divider = { box: el("li", { class: "edge" }, dividerOf(record, further)) };
  const retrieved = further.length
    ? [...shown.map(rowOf), divider, ...further.map(rowOf)] : shown.map(rowOf);
  const worth = worthOf(judged ? measuresOf(index) : [], () => moves.restore());
  const status = el("p", { class: "unseen", role: "status" });
  const promptEnds = el("li", { class: "edge" }, `top ${grouped(index.chunks ?? 0)} ends here`);
  const list = el("ol", { class: "hits" });
  root.append(worth.pinned, el("div", {}, rankingHead(record), list, unnamed(record)), worth.panel, status);
  const moves = movable(list, retrieved, {
    /** What was retrieved stays above the divider. */
    lastPlace(row, others) {
      const end = others.indexOf(divider);
      return row.missing || end < 0 ? others.length : end;
    },
    show(order, isRetrieved) {
      const end = order.indexOf(divider);
      const ranked = end < 0 ? order : order.slice(0, end);
      const seen = new Map();
      ranked.forEach((row, at) => {
        label(row, at + 1, seen.get(row.item));
        if (!seen.has(row.item)) seen.set(row.item, at + 1);
      });
      order.slice(ranked.length + 1).forEach((row) => label(row, null));
      if (judged) {
        const grades = new Map();
        for (const { item, itemGrade } of [...ranked, ...hidden])
          if (!grades.has(item)) grades.set(item, itemGrade);
        worth.show({ ...judged, grades: [...grades.values()] }, isRetrieved);
      }
      const boxes = order.map(({ box }) => box);
      if (index.chunks && ranked.length > index.chunks) boxes.splice(index.chunks, 0, promptEnds);
      return boxes;
    },
    say(row) {
      status.textContent = row === null ? `As retrieved, ${worth.said()}`
        : `${unturned(row.doc)} is ${row.place} now, ${worth.said()}`;
    },
  });

  /** Show the rank of a row, and the rank that it counts at if the same item stands above. */
  function label(row, rank, above) {
    row.place = rank === null ? "not in the ranking" : `at rank ${rank}`;
    row.rank.textContent = rank ?? MISSING;
    row.box.classList.toggle("out", rank === null);
    row.remark.textContent = above ? `counts once, at rank ${above}` : "";
    if (judged) nameButtons(row, row.doc, row.place.replace("at ", ""));
  }
  return root;
}

function rankingHead({ judged }) {
  const key = (name) => el("kbd", {}, name);
  const how = ["Drag a result by its handle, or focus the handle and press ", key("↑"), " ",
    key("↓"), " ", key("Home"), " ", key("End"), ". ", key("Esc"), " restores. "];
  return [el("h3", {}, "Ranking"),
    el("p", { class: "note" }, judged && how, el("mark", {}, "Evidence"), " is marked.")];
}

/** What stands between the ranking and what is not in it, or not shown of it. */
function dividerOf({ hits, judged }, further) {
  const from = Math.min(hits.length, SHOWN) + 1;
  const hidden = hits.length >= from ? `Ranks ${from} to ${grouped(hits.length)} are not shown. ` : "";
  const what = `Relevant, but ${hidden ? "further down or " : ""}not retrieved`;
  return `${hidden}${what}${judged ? ": move it up to see what finding it is worth" : ""}`;
}

/**
 * Return what shows the measures: the `panel`, the values alone to be `pinned` on small screens,
 * `show`, which fills both with a judged ranking, and `said`, the first measure in words.
 */
function worthOf(measures, restore) {
  const lines = measures.map(({ name, title, of }) =>
    ({ ...measureLine(name, title), of, first: null, pinned: el("b"), moved: el("span") }));
  const button = el("button", { type: "button", hidden: true, click: restore }, "As retrieved");
  const panel = el("div", { class: "worth" },
    el("h3", {}, "What this ranking is worth"),
    lines.length === 0 && el("p", { class: "plain" },
      `The question has no ${index.labels} label: nobody can say which results are relevant.`),
    lines.length > 0 && index.labels === "documents" && el("p", { class: "plain" },
      "Ranks count documents: each counts once, at its first chunk."),
    lines.map(({ box }) => box),
    button);
  const pinned = el("div", { class: "pinned", "aria-hidden": "true" }, lines.map((line) =>
    el("span", {}, el("small", {}, line.title), line.pinned, line.moved)));

  function show(judged, isRetrieved) {
    button.hidden = isRetrieved;
    for (const line of lines) {
      const found = line.of(judged);
      line.show(found);
      line.first ??= found.value;
      const by = found.value === null || isRetrieved ? "" : difference(found.value - line.first);
      line.pinned.textContent = line.value.textContent;
      line.moved.textContent = by;
      line.change.textContent = isRetrieved ? "as retrieved" : by;
      line.change.className = line.moved.className = `change ${direction(by)}`.trim();
    }
  }

  const said = () => (lines.length ? `${lines[0].title} ${lines[0].value.textContent}` : "");
  return { panel, pinned, show, said };
}

function difference(by) {
  const shown = four(Math.abs(by));
  if (Number(shown) === 0) return "unchanged";
  return `${by > 0 ? "+" : "−"}${shown}`;
}

function direction(by) {
  return { "+": "better", "−": "worse" }[by[0]] ?? "";
}
