// What the keys do, and which row they are about.

const TOP = { top: 0, behavior: "instant" };

let last = null; // the row that had the focus last

function rows() {
  return [...parts.item.querySelectorAll(".row")];
}

function focusRow(row) {
  last = row;
  (row.querySelector("input:checked") ?? row.querySelector("input")).focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest", behavior: "instant" });
}

/** Put the focus on the first open row; at the first of all the question stays in sight. */
function focusFirst() {
  const all = rows();
  const first = all.find((row) => !row.classList.contains("rated")) ?? all[0];
  focusRow(first);
  if (first === all[0]) scrollTo(TOP);
}

/** The row that the keys are about: that with the focus, or where it was when it has been lost. */
function current() {
  const active = document.activeElement;
  return active === document.body ? last : active.closest(".row");
}

function move(step) {
  const all = rows();
  const row = current();
  if (row === null) focusRow(step > 0 ? all[0] : all.at(-1));
  else if (row === all.at(-1) && step > 0) focusNext();
  else focusRow(all[Math.max(0, all.indexOf(row) + step)]);
}

function focusNext() {
  last = null;
  document.getElementById("next").focus();
}

function rate(grade) {
  const row = current();
  if (row === null) return;
  row.rate(grade);
  if (grade === null) focusRow(row);
  else if (row === rows().at(-1)) focusNext();
  else focusRow(rows()[rows().indexOf(row) + 1]);
}

const ON_ITEMS = {
  j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
  0: () => rate(0), 1: () => rate(1), 2: () => rate(2), 3: () => rate(3), x: () => rate(null),
  c: () => document.getElementById("comment").focus(),
  e: () => (current() ?? parts.item.querySelector(".answer")).querySelector(".all")?.click(),
};
const ANYWHERE = {
  n: () => show(at + 1), p: () => show(at - 1), u: () => show(nextOpen()), s: save,
  "?": () => parts.help.showModal(),
};

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || parts.help.open) return;
  if (event.target.matches("textarea, #name")) {
    if (event.key === "Escape") leave(event.target);
    return;
  }
  const onItem = ratings !== null && !parts.item.hidden;
  const does = (onItem ? ON_ITEMS[event.key] : undefined)
    ?? (ratings !== null || event.key === "?" ? ANYWHERE[event.key] : undefined);
  if (does === undefined) return;
  event.preventDefault();
  does();
}

function leave(field) {
  field.blur();
  if (!parts.item.hidden) focusRow(last ?? rows().at(-1));
}
