// The table of questions: filtered, sorted, and opened in place.

/** Return the columns: key, heading, what a question's cell holds, and what it sorts by. */
function columnsOf(known) {
  const { all } = known;
  const metric = (number, key, scored) => number === null ? [] : [{
    key, title: index.metrics[number].name, className: "scored",
    value: (question) => scored.values[focus.cell][question],
    fill: (question) => scoreCell(scored, question),
  }];
  const order = [...index.stages, "failed"];
  const strips = index.cells.length > 1 ? [{
    key: "spread", title: "All configurations", className: "strip", first: "down",
    value: (question) => known.spread[question],
    fill: (question) => dots(known.by.values.map((values) => values[question]), focus.cell),
  }] : [];
  return [
    { key: "question", title: "Question", value: (question) => question },
    ...(all.category.some(Boolean) ? [{
      key: "category", title: "Category", className: "category",
      value: (question) => all.category[question],
      fill: (question) => all.category[question] ?? MISSING,
    }] : []),
    ...metric(index.by, "by", known.by),
    ...metric(index.second, "second", known.second),
    {
      key: "lost", title: "Lost at", className: "lost",
      value(question) {
        const at = order.indexOf(known.lostAt(focus.cell, question));
        return at < 0 ? null : at;
      },
      fill: (question) => lostCell(known, question),
    },
    ...strips,
  ].map((column) => ({ ...column, all }));
}

const STATES = { n: "not scored", f: "failed", m: "metric failed" };

/** A score, or why there is none. */
function scoreShown(value, state, tag = "span") {
  if (value === null) return el("span", { class: "unknown" }, STATES[state] ?? MISSING);
  return el(tag, { class: "value", "data-value": value }, score(value));
}

function scoreCell({ values, states }, question) {
  const value = values[focus.cell][question];
  const shown = scoreShown(value, states[focus.cell][question]);
  return value === null ? shown : [shown, meter(value, focus.cell)];
}

function lostCell(known, question) {
  const stage = known.lostAt(focus.cell, question);
  const elsewhere = known.failures[question] - (stage === "failed" ? 1 : 0);
  return [chip(stage), elsewhere > 0 && el("small", {}, `failed in ${grouped(elsewhere)} ${
    stage === "failed" ? "more" : elsewhere === 1 ? "other" : "others"}`)];
}

/** A heading that sorts. */
function heading(column, sort) {
  const node = el("th", { scope: "col", role: "columnheader", class: column.className },
    el("button", { type: "button", click: sort }, column.title));
  return { node, column };
}

/** One question's row; its first cell holds the button that opens it. */
function questionRow(question, columns, open, toggle) {
  const [{ all }, ...others] = columns;
  const button = el("button", {
    type: "button", class: "asked", "aria-expanded": String(open), "data-question": question,
    "aria-controls": open && `detail-${question}`, click: toggle,
  }, quoted("span", "", all.text[question]));
  const cells = others.map(({ fill, value, title, className }) =>
    el("td", { role: "cell", class: className, "data-label": title, "data-value": value(question) },
      fill(question)));
  return el("tr", { role: "row", class: `question${open ? " open" : ""}` },
    el("th", { scope: "row", role: "rowheader" },
      el("span", { class: "id" }, all.id[question]), button),
    cells);
}

/** Return questions sorted by a column; those without a value come last either way. */
function sorted(list, { sort, down }, known) {
  const column = sort && columnsOf(known).find(({ key }) => key === sort);
  if (!column) return list;
  const keyed = list.map((question) => [column.value(question), question]);
  const missing = ([value]) => value === null;
  const sign = down ? -1 : 1;
  const compare = ([a, i], [b, j]) => (a < b ? -sign : a > b ? sign : i - j);
  return [...keyed.filter((pair) => !missing(pair)).sort(compare), ...keyed.filter(missing)]
    .map(([, question]) => question);
}

const ROWS_AT_ONCE = 50;

