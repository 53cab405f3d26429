// The ratings of one rater, where they are kept, and the file that is sent back: version 1 of it.

const FORM = JSON.parse(document.getElementById("data").textContent);
const SCALES = FORM.scales;
const OVERALL = SCALES.at(-1);
const LONGEST_COMMENT = 10000;

/** What nobody has said yet: null everywhere, which is not zero. */
function unrated(item) {
  const open = { chunks: item.chunks.map(() => null), comment: "" };
  for (const { key } of SCALES) open[key] = null;
  return open;
}

/** The items that a rater is to rate, in the order of the form. */
function itemsOf(rater) {
  return FORM.items.filter(({ raters }) => raters.includes(rater));
}

/** Make the ratings of a rater, all of them open. */
function newRatings(rater) {
  const items = itemsOf(rater);
  const given = new Map(items.map((item) => [item.id, unrated(item)]));
  return { rater, name: "", saved: "", items, given };
}

/** What is still open in an item, in words. */
function openOf(rating) {
  const texts = rating.chunks.flatMap((grade, at) => (grade === null ? [`text ${at + 1}`] : []));
  const rest = SCALES.filter(({ key }) => rating[key] === null);
  return [...texts, ...rest.map(({ title }) => title.toLowerCase())];
}

/** How far an item is: "complete", "partial" or "open". */
function stateOf(rating) {
  if (openOf(rating).length === 0) return "complete";
  return isRated(rating) ? "partial" : "open";
}

function isRated(rating) {
  return rating.comment.trim() !== "" || rating.chunks.some((grade) => grade !== null)
    || SCALES.some(({ key }) => rating[key] !== null);
}

/** The word that the file has for an overall grade, as it has words for it and numbers elsewhere. */
function overallWord(grade) {
  return grade === null ? null : OVERALL.grades[grade].toLowerCase();
}

/** Return ratings as the text of a file; what was not rated at all is not in it. */
function asFile(ratings) {
  const items = ratings.items.flatMap(({ id }) => {
    const rating = ratings.given.get(id);
    if (!isRated(rating)) return [];
    const line = { item: id, chunks: rating.chunks };
    for (const { key } of SCALES) line[key] = rating[key];
    return [{ ...line, overall: overallWord(rating.overall), comment: rating.comment }];
  });
  const { rater, name, saved } = ratings;
  return JSON.stringify({ harness_ratings: 1, form: FORM.form, rater, name, saved, items }, null, 1);
}

/** Return the ratings in the text of a file; throws an error that says what is wrong with it. */
function fromFile(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error("it is not JSON");
  }
  if (file?.harness_ratings !== 1) throw new Error("it holds no ratings of version 1");
  if (file.form !== FORM.form) throw new Error("it belongs to another form");
  if (!Number.isInteger(file.rater) || file.rater < 1 || file.rater > FORM.raters)
    throw new Error("it names no rater of this form");
  const ratings = newRatings(file.rater);
  ratings.name = textOr(file.name).slice(0, 80);
  ratings.saved = textOr(file.saved).slice(0, 40);
  if (!Array.isArray(file.items)) throw new Error("it has no items");
  for (const line of file.items) {
    const item = ratings.items.find(({ id }) => id === line?.item);
    if (item === undefined) throw new Error("it rates what is not in this form");
    ratings.given.set(item.id, fromLine(line, item));
  }
  return ratings;
}

function fromLine(line, item) {
  const words = OVERALL.grades.map((word) => word.toLowerCase());
  const rating = { ...line, overall: isOpen(line.overall) ? null : words.indexOf(line.overall) };
  if (!Array.isArray(line.chunks) || line.chunks.length !== item.chunks.length)
    throw new Error("it rates other texts");
  const made = { chunks: line.chunks.map(gradeOf), comment: "" };
  for (const { key } of SCALES) made[key] = gradeOf(rating[key]);
  made.comment = textOr(line.comment).slice(0, LONGEST_COMMENT);
  return made;
}

function gradeOf(value) {
  if (isOpen(value)) return null;
  if (![0, 1, 2, 3].includes(value)) throw new Error("it has a grade that there is not");
  return value;
}

function isOpen(value) {
  return value === null || value === undefined;
}

function textOr(value) {
  return typeof value === "string" ? value : "";
}

const PLACE = `harness-ratings ${FORM.form}`;
const REFUSED = "This browser keeps nothing for this page: what you rate is lost when you close it, "
  + "unless you save the file.";

let refused = false; // whether the browser's storage is: in private windows, on full disks

/** What `use` returns of the browser's storage; null where that is refused. */
function inStorage(use) {
  try {
    return use(localStorage);
  } catch {
    refused = true;
    return null;
  }
}

function placeOf(rater) {
  return `${PLACE} ${rater}`;
}

/** What the browser kept of a rater; all open where that is nothing, or damaged. */
function keptRatings(rater) {
  try {
    const kept = fromFile(inStorage((kept) => kept.getItem(placeOf(rater))) ?? "");
    if (kept.rater === rater) return kept;
  } catch {
    // Nothing was kept, or somebody wrote something else there.
  }
  return newRatings(rater);
}

function keepRatings(ratings) {
  inStorage((kept) => kept.setItem(placeOf(ratings.rater), asFile(ratings)));
}

/** Who rated last, and where: what a reload goes back to. */
function keptPlace() {
  try {
    const { rater, at } = JSON.parse(inStorage((kept) => kept.getItem(PLACE)) ?? "{}");
    if (Number.isInteger(rater) && rater >= 1 && rater <= FORM.raters && Number.isInteger(at))
      return { rater, at };
  } catch {
    // Somebody wrote something else there.
  }
  return null;
}

function keepPlace(rater, at) {
  inStorage((kept) => kept.setItem(PLACE, JSON.stringify({ rater, at })));
}

/** Hand the file over as a download; returns its name. */
function download(ratings) {
  const name = `ratings-${FORM.form}-rater${ratings.rater}.json`;
  const blob = new Blob([asFile(ratings), "\n"], { type: "application/json" });
  const href = URL.createObjectURL(blob);
  const link = el("a", { href, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
  return name;
}
