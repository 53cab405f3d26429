// Which questions are listed: filters that combine, addresses that set them, and their form.

const EVERYTHING = Object.freeze({
  text: "", category: "", difficulty: "", lost: "", metric: index.by, from: null, to: null,
  disagree: false, ids: null, ten: false,
});

const TEN = Object.freeze({ ...EVERYTHING, ten: true });
const FAILED = -1;
const NO_LABEL = "\u0000none";
const APART = 0.5;

/** Return a text as a search reads it: without letter case and accents. */
function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** What every filter looks at, loaded once; a metric's scores and answers when they are needed. */
async function loaded() {
  const [all, by, second, stages] = await Promise.all([
    questions(), scores(index.by), index.second === null ? null : scores(index.second), lost(),
  ]);
  const count = all.id.length;
  const numbers = Array.from({ length: count }, (_, question) => question);
  const cells = index.cells.map((_, cell) => cell);
  const failed = (cell, question) => stages[cell][question] === FAILED;
  const spread = numbers.map((question) => {
    const values = cells.map((cell) => by.values[cell][question]).filter((value) => value !== null);
    return values.length ? Math.max(...values) - Math.min(...values) : null;
  });
  return {
    all, by, second, count, numbers, spread,
    failures: numbers.map((question) => cells.filter((cell) => failed(cell, question)).length),
    /** The stage that lost a question in a cell, `failed`, or null where nobody can say. */
    lostAt(cell, question) {
      if (failed(cell, question)) return "failed";
      const stage = stages[cell][question];
      return stage === null ? null : index.stages[stage];
    },
    disagree: (question) => spread[question] >= APART,
  };
}

const searchable = { asked: null, answers: new Map() };

/** Return the text that a search of a question looks through, with its answer in a cell. */
async function searched(known, cell) {
  const { all } = known;
  searchable.asked ??= known.numbers.map((question) => plain([
    all.id[question], all.text[question], ...all.answers[question],
    ...Object.keys(all.documents[question] ?? {}),
    ...all.passages[question].map(({ doc }) => doc),
  ].join("\n")));
  if (!searchable.answers.has(cell)) {
    const answers = await answersOf(cell);
    searchable.answers.set(cell, answers.map((answer) => plain(answer ?? "")));
  }
  const answers = searchable.answers.get(cell);
  return (question) => `${searchable.asked[question]}\n${answers[question]}`;
}

/** Return the numbers of the questions that a filter leaves, as the cell in focus sees them. */
async function chosen(filter, known, cell) {
  const { all } = known;
  const tests = [];
  const label = (wanted, labels) => (question) =>
    wanted === NO_LABEL ? labels[question] === null : labels[question] === wanted;
  if (filter.category) tests.push(label(filter.category, all.category));
  if (filter.difficulty) tests.push(label(filter.difficulty, all.difficulty));
  if (filter.lost === "anywhere") tests.push((question) => known.failures[question] > 0);
  else if (filter.lost) tests.push((question) => known.lostAt(cell, question) === filter.lost);
  if (filter.disagree) tests.push(known.disagree);
  if (filter.from !== null || filter.to !== null) {
    const { values } = await scores(filter.metric);
    const [from, to] = [filter.from ?? -Infinity, filter.to ?? Infinity];
    tests.push((question) => {
      const value = values[cell][question];
      return value !== null && value >= from && value <= to;
    });
  }
  const wanted = plain(filter.text).split(/\s+/).filter(Boolean);
  if (wanted.length) {
    const text = await searched(known, cell);
    tests.push((question) => {
      const within = text(question);
      return wanted.every((word) => within.includes(word));
    });
  }
  const among = filter.ten ? index.ten : filter.ids ?? known.numbers;
  return among.filter((question) => tests.every((test) => test(question)));
}

/** Return an id without the halves of characters that no address can hold. */
function wellFormed(id) {
  return id.replace(/\p{Surrogate}/gu, "\ufffd");
}

/** Return the number of the question that `#q-ID` names, or null. */
function questionOf(address, known) {
  if (!address.startsWith("#q-")) return null;
  const wanted = decoded(address.slice(3));
  const at = known.all.id.findIndex((id) => wellFormed(id) === wanted);
  return at < 0 ? null : at;
}

function addressOf(question, known) {
  return `#q-${encodeURIComponent(wellFormed(known.all.id[question]))}`;
}

/**
 * Return the filter and the cell that `#questions?lost=retrieval&cell=3` asks for, or null.
 * `ten=1` asks for those to read first; `ids`, or `evidence=1`, for only some questions.
 */
