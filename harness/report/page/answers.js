// What was answered: beside the references, scored, sampled, and in every other configuration.

/** The answer and the references, with the words that stand in both marked. */
function compared({ answer, declined, error }, { answers, keywords }) {
  const ours = wordsOf([answer ?? ""]);
  const theirs = wordsOf(answers);
  const said = error ? el("p", { class: "unknown" }, `None: failed at ${error.stage}.`)
    : answer === null ? el("p", { class: "unknown" }, "No answer is recorded.")
      : answerText(answer, theirs);
  return el("section", { class: "part answers", "aria-label": "Answer and reference" },
    el("div", {}, el("h3", {}, declined ? "Answer (declined)" : "Answer"), said),
    el("div", {},
      el("h3", {}, answers.length > 1 ? "References" : "Reference"),
      answers.length
        ? answers.map((text) => answerText(text, ours))
        : el("p", { class: "unknown" }, "None is given."),
      keywords.length > 0 && el("p", { class: "small" }, "keywords: ",
        quoted("bdi", "", keywords.join(", ")))),
    answer && answers.length > 0 && el("p", { class: "small" },
      el("mark", { class: "shared" }, "Underlined"), " words stand in both."));
}

const LONG = 3000; // characters of an answer that is scrolled in a box

function answerText(text, words) {
  const shown = quoted("p", "answer", text ? sharing(text, words) : "(empty)");
  if (text.length <= LONG) return shown;
  shown.classList.add("long");
  shown.tabIndex = 0;
  return shown;
}

/** The answers, where a question was answered several times. */
function samplesOf({ samples }) {
  if (samples.length < 2) return null;
  const differs = (number) => new Set(samples.map(({ scores: all }) => all[number].value)).size > 1;
  const numbers = index.metrics.map((_, number) => number).filter(differs);
  const rows = samples.map(({ answer, declined, scores: all }, at) => ({ cells: [
    String(at + 1),
    [quoted("span", "", answer ?? MISSING), declined && el("small", {}, "declined")],
    ...numbers.map((number) => score(all[number].value)),
  ] }));
  return titled("Each of its answers",
    table("cards words", ["Sample", "Answer", ...numbers.map((n) => index.metrics[n].name)], rows),
    samples.map(({ scores: all }, at) =>
      fold(`Sample ${at + 1}: scores and reasons`, () => scoresTable(all))));
}

function scoresOf({ scores: all }) {
  return titled("Scores and reasons", scoresTable(all));
}

/** Every score with its reason, and what judges said. */
function scoresTable(all) {
  const rows = index.metrics.map(({ name }, number) => {
    const { value, state, reason, verdicts } = all[number];
    return { cells: [
      name,
      value === null ? el("span", { class: "unknown" }, STATES[state] ?? MISSING)
        : el("b", { "data-value": value }, score(value)),
      [reason && quoted("span", "", reason),
        verdicts.length > 0 && fold(counted(verdicts.length, "verdict"), () => verdictsOf(verdicts))],
    ] };
  });
  return table("scores cards words", ["Metric", "Score", "Reason"], rows);
}

function verdictsOf(verdicts) {
  return el("ol", { class: "verdicts" }, verdicts.map(({ of, value, reason, replies }) =>
    el("li", {},
      el("p", {}, el("b", {}, value === null ? "no verdict" : String(value)), " ",
        quoted("bdi", "", of)),
      reason && quoted("p", "small", reason),
      replies.length > 0 && fold(replies.length > 1 ? "Raw replies" : "Raw reply",
        () => replies.map((reply) => quoted("pre", "", reply))))));
}

/** The same question as every cell answered it. */
async function elsewhere(question, current) {
  const cells = index.cells.map((_, cell) => cell);
  const all = await Promise.all(cells.map((cell) => record(cell, question)));
  const numbers = [index.by, index.second].filter((number) => number !== null);
  const rows = cells.map((cell) => ({
    class: cell === current && "current",
    cells: [named(cell), ...inCell(all[cell], numbers), cell === current
      ? el("span", { class: "unknown" }, "shown above")
      : el("button", { type: "button", click: () => setFocus(cell),
        "aria-label": `Look at it in this configuration: ${index.cells[cell].name}` },
      "Look at it")],
  }));
  const head = ["Configuration", ...numbers.map((n) => index.metrics[n].name), "Lost at", "Answer", "Look"];
  return titled("The same question in every configuration", table("elsewhere cards words", head, rows));
}

/** Scores, stage and answer of one cell's record. */
function inCell(recorded, numbers) {
  if (!recorded) return [...numbers.map(() => MISSING), chip(null), MISSING];
  const { scores: all, answer, declined, error } = recorded;
  const values = numbers.map((number) => {
    const { value, state } = all[number];
    return value === null ? el("span", { class: "unknown" }, STATES[state] ?? MISSING)
      : el("span", { "data-value": value }, score(value));
  });
  if (error)
    return [...values, chip("failed"),
      quoted("span", "clamped unknown", `${error.stage}: ${error.reason}`)];
  return [...values, chip(recorded.lost),
    [quoted("span", "clamped", answer ?? MISSING), declined && el("small", {}, "declined")]];
}
