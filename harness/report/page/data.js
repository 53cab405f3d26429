// Data: the run as the page holds it, unpacked when something asks for it.

const { index, questions, scores, lost, answersOf, record } = (() => {
  const index = JSON.parse(document.getElementById("index").textContent);

  const kept = new Map();

  function part(name) {
    if (!kept.has(name)) kept.set(name, unpacked(name));
    return kept.get(name);
  }

  async function unpacked(name) {
    if (typeof DecompressionStream === "undefined") {
      throw new Error(
        "This browser cannot unpack the questions: DecompressionStream is missing. " +
          "A browser of 2023 or later shows them; report.md and records.jsonl hold them too.",
      );
    }
    const element = document.getElementById(`part-${name}`);
    if (element === null) throw new Error(`This page lacks its part ${name}: it is damaged.`);
    const coded = atob(element.textContent);
    const bytes = new Uint8Array(coded.length);
    for (let at = 0; at < coded.length; at += 1) bytes[at] = coded.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  const questions = () => part("questions");
  const scores = (metric) => part(`scores-${metric}`);
  const lost = () => part("lost");
  const answersOf = (cell) => part(`answers-${cell}`);

  // A chunk of a document, by its number: its place and its text.
  async function chunk(number) {
    if (number === null) return { doc: "", start: 0, end: 0, text: "" };
    const page = index.spans.findLastIndex((first) => first <= number);
    const texts = await part(`texts-${page}`);
    const at = number - index.spans[page];
    const [doc, text] = [texts.doc[at], texts.text[at]];
    return { doc, start: texts.start[at], end: texts.end[at], text };
  }

  async function record(cell, question) {
    const number = Math.floor(question / index.per_page);
    const [page, answers, ...all] = await Promise.all([
      part(`records-${number}`),
      answersOf(cell),
      ...index.metrics.map((_, metric) => scores(metric)),
    ]);
    const at = question - number * index.per_page;
    const row = page.rows[at][cell];
    if (row < 0) return null;
    const columns = Object.entries(page.columns);
    const said = Object.fromEntries(columns.map(([name, values]) => [name, values[row]]));
    const hits = await hitsOf(said);
    const parts = contextParts(hits, said.context);
    const missed = said.missed.map(async ({ chunk: number, ...rest }) =>
      ({ ...(await chunk(number)), ...rest }));
    return {
      ...said,
      hits,
      missed: await Promise.all(missed),
      parts,
      context: said.context && parts.map(({ text }) => text).join("\n\n"),
      answer: answers[question],
      scores: all.map(({ values, states }, metric) => ({
        value: values[cell][question], state: states[cell][question],
        reason: said[`reason-${metric}`], verdicts: said[`verdicts-${metric}`],
      })),
      held: heldIn(hits, said.held),
    };
  }

  function hitsOf({ hits, similarities, hitGrades: grades, before }) {
    const falling = risen(similarities);
    return Promise.all(hits.map(async (number, at) => ({
      ...(await chunk(number)), score: falling[at], grade: grades[at], prompt: "",
      before: before?.[at] ?? null,
    })));
  }

  // Undo what page_packing.py's `encode_differences` does.
  function risen([decimals, ...drops]) {
    let at = 0;
    return drops.map((drop) => (at -= drop) / 10 ** decimals);
  }

  // The sentence that held the answer: in which hit, where in its text, and what it says.
  function heldIn(hits, held) {
    if (held === null) return null;
    const [at, start, end] = held;
    return { at, start, end, text: between(characters(hits[at].text), start, end) };
  }

  // The context in the parts that it was put together from; notes in each hit how much is there.
  function contextParts(hits, context) {
    if (context === null) return [];
    if (typeof context === "string") {
      for (const hit of hits) hit.prompt = hit.text && context.includes(hit.text) ? "whole" : "";
      return [{ text: context }];
    }
    const [count, length] = context;
    const parts = hits.slice(0, count).map((hit, at) => ({ rank: at + 1, hit, text: hit.text }));
    for (const { hit } of parts) hit.prompt = "whole";
    const last = parts.at(-1);
    if (!last) return [];
    last.text = between(characters(last.text), 0, length);
    if (last.hit.text.slice(last.text.length).trim()) last.hit.prompt = "cut";
    return parts;
  }

  return { index, questions, scores, lost, answersOf, record };
})();
