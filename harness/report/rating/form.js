// The form as a whole: which item is shown, and how far one is.

const parts = Object.fromEntries([
  "start", "item", "end", "who", "name", "load", "loaded", "notice", "said", "keys", "help",
  "asked", "bar", "progress", "save", "to-start", "to-help",
].map((id) => [id, document.getElementById(id)]));
const START = -1;

let ratings = null; // of the rater that was chosen; null: none yet
let at = START; // the number of the item shown; as many as there are items: the end

function say(text) {
  parts.said.textContent = text;
}

function ratingAt(number) {
  return ratings.given.get(ratings.items[number].id);
}

function completed() {
  return ratings.items.filter((_, number) => stateOf(ratingAt(number)) === "complete").length;
}

/** Note a change: keep it, and show how far one is. */
function changed(what) {
  ratings.saved = "";
  keepRatings(ratings);
  showProgress();
  showLeft();
  const open = openOf(ratingAt(at)).length;
  if (what) say(`${what} ${open > 0 ? `${open} left in this item.` : "This item is complete."}`);
}

function showProgress() {
  const total = ratings === null ? 0 : ratings.items.length;
  const done = ratings === null ? 0 : completed();
  parts.bar.max = Math.max(total, 1);
  parts.bar.value = done;
  parts.progress.textContent = ratings === null ? "" : `${done} of ${total}`;
  parts.save.disabled = ratings === null;
  parts["to-start"].hidden = at === START;
  parts.notice.hidden = !refused;
  if (refused && parts.notice.textContent !== REFUSED) parts.notice.textContent = REFUSED;
}

/** Say what is open in this item, and mark in the list of items which are complete. */
function showLeft() {
  const left = document.getElementById("left");
  if (left !== null) {
    const open = openOf(ratingAt(at));
    left.textContent = open.length > 0 ? `Left in this item: ${open.join(", ")}` : "This item is complete.";
  }
  document.querySelectorAll("#items button").forEach((button, number) => {
    const state = stateOf(ratingAt(number));
    button.className = state;
    button.ariaLabel = `Item ${number + 1}, ${state}`;
    button.ariaCurrent = number === at ? "true" : null;
  });
}

function listOfItems() {
  return el("ol", { id: "items", "aria-label": "All items" },
    ratings.items.map((_, number) =>
      el("li", {}, el("button", { type: "button", click: () => show(number) }, number + 1))));
}

/** Show the start, an item, or the end, and keep where one is. */
function show(number) {
  at = Math.min(Math.max(number, START), ratings.items.length);
  keepPlace(ratings.rater, at);
  const view = at === START ? "start" : at === ratings.items.length ? "end" : "item";
  for (const name of ["start", "item", "end"]) parts[name].hidden = name !== view;
  parts.keys.hidden = view !== "item";
  for (const name of ["item", "end"]) parts[name].replaceChildren();
  // The question stays in sight in the header, where it is shown to the eye only: it is a heading too.
  parts.asked.textContent = view === "item" ? unturned(ratings.items[at].question.slice(0, 300)) : "Rate answers";
  parts.asked.ariaHidden = view === "item" ? "true" : null;
  if (view === "item") showItem();
  if (view === "end") showEnd();
  showProgress();
  showLeft();
  if (view === "start") parts.who.querySelector("button").focus({ preventScroll: true });
  scrollTo(TOP);
  if (view === "item") focusFirst();
}

function showItem() {
  const number = at;
  const heading = `Item ${number + 1} of ${ratings.items.length}`;
  const lastOne = number + 1 === ratings.items.length;
  const shown = itemShown(ratings.items[number], ratingAt(number), heading, changed);
  parts.item.replaceChildren(...shown,
    el("div", { class: "foot" },
      el("p", { class: "note", id: "left" }),
      el("p", { class: "buttons" },
        el("button", { type: "button", disabled: number === 0, click: () => show(number - 1) }, "Previous"),
        el("button", { type: "button", class: "main", id: "next", click: () => show(number + 1) },
          lastOne ? "Finish" : "Next")),
      listOfItems()));
  last = null;
  say(heading);
}

