// Where ratings are kept: in the browser while one rates, and in a file that one sends back.

const PLACE = `harness-ratings ${FORM.form}`;
const REFUSED = "This browser keeps nothing for this page: what you rate is lost when you close it, "
  + "unless you save the file.";

/** The browser's storage, or nothing where it is refused: private windows, full disks. */
const storage = {
  refused: false,
  read(key) {
    return this.attempt(() => localStorage.getItem(key));
  },
  write(key, text) {
    this.attempt(() => localStorage.setItem(key, text));
  },
  attempt(use) {
    try {
      return use();
    } catch {
      this.refused = true;
      return null;
    }
  },
};

function placeOf(rater) {
  return `${PLACE} ${rater}`;
}

/** What the browser kept of a rater; all open where that is nothing, or damaged. */
function keptRatings(rater) {
  try {
    const kept = fromFile(storage.read(placeOf(rater)) ?? "");
    if (kept.rater === rater) return kept;
  } catch {
    // Nothing was kept, or somebody wrote something else there.
  }
  return newRatings(rater);
}

function keepRatings(ratings) {
  storage.write(placeOf(ratings.rater), asFile(ratings));
}

/** Who rated last, and where: what a reload goes back to. */
function keptPlace() {
  try {
    const { rater, at } = JSON.parse(storage.read(PLACE) ?? "{}");
    if (Number.isInteger(rater) && rater >= 1 && rater <= FORM.raters && Number.isInteger(at))
      return { rater, at };
  } catch {
    // Somebody wrote something else there.
  }
  return null;
}

function keepPlace(rater, at) {
  storage.write(PLACE, JSON.stringify({ rater, at }));
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
