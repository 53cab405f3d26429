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
      ? ranking(recorded, cell, question) : unnamed(recorded),
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
      : "what was retrieved is not told, so nobody can say where it was lost";
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
