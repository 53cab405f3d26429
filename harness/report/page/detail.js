// One question in one configuration, with all that was recorded of it.

/** Return the detail of a question as the cell answered it. */
async function detail(question, cell) {
  const [all, recorded] = await Promise.all([questions(), record(cell, question)]);
  const asked = {
    text: all.text[question],
    answers: all.answers[question],
    passages: all.passages[question],
    keywords: all.keywords[question],
    answerable: all.answerable[question],
    labels: [all.category[question], all.difficulty[question]].filter(Boolean),
  };
  if (!recorded) return el("p", { class: "unknown" }, "This configuration has no record of it.");
  return el("div", { class: "parts" },
    summary(recorded, asked, cell),
    compared(recorded, asked),
    samplesOf(recorded),
    recorded.hits.length + recorded.missed.length > 0
      ? ranking(recorded, asked.passages) : unnamed(recorded),
    contextOf(recorded, asked),
    scoresOf(recorded),
    index.cells.length > 1 && await elsewhere(question, cell),
    index.left_out?.length > 0 && el("p", { class: "small" }, "Left out, as this page would be too "
      + `large: ${index.left_out.join(", ")}. They are in records.jsonl.`));
}

function titled(title, ...content) {
  return el("section", { class: "part", "aria-label": title }, el("h3", {}, title), content);
}

/** The configuration, where the question was lost, and what it took. */
function summary(recorded, asked, cell) {
  return el("div", { class: "facts" },
    el("p", {}, "with ", named(cell), ...outcome(recorded, asked)),
    groupsOf(recorded, asked),
    el("p", { class: "small" }, [...asked.labels, spent(recorded)].filter(Boolean).join(" · ")),
    recorded.searched.length > 0 && el("p", { class: "small" }, "searched for: ",
      recorded.searched.map((text) => quoted("q", "", text))));
}

function outcome(recorded, { answerable, passages: gold }) {
  const { lost: stage, error, without, held, passages } = recorded;
  if (error) return [chip("failed"), ` at ${error.stage}: `, quoted("bdi", "", error.reason)];
  if (stage === "none") {
    const lucky = without ? ", though not all of its evidence was in the prompt" : "";
    return [chip(stage), lucky];
  }
  if (stage !== null) {
    const [only] = passages.length === 1 ? passages : [];
    const words = stage === "generation" ? "all evidence was in the prompt, and it was not answered"
      : only?.stage === stage ? only.said : "";
    const sentence = stage === "generation" && held
      ? [`; held the answer, at rank ${grouped(held.at + 1)}: `, quoted("q", "", held.text)] : null;
    return [el("span", {}, "lost at ", chip(stage)), words && `: ${words}`, sentence];
  }
  if (!answerable) return [el("span", {}, "the sources hold no answer to it: nothing to lose")];
  const why = !gold.length ? "no evidence is given, so nobody can say where it was lost"
    : passages.length ? "all evidence was in the prompt, and nothing says which answer is right"
      : "what was retrieved is not reported, so nobody can say where it was lost";
  return [el("span", {}, why)];
}

/** What became of each group of evidence, where there are several. */
function groupsOf({ passages }, { passages: gold }) {
  if (passages.length < 2) return null;
  const docs = (group) => [...new Set(gold.filter((each) => each.group === group).map(({ doc }) => doc))];
  return el("ul", { class: "groups" }, passages.map((passage) =>
    el("li", {}, "evidence in ", quoted("bdi", "", docs(passage.group).join(" or ")), ": ",
      passage.stage === null ? null : [chip(passage.stage), ", "],
      passage.said)));
}

/** Tokens, seconds and the model, as far as they are known. */
function spent({ usage, seconds: stages }) {
  const total = Object.values(stages).reduce((sum, value) => sum + value, 0);
  const each = Object.entries(stages).map(([stage, value]) => `${stage} ${seconds(value)}`);
  const said = [];
  if (usage && usage.in !== null) said.push(`${grouped(usage.in)} tokens in`);
  if (usage && usage.out !== null) said.push(`${grouped(usage.out)} out`);
  if (each.length) said.push(each.length > 1 ? `${seconds(total)} (${each.join(", ")})` : each[0]);
  if (usage?.model) said.push(usage.model);
  if (usage?.finish) said.push(`finished: ${usage.finish}`);
  return said.join(", ");
}

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
      scoreShown(value, state, "b"),
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
  const values = numbers.map((number) => scoreShown(all[number].value, all[number].state));
  if (error)
    return [...values, chip("failed"),
      quoted("span", "clamped unknown", `${error.stage}: ${error.reason}`)];
  return [...values, chip(recorded.lost),
    [quoted("span", "clamped", answer ?? MISSING), declined && el("small", {}, "declined")]];
}

/** The gold passages of one document, to mark in its texts. */
function goldIn(passages, doc) {
  return passages.filter((passage) => passage.doc === doc);
}

/** How many more relevant items were not retrieved than the record names; null where none. */
function unnamed({ missed, judged }) {
  const relevant = (grade) => isRelevant({ grade });
  const all = (judged?.inventory ?? []).filter(relevant).length;
  const found = (judged?.grades ?? []).filter(relevant).length;
  const named = missed.filter(isRelevant).length;
  const rest = all - found - named;
  if (rest <= 0) return null;
  const noun = `${named ? "more " : ""}relevant ${index.labels === "documents" ? "document" : "chunk"}`;
  return el("p", { class: "small unnamed" },
    `${counted(rest, noun)} ${rest === 1 ? "was" : "were"} not retrieved.`);
}

/** The context as it was sent, hit by hit, with the prompt around it. */
function contextOf(recorded, { passages }) {
  const { context, parts, prompt, held } = recorded;
  if (context === null && prompt === null) return null;
  const length = counted(characters(context ?? "").length, "character");
  return fold(`The prompt’s context (${length})`, () => [
    prompt?.[0] && quoted("p", "around", prompt[0]),
    parts.map(({ rank, hit, text }) => el("div", { class: "sent" },
      hit && el("p", { class: "about" }, `${rank} `, quoted("b", "", hit.doc),
        hit.prompt === "cut" && el("span", {}, "cut here by the budget")),
      quoted("p", "chunk", hit
        ? withHeld(text, hit.start, goldIn(passages, hit.doc), held?.at === rank - 1 ? held : null)
        : text))),
    prompt?.[1] && quoted("p", "around", prompt[1]),
  ].flat().filter(Boolean));
}

/** The text as `marked` shows it, with the sentence that held the answer underlined and named. */
function withHeld(text, docStart, spans, held) {
  const chars = characters(text);
  if (held === null || held.end > chars.length) return marked(text, docStart, spans);
  const part = (start, end) => marked(between(chars, start, end), docStart + start, spans);
  return [
    part(0, held.start),
    el("span", { class: "held" }, part(held.start, held.end)),
    el("span", { class: "held-said" }, " held the answer "),
    part(held.end, chars.length),
  ];
}
