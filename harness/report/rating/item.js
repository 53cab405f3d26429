// One item on the screen: a question, its texts and its answer, and a row of grades for each.

const SHOWN = 1200; // characters of a text that are shown before one asks for more
const PREVIEW = 1500; // up to so many, all are shown at once

/** A text from outside; of a long one the beginning, and a button for the rest. */
function folded(whole) {
  const text = unturned(whole);
  if (text.length <= PREVIEW) return quoted("div", "text", text);
  const cut = text.slice(0, SHOWN).replace(/[\ud800-\udbff]$/, "");
  const box = quoted("div", "text", `${cut}…`);
  const all = `Show all ${counted(text.length, "character")}`;
  const button = el("button", { type: "button", class: "all", "aria-expanded": "false" }, all);
  button.addEventListener("click", () => {
    const open = button.ariaExpanded !== "true";
    button.ariaExpanded = String(open);
    button.textContent = open ? "Show less" : all;
    box.textContent = open ? text : `${cut}…`;
  });
  return [box, button];
}

/** The choice of a grade: radio buttons, and one that leaves it open again. */
function grades(name, scale, value, rated) {
  const options = scale.grades.map((word, grade) =>
    el("label", {},
      el("input", {
        type: "radio", name, value: grade, checked: grade === value,
        change: () => rated(grade),
      }),
      el("kbd", {}, grade), el("span", {}, word)));
  const clear = el("button", {
    type: "button", class: "clear", tabindex: "-1", "aria-label": `Leave open: ${name}`,
    title: "Leave open (x)", click: () => rated(null),
  }, "×");
  return el("div", { class: "grades" }, options, clear);
}

/** Show which grade a row has. */
function mark(row, grade) {
  row.classList.toggle("rated", grade !== null);
  for (const input of row.querySelectorAll("input"))
    input.checked = grade !== null && Number(input.value) === grade;
}

/** A row: what is rated, and its grades. `rate` receives each choice, null for none. */
function row(title, scale, value, rate, ...shown) {
  const set = (grade) => {
    mark(made, grade);
    rate(grade, `${title}: ${grade === null ? "open" : scale.grades[grade].toLowerCase()}.`);
  };
  const made = el("fieldset", { class: "row" },
    el("legend", {}, title), shown, grades(title, scale, value, set));
  made.rate = set;
  mark(made, value);
  return made;
}

/** All of an item. `changed` receives what was said of which row, after the rating has it. */
function itemShown(item, rating, heading, changed) {
  const texts = item.chunks.map((number, at) => {
    const { doc, text } = FORM.texts[number];
    const rate = (grade, said) => {
      rating.chunks[at] = grade;
      changed(said);
    };
    return row(`Text ${at + 1}`, FORM.chunk, rating.chunks[at], rate,
      quoted("p", "note doc", doc), folded(text));
  });
  const rows = SCALES.map((scale) => {
    const rate = (grade, said) => {
      rating[scale.key] = grade;
      changed(said);
    };
    return row(scale.title, scale, rating[scale.key], rate, el("p", { class: "note" }, scale.asks));
  });
  const comment = el("textarea", { id: "comment", rows: 3, maxlength: LONGEST_COMMENT, dir: "auto" });
  comment.value = rating.comment;
  comment.addEventListener("input", () => {
    rating.comment = comment.value;
    changed("");
  });
  return [
    el("p", { class: "note", id: "item-of" }, heading),
    el("h1", { id: "item-title", class: "quoted", dir: "auto" }, item.question),
    el("div", { class: "columns" },
      el("div", { class: "texts" },
        el("h2", {}, "Texts"),
        texts.length > 0 ? texts : el("p", { class: "note" }, "None were looked up, or none are known.")),
      el("div", { class: "judged" },
        el("h2", {}, "Answer"),
        el("div", { class: "answer" },
          item.answer.trim() === "" ? el("p", { class: "note" }, "It gives no answer.") : folded(item.answer)),
        rows,
        el("label", { class: "field" }, el("span", {}, "Comment"), comment))),
  ];
}
