// The form above the questions: it shows a filter, and calls back with the one that is asked for.

const LOST_ALSO = [["failed", "failed"], ["anywhere", "failed anywhere"]];
const PAUSE = 80; // ms without a key before a search begins

/**
 * Make the buttons and the form. `apply(filter)` is called with the filter that is asked for;
 * the returned `show(filter)` sets what is displayed.
 */
function controls(known, apply) {
  const asked = { filter: EVERYTHING };
  const change = (part) => apply({ ...asked.filter, ten: false, ...part });
  const inputs = {
    text: el("input", { type: "search", autocomplete: "off", spellcheck: "false" }),
    category: labelSelect(known.all.category),
    difficulty: labelSelect(known.all.difficulty),
    lost: optionSelect([["", "any"], ...index.stages.map((s) => [s, stageWord(s)]), ...LOST_ALSO]),
    metric: optionSelect(index.metrics.flatMap(({ name, kind }, number) =>
      kind === "descriptive" ? [] : [[number, name]])),
    from: boundInput("from"),
    to: boundInput("to"),
    disagree: el("input", { type: "checkbox" }),
  };
  let pause;
  inputs.text.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => change({ text: inputs.text.value }), PAUSE);
  });
  for (const name of ["category", "difficulty", "lost"])
    inputs[name].addEventListener("change", () => change({ [name]: inputs[name].value }));
  inputs.metric.addEventListener("change", () => change({ metric: Number(inputs.metric.value) }));
  const bound = ({ value, valueAsNumber }) =>
    value === "" || Number.isNaN(valueAsNumber) ? null : valueAsNumber;
  for (const name of ["from", "to"])
    inputs[name].addEventListener("input", () => change({ [name]: bound(inputs[name]) }));
  inputs.disagree.addEventListener("change", () => change({ disagree: inputs.disagree.checked }));

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

  function show(filter) {
    asked.filter = filter;
    for (const name of ["category", "difficulty", "lost", "metric"])
      inputs[name].value = filter[name];
    for (const name of ["text", "from", "to"])
      if (inputs[name] !== document.activeElement) inputs[name].value = filter[name] ?? "";
    inputs.disagree.checked = filter.disagree;
    presets.show(filter);
  }
  return { parts: [presets.part, form], show };
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

function optionSelect(options) {
  return el("select", {}, options.map(([value, text]) => el("option", { value }, text)));
}

/** A select of the labels that questions have, those without one last. */
function labelSelect(labels) {
  const found = [...new Set(labels.filter((label) => label !== null))].sort();
  const none = labels.includes(null) && found.length ? [[NO_LABEL, "none"]] : [];
  return optionSelect([["", "all"], ...found.map((label) => [label, label]), ...none]);
}
