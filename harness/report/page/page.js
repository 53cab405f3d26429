// What moves on the page besides the questions: theme, sorting, the focus, and where one reads.

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

const THEMES = ["auto", "light", "dark"];

/** Let the button change between the system's theme, light and dark; nothing is stored. */
function switchThemes(button) {
  let at = 0;
  button.addEventListener("click", () => {
    at = (at + 1) % THEMES.length;
    button.textContent = `Theme: ${THEMES[at]}`;
    if (at === 0) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = THEMES[at];
  });
}

/** What a cell sorts by: its value, else the number or the words it shows. */
function sortKey(cell) {
  const shown = cell.dataset.value ?? cell.textContent.trim();
  if (shown === "" || shown === MISSING) return null;
  const number = Number(shown.replaceAll(",", "").replace("−", "-").replace(/[^\d.e+-]+$/, ""));
  return /\d/.test(shown) && !Number.isNaN(number) ? number : shown.toLowerCase();
}

function compareKeys(a, b) {
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return typeof a === "number" ? a - b : a.localeCompare(b);
}

/** Let the buttons in a table's head sort its rows: figures from high to low at first. */
function makeSortable(sortable) {
  const headings = [...sortable.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.querySelector("button")?.addEventListener("click", () => {
      const numeric = keysOf(sortable.tBodies[0], column).some(([key]) => typeof key === "number");
      const before = heading.ariaSort;
      const down = before === "descending" ? false : before === "ascending" ? true : numeric;
      for (const other of headings) other.ariaSort = other === heading
        ? (down ? "descending" : "ascending") : "none";
      for (const body of sortable.tBodies) sortRows(body, column, down);
    });
  });
}

function keysOf(body, column) {
  return [...body.rows].map((row) => [row.cells[column] ? sortKey(row.cells[column]) : null, row]);
}

/** Sort the rows of a body, those without a value last; rows that divide it stay where they are. */
function sortRows(body, column, down) {
  const parts = [[]];
  for (const [key, row] of keysOf(body, column)) {
    if (row.classList.contains("divider")) parts.push([[null, row]], []);
    else parts.at(-1).push([key, row]);
  }
  const place = ([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return down ? compareKeys(b, a) : compareKeys(a, b);
  };
  body.append(...parts.flatMap((part) => part.sort(place).map(([, row]) => row)));
}

/** Show in the navigation which section is being read. */
function followReading(links) {
  const byId = new Map(links.map((link) => [decoded(link.hash.slice(1)), link]));
  const inView = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries)
      inView[isIntersecting ? "add" : "delete"](target.id);
    const reading = [...byId.keys()].find((id) => inView.has(id));
    for (const [id, link] of byId)
      if (id === reading) point(link);
      else link.removeAttribute("aria-current");
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const id of byId.keys()) {
    const section = document.getElementById(id);
    if (section) observer.observe(section);
  }
}

/** Mark a link of the navigation, and bring it into view where that is narrow. */
function point(link) {
  const nav = link.closest("nav");
  link.setAttribute("aria-current", "true");
  nav.scrollTo({ left: link.offsetLeft - nav.offsetLeft - 24, behavior: "instant" });
}

function start() {
  document.documentElement.classList.add("scripted");
  const theme = document.getElementById("theme");
  if (theme) switchThemes(theme);
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  followReading([...document.querySelectorAll("nav a[href^='#']")]);
  document.addEventListener("change", ({ target }) => {
    if (target.matches("select.focus")) setFocus(Number(target.value));
  });
  showFocus();
  offerCalculators();
  const browser = document.getElementById("browser");
  if (browser) saying(browser, () => browse(browser));
}

start();
