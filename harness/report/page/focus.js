// The configuration in focus: one for the whole page.

const BEST = Math.max(index.cells.findIndex((cell) => cell.best), 0);
const focus = { cell: BEST, watchers: [] };

/** Call `watcher(cell)` whenever another cell comes into focus. */
function onFocus(watcher) {
  focus.watchers.push(watcher);
}

/** Bring a cell into focus, in every section. */
function setFocus(cell) {
  if (cell === focus.cell || !index.cells[cell]) return;
  focus.cell = cell;
  showFocus();
  for (const watcher of focus.watchers) watcher(cell);
}

/** Show what is about the cell in focus, hide what is about another, set every select to it. */
function showFocus() {
  for (const part of document.querySelectorAll("[data-cell]"))
    part.hidden = Number(part.dataset.cell) !== focus.cell;
  for (const select of document.querySelectorAll("select.focus")) select.value = focus.cell;
}

/** A select of the configurations. */
function focusSelect() {
  const select = el("select", { class: "focus" }, index.cells.map(({ name, best, baseline }, cell) => {
    const remark = best ? " (best)" : baseline ? " (baseline)" : "";
    return el("option", { value: cell }, `${name}${remark}`);
  }));
  select.value = focus.cell;
  return select;
}
