// Small drawings: the mark of a cell, the square of a stage, bars and strips of dots.

const disc = (x, y, r) => `M${x - r},${y}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0Z`;
const diamond = (x, y, r) => `M${x},${y - r - 1}l${r + 1},${r + 1}l${-r - 1},${r + 1}l${-r - 1},${-r - 1}Z`;
const box = (x, y, r) => `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`;
const OUTLINES = [disc, disc, diamond, box];

/** The outline of a cell's mark, `r` wide each way from its middle. */
function outline(cell, x, y, r) {
  return OUTLINES[index.cells[cell].shape](x, y, r);
}

/** The classes that give a cell's colour and say whether its mark is hollow. */
function look(cell) {
  const { hue, shape } = index.cells[cell];
  return `hue-${hue} shape-${shape}`;
}

/** The mark that stands before a cell's name. */
function mark(cell) {
  return svg("svg", { class: `mark ${look(cell)}`, viewBox: "-6 -6 12 12", "aria-hidden": "true" },
    svg("path", { d: outline(cell, 0, 0, 4) }));
}

/** A cell's name behind its mark. */
function named(cell) {
  return el("span", { class: "named" }, mark(cell), el("span", {}, index.cells[cell].name));
}

/** A stage, or `failed`, as a square and its word. */
function chip(stage) {
  if (stage === null) return el("span", { class: "unknown" }, MISSING);
  return el("span", { class: "stage" },
    el("span", { class: `chip stage-${stage}` }), stageWord(stage));
}

/** What a stage is called: `none` is an answer, or evidence delivered where nothing answers. */
function stageWord(stage) {
  return stage === "none" ? index.kept : stage;
}

/** A value of 0 to 1 as a bar in the colour of a cell. */
function meter(value, cell) {
  const width = `${100 * Math.min(Math.max(value ?? 0, 0), 1)}%`;
  return svg("svg", { class: `meter hue-${index.cells[cell].hue}`, "aria-hidden": "true" },
    svg("rect", { width: "100%", height: "100%", class: "track" }),
    svg("rect", { width, height: "100%" }));
}

const STRIP = { width: 116, height: 36, left: 8, right: 108, floor: 32, small: 2, large: 4.5 };

/** The values of all cells as dots on a line from 0 to 1; the focus is large, others stand above. */
function dots(values, focused) {
  const { left, right, floor, small, large, width, height } = STRIP;
  const place = (value) => left + Math.min(Math.max(value, 0), 1) * (right - left);
  const step = 2 * small + 1.5;
  const piles = new Map();
  values.forEach((value, cell) => {
    if (value === null || cell === focused) return;
    const slot = Math.round(place(value) / step);
    piles.set(slot, [...(piles.get(slot) ?? []), cell]);
  });
  const own = values[focused];
  const drawn = new Map();
  const draw = (cell, y, r) => {
    const x = Math.round(10 * place(values[cell])) / 10;
    drawn.set(look(cell), (drawn.get(look(cell)) ?? "") + outline(cell, x, y, r));
  };
  for (const cells of piles.values()) {
    const near = own !== null && Math.abs(place(own) - place(values[cells[0]])) < large + small + 1;
    const first = floor - (near ? 2 * large + small + 1.5 : small + 1.5);
    const rise = Math.min(step, (first - small - 1) / Math.max(cells.length - 1, 1));
    cells.forEach((cell, at) => draw(cell, Math.round(10 * (first - at * rise)) / 10, small));
  }
  if (own !== null) draw(focused, floor - large, large);
  const known = values.filter((value) => value !== null);
  const range = known.length ? `${score(Math.min(...known))} to ${score(Math.max(...known))}` : MISSING;
  return svg("svg", {
    class: "dots", role: "img", viewBox: `0 0 ${width} ${height}`,
    "aria-label": `${score(own)} here; all configurations: ${range}`,
  },
  svg("line", { x1: left, x2: right, y1: floor, y2: floor }),
  [...drawn].map(([className, d]) => svg("path", { class: `dot ${className}`, d })));
}