function askedFor(address, known) {
  const [section, asked] = address.split(/\?(.*)/s);
  if (section !== "#questions" || !asked) return null;
  const given = Object.fromEntries(asked.split("&").map((pair) => pair.split(/=(.*)/s)));
  if (given.ten === "1") return { filter: TEN, cell: BEST };
  const filter = { ...EVERYTHING };
  for (const name of ["text", "category", "difficulty"]) filter[name] = decoded(given[name] ?? "");
  if ([...index.stages, "failed", "anywhere"].includes(given.lost)) filter.lost = given.lost;
  filter.disagree = given.disagree === "1";
  if (given.ids) {
    const ids = new Set(given.ids.split(",").map(decoded));
    filter.ids = known.numbers.filter((question) => ids.has(known.all.id[question]));
  } else if (given.evidence === "1") {
    const { answerable, passages } = known.all;
    filter.ids = known.numbers.filter((at) => answerable[at] && passages[at].length > 0);
  }
  return { filter, cell: given.cell === undefined ? null : Number(given.cell) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}

const LOST_ALSO = [["failed", "failed"], ["anywhere", "failed anywhere"]];
const PAUSE = 80; // ms without a key before a search begins

/**
 * Make the buttons and the form. `apply(filter)` is called with the filter that is asked for;
 * the returned `show(filter)` sets what is displayed.
 */
function controls(known, apply) {
  const asked = { filter: EVERYTHING };
  const inputs = {
    text: el("input", { type: "search", autocomplete: "off", spellcheck: "false" }),
    category: labelSelect(known.all.category),
    difficulty: labelSelect(known.all.difficulty),
    lost: optionSelect([["", "any"], ...index.stages.map((s) => [s, stageWord(s)]), ...LOST_ALSO]),
    metric: optionSelect(index.metrics.flatMap(({ name, kind }, number) =>
      kind === "descriptive" ? [] : [[number, name]]), "metric"),
    from: boundInput("from"),
    to: boundInput("to"),
    disagree: el("input", { type: "checkbox" }),
  };
  const presets = presetButtons(known, apply);
  const several = index.cells.length > 1;
  const form = el("form", { class: "filters", role: "search", submit: (event) => event.preventDefault() },
    field("Search question, answer or document", inputs.text, "wide"),
    known.all.category.some(Boolean) && field("Category", inputs.category),
    known.all.difficulty.some(Boolean) && field("Difficulty", inputs.difficulty),
    several && field("Configuration", focusSelect()),
    field("Lost at", inputs.lost),
    el("div", { class: "field range", role: "group", "aria-label": "Score" },
      el("label", {}, el("span", {}, "Score of"), inputs.metric),
      el("span", { class: "bounds" }, inputs.from, "–", inputs.to)),
    several && el("label", { class: "check" }, inputs.disagree, " configurations disagree"),
    el("button", { type: "button", click: () => apply(EVERYTHING) }, "Clear"));

  let pause;
  form.addEventListener("input", ({ target }) => {
    if (!Object.values(inputs).includes(target)) return;
    clearTimeout(pause);
    const values = () => Object.entries(inputs).map(([name, input]) => [name, valueOf(input)]);
    const change = () => apply({ ...asked.filter, ten: false, ...Object.fromEntries(values()) });
    pause = setTimeout(change, target.type === "search" ? PAUSE : 0);
  });

  function show(filter) {
    asked.filter = filter;
    for (const [name, input] of Object.entries(inputs))
      if (input.type === "checkbox") input.checked = filter[name];
      else if (input.type.startsWith("select") || input !== document.activeElement)
        input.value = filter[name] ?? "";
    presets.show(filter);
  }
  return { parts: [presets.part, form], show };
}

/** What an input of the form asks for: null where a bound is not given. */
function valueOf({ type, value, valueAsNumber, checked, name }) {
  if (type === "checkbox") return checked;
  if (type === "number") return Number.isNaN(valueAsNumber) ? null : valueAsNumber;
  return name === "metric" ? Number(value) : value;
}

/** The buttons that stand for the filters most asked for. */
function presetButtons(known, apply) {
  const disagreeing = known.numbers.filter(known.disagree).length;
  const failures = known.failures.filter(Boolean).length;
  const offered = [
    [index.ten.length === 10 ? "Ten to read" : `${index.ten.length} to read`, TEN, index.ten.length],
    [`Configurations disagree (${grouped(disagreeing)})`, { ...EVERYTHING, disagree: true }, disagreeing],
    [`Failed (${grouped(failures)})`, { ...EVERYTHING, lost: "anywhere" }, failures],
    [`All ${grouped(known.count)}`, EVERYTHING, known.count],
  ];
  const buttons = offered.map(([text, filter, count]) =>
    el("button", { type: "button", disabled: count === 0, click: () => apply(filter) }, text));
  const same = (one, other) => Object.keys(EVERYTHING).every((name) => one[name] === other[name]);
  return {
    part: el("div", { class: "presets", role: "group", "aria-label": "Questions to show" }, buttons),
    show(filter) {
      buttons.forEach((button, at) => {
        button.setAttribute("aria-pressed", String(same(offered[at][1], filter)));
      });
    },
  };
}

function field(text, input, className = "") {
  return el("label", { class: `field ${className}`.trim() }, el("span", {}, text), input);
}

function boundInput(which) {
  return el("input", { type: "number", min: 0, max: 1, step: "any", placeholder: which,
    "aria-label": `score ${which}` });
}

function optionSelect(options, name = null) {
  return el("select", { name }, options.map(([value, text]) => el("option", { value }, text)));
}

/** A select of the labels that questions have, those without one last. */
function labelSelect(labels) {
  const found = [...new Set(labels.filter((label) => label !== null))].sort();
  const none = labels.includes(null) && found.length ? [[NO_LABEL, "none"]] : [];
  return optionSelect([["", "all"], ...found.map((label) => [label, label]), ...none]);
}
