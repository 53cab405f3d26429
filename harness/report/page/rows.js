// The columns of the table of questions: what each shows and how it sorts.

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

function scoreCell({ values, states }, question) {
  const value = values[focus.cell][question];
  const state = STATES[states[focus.cell][question]];
  if (value === null) return el("span", { class: "unknown" }, state ?? MISSING);
  return [el("span", { class: "value" }, score(value)), meter(value, focus.cell)];
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
