// What a question's evidence met: the chunks that were missed, and the context of the prompt.

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
  const { context, prompt, held } = recorded;
  if (context === null && prompt === null) return null;
  const length = counted(characters(context ?? "").length, "character");
  return fold(`The prompt’s context (${length})`, () => [
    prompt?.[0] && quoted("p", "around", prompt[0]),
    partsOf(recorded).map(({ rank, hit, text }) => el("div", { class: "sent" },
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

const GAP = "\n\n";

/** Divide a context among the hits it was put together from; undivided where it was not. */
function partsOf({ context, hits }) {
  const parts = [];
  let rest = context ?? "";
  for (const [at, hit] of hits.entries()) {
    if (!hit.prompt || !rest) continue;
    const text = hit.prompt === "cut" ? rest : hit.text;
    if (!rest.startsWith(text) || !hit.text.startsWith(text))
      return [{ text: context }];
    parts.push({ rank: at + 1, hit, text });
    rest = rest.slice(text.length);
    if (rest.startsWith(GAP)) rest = rest.slice(GAP.length);
  }
  return rest || !parts.length ? [{ text: context ?? "" }] : parts;
}