function showEnd() {
  const open = ratings.items.length - completed();
  const title = open === 0 ? `All ${counted(ratings.items.length, "item")} rated`
    : `${counted(open, "item")} not complete`;
  parts.end.replaceChildren(
    el("h1", { id: "end-title", tabindex: "-1" }, title),
    el("p", { class: "lead" }, "Save the file and send it back to whoever gave you this form. ",
      open > 0 ? "What is open may stay open, and you may save now and go on later." : ""),
    el("p", { class: "buttons" },
      el("button", { type: "button", class: "main", click: save }, "Save file"),
      open > 0 ? el("button", { type: "button", click: () => show(nextOpen()) }, "Next unfinished item") : null,
      el("button", { type: "button", click: () => show(at - 1) }, "Previous")),
    el("p", { class: "note", id: "saved" }, ratings.saved === "" ? "Not saved since the last change." : "Saved."),
    listOfItems());
  document.getElementById("end-title").focus({ preventScroll: true });
  say(title);
}

/** The next item that is not complete, from the beginning after the last; the end without any. */
function nextOpen() {
  const count = ratings.items.length;
  for (let step = 1; step <= count; step++) {
    const number = (at + step) % (count + 1);
    if (number < count && stateOf(ratingAt(number)) !== "complete") return number;
  }
  return at < count && at > START && stateOf(ratingAt(at)) !== "complete" ? at : count;
}

function save() {
  ratings.saved = new Date().toISOString();
  keepRatings(ratings);
  const said = `Saved as ${download(ratings)}.`;
  const shown = document.getElementById("saved");
  if (shown !== null) shown.textContent = said;
  say(said);
}

/** Go on as a rater, from what the browser kept. */
function become(rater) {
  ratings = keptRatings(rater);
  parts.name.value = ratings.name;
  for (const input of parts.who.querySelectorAll("[name=rater]"))
    input.checked = Number(input.value) === rater;
  showProgress();
}

/** Take over a saved file: what it rates replaces what is here, item by item. */
async function load(file) {
  let found;
  try {
    found = fromFile(await file.text());
  } catch (error) {
    parts.loaded.textContent = `This file cannot be used: ${error.message}.`;
    return;
  }
  become(found.rater);
  let count = 0;
  for (const [id, rating] of found.given) {
    if (!isRated(rating)) continue;
    ratings.given.set(id, rating);
    count += 1;
  }
  ratings.name ||= found.name;
  ratings.saved = "";
  parts.name.value = ratings.name;
  keepRatings(ratings);
  showProgress();
  parts.loaded.textContent = `${counted(count, "rated item")} of rater ${found.rater} loaded.`;
}

/** Whether closing the page would lose ratings, or forget a file that is ready. */
function unsaved() {
  if (ratings === null || ratings.saved !== "" || !ratings.items.some((_, n) => isRated(ratingAt(n))))
    return false;
  return refused || completed() === ratings.items.length;
}

function begin(event) {
  event.preventDefault();
  const chosen = parts.who.querySelector("[name=rater]:checked");
  const name = parts.name.value;
  const rater = chosen === null ? 1 : Number(chosen.value);
  if (ratings?.rater !== rater) become(rater);
  if (name !== ratings.name) {
    ratings.name = parts.name.value = name;
    ratings.saved = "";
    keepRatings(ratings);
  }
  const first = ratings.items.findIndex((_, number) => stateOf(ratingAt(number)) !== "complete");
  show(first === -1 ? ratings.items.length : first);
}

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

function start() {
  document.documentElement.classList.add("scripted");
  inStorage((kept) => {
    kept.setItem(`${PLACE} test`, "");
    kept.removeItem(`${PLACE} test`);
  });
  parts.who.addEventListener("submit", begin);
  parts.load.addEventListener("change", async () => {
    if (parts.load.files.length > 0) await load(parts.load.files[0]);
    parts.load.value = "";
  });
  parts.save.addEventListener("click", save);
  parts["to-start"].addEventListener("click", () => show(START));
  parts["to-help"].addEventListener("click", () => parts.help.showModal());
  parts.item.addEventListener("focusin", ({ target }) => {
    last = target.closest(".row") ?? last;
  });
  document.addEventListener("keydown", pressed);
  addEventListener("beforeunload", (event) => {
    if (unsaved()) event.preventDefault();
  });
  addEventListener("storage", ({ key }) => {
    if (ratings === null || key !== placeOf(ratings.rater)) return;
    become(ratings.rater);
    show(at);
  });
  const before = keptPlace();
  if (before !== null) {
    become(before.rater);
    show(before.at);
  }
  showProgress();
}

start();