/** Fill the section of questions. */
async function browse(root) {
  const known = await loaded();
  const state = { filter: TEN, sort: null, down: false, shown: ROWS_AT_ONCE, list: [], open: null };
  const count = el("p", { class: "count", role: "status" });
  const hint = el("p", { class: "hint" });
  const columns = columnsOf(known);
  const body = el("tbody", { role: "rowgroup" });
  const headings = columns.map((column) => heading(column, () => sortBy(column)));
  const more = el("button", { type: "button", class: "more", click: showMore });
  const form = controls(known, ask);
  const unlink = el("button", { type: "button", class: "unlink",
    click: () => ask({ ...state.filter, ids: null }) }, "Not only these");
  let turn = 0;

  /** Ask for other questions than the address names, if it names any. */
  function ask(filter) {
    if (location.hash.startsWith("#questions?")) history.replaceState(null, "", "#questions");
    return update({ filter, shown: ROWS_AT_ONCE });
  }

  /** Change what is asked for, and show it unless something else was asked for meanwhile. */
  async function update(part = {}) {
    Object.assign(state, part);
    form.show(state.filter);
    const mine = (turn += 1);
    await saying(count, async () => {
      const list = await chosen(state.filter, known, focus.cell);
      if (mine === turn) show(sorted(list, state, known));
    });
  }

  function show(list) {
    state.list = list;
    const { ids } = state.filter;
    const among = ids === null ? "" : `, among the ${ids.length === 1 ? "one" : grouped(ids.length)} linked`;
    const found = `${grouped(list.length)} of ${counted(known.count, "question")}${among}`;
    count.textContent = `${found}, scores for ${unturned(index.cells[focus.cell].name)}`;
    unlink.hidden = ids === null;
    hint.textContent = `dots: ${index.metrics[index.by].name} of each configuration from 0 to 1; `
      + "the large one is in focus";
    for (const { node, column } of headings)
      node.ariaSort = state.sort === column.key ? (state.down ? "descending" : "ascending") : "none";
    const kept = state.open !== null && list.indexOf(state.open.question);
    if (state.open && kept < 0) forget("replace");
    else if (state.open) state.shown = Math.max(state.shown, kept + 1);
    const visible = list.slice(0, state.shown);
    body.replaceChildren(...visible.flatMap((question) => rowsOf(question)));
    more.hidden = visible.length === list.length;
    more.textContent = `Show ${Math.min(ROWS_AT_ONCE, list.length - visible.length)} more`;
  }

  function rowsOf(question) {
    const open = state.open?.question === question;
    const lead = questionRow(question, columns, open, () => (open ? close() : reveal(question)));
    return open ? [lead, state.open.row] : [lead];
  }

  function showMore() {
    const first = state.shown;
    state.shown += ROWS_AT_ONCE;
    show(state.list);
    body.querySelectorAll("button.asked")[first]?.focus();
  }

  function sortBy({ key, first }) {
    if (state.sort === key) state.down = !state.down;
    else Object.assign(state, { sort: key, down: first === "down" });
    show(sorted(state.list, state, known));
  }

  /** Open a question where it stands, and give the page its address. */
  function reveal(question) {
    history.pushState(null, "", addressOf(question, known));
    steadily(question, () => setOpen(question));
  }

  function setOpen(question) {
    const box = el("div", { class: "detail", role: "region", tabindex: -1,
      "aria-label": `Question ${known.all.id[question]} in detail` });
    const cell = el("td", { role: "cell", colspan: columns.length, id: `detail-${question}` }, box);
    const row = el("tr", { role: "row", class: "opened" }, cell);
    state.open = { question, box, row };
    show(state.list);
    return fill();
  }

  async function fill() {
    const { question, box } = state.open;
    const cell = focus.cell;
    box.setAttribute("aria-busy", "true");
    await saying(box, async () => {
      const content = await detail(question, cell);
      if (state.open?.box === box && focus.cell === cell) box.replaceChildren(closer(), content);
    });
    box.removeAttribute("aria-busy");
  }

  function closer() {
    return el("button", { type: "button", class: "close", click: close }, "Close");
  }

  function close() {
    const { question } = state.open;
    forget("push");
    steadily(question, () => show(state.list));
    buttonOf(question)?.focus({ preventScroll: true });
  }

  function forget(how) {
    state.open = null;
    if (location.hash.startsWith("#q-")) history[`${how}State`](null, "", "#questions");
  }

  function buttonOf(question) {
    return body.querySelector(`button.asked[data-question="${question}"]`);
  }

  /** Change the rows while a question's row stays where it is on the screen. */
  function steadily(question, change) {
    const held = document.activeElement === buttonOf(question);
    const top = buttonOf(question)?.getBoundingClientRect().top;
    change();
    const button = buttonOf(question);
    if (!button || top === undefined) return;
    scrollBy({ top: button.getBoundingClientRect().top - top, behavior: "instant" });
    if (held) button.focus({ preventScroll: true });
  }

  /** Do what the address says: a question, a filter, or neither. */
  async function follow() {
    const question = questionOf(location.hash, known);
    const asked = askedFor(location.hash, known);
    if (question !== null) {
      if (state.open?.question === question) return;
      state.open = null;
      const near = state.list.slice(0, state.shown).includes(question);
      if (!near) await update({ filter: { ...EVERYTHING, ids: [question] }, shown: ROWS_AT_ONCE });
      setOpen(question);
      buttonOf(question)?.closest("tr").scrollIntoView({ block: "start" });
    } else if (asked) {
      state.open = null;
      setFocus(asked.cell);
      await update({ filter: asked.filter, shown: ROWS_AT_ONCE });
      (root.closest("section") ?? root).scrollIntoView({ block: "start" });
    } else if (state.open) {
      state.open = null;
      show(state.list);
    }
  }

  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr.question");
    if (row && !event.target.closest("button, a") && getSelection().isCollapsed)
      row.querySelector("button.asked").click();
  });
  body.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented && state.open) close();
  });
  onFocus(async () => {
    const within = state.open?.box.contains(document.activeElement);
    await update();
    if (!state.open) return;
    await fill();
    if (!within || !state.open) return;
    state.open.box.focus({ preventScroll: true });
    buttonOf(state.open.question)?.closest("tr").scrollIntoView({ block: "start" });
  });
  addEventListener("popstate", follow);
  root.replaceChildren(...form.parts, el("div", { class: "said" }, count, unlink, hint),
    el("table", { class: "questions", role: "table", "aria-label": "Questions" },
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, headings.map(({ node }) => node))),
      body),
    more);
  await update();
  await follow();
}

/** Do something; where that fails, say so in place. */
async function saying(place, something) {
  try {
    await something();
  } catch (error) {
    place.replaceChildren(el("span", { class: "warning" },
      `This cannot be shown. ${error.message} records.jsonl beside the report holds the same.`));
  }
}
