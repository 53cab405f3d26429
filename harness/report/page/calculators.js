// Calculators of ranked metrics: one moves results, or slides numbers, and the formula follows.

const GRADES = [3, 2, 3, 0, 1, 2];
const FIRST_RANKS = [1, 3, 0];
const DEEPEST = 10;

const CALCULATORS = {
  ndcg: ndcgCalculator, mrr: mrrCalculator, precision: sliders, recall: sliders,
};

/** Put a calculator into every element that asks for one: `data-calculator="ndcg"`. */
function fillCalculators() {
  for (const place of document.querySelectorAll("[data-calculator]"))
    place.replaceChildren(CALCULATORS[place.dataset.calculator]());
}

/** Offer a calculator under each entry of the glossary whose metric has one. */
function offerCalculators() {
  for (const entry of document.querySelectorAll(".entry")) {
    const [metric] = entry.querySelector("h3").textContent.split(/[^a-z]/);
    if (metric in CALCULATORS) entry.append(fold("Try it", CALCULATORS[metric]));
  }
}

function calculator(kind, ...content) {
  return el("div", { class: "calculator", "data-kind": kind }, content);
}

function labelled(text, input) {
  return el("label", { class: "field" }, el("span", {}, text), input);
}

function choice(label, options, chosen, change) {
  const made = el("select", { "aria-label": label, change: () => change(made.value) },
    options.map(([value, text]) => el("option", { value, selected: value === chosen }, text)));
  return made;
}

/** nDCG of graded results, which are dragged into another order; linear and exponential gain. */
function ndcgCalculator() {
  const options = { gain: "linear", k: null };
  const status = el("p", { class: "unseen", role: "status" });
  const list = el("ol", { class: "hits", "aria-label": "Results, best first" });
  const found = measureLine("nDCG");
  let order = [];
  const rows = GRADES.map((grade, at) => {
    const name = `Result ${"ABCDEFGH"[at]}`;
    const buttons = moveButtons();
    const rank = el("span", { class: "rank" });
    const row = { ...buttons, rank, name, grade };
    const grades = [0, 1, 2, 3].map((value) => [value, `grade ${value}`]);
    const select = choice(`Grade of ${name}`, grades, grade, (value) => {
      row.grade = Number(value);
      moves.show();
    });
    row.box = el("li", { class: "hit" }, buttons.handle, rank,
      el("div", { class: "hit-body" }, el("b", {}, name), " ", select), buttons.arrows);
    return row;
  });
  const moves = movable(list, rows, {
    show(now) {
      order = now;
      now.forEach((row, at) => {
        row.rank.textContent = at + 1;
        row.box.classList.toggle("relevant", row.grade > 0);
        nameButtons(row, row.name, `rank ${at + 1}`);
      });
      const grades = now.map(({ grade }) => grade);
      found.show(ndcg({ grades, inventory: grades.filter((grade) => grade > 0) }, options));
      return now.map(({ box }) => box);
    },
    say(row) {
      const place = row === null ? "As at first" : `${row.name} is at rank ${order.indexOf(row) + 1} now`;
      status.textContent = `${place}, nDCG ${found.value.textContent}`;
    },
  });
  const set = (part) => {
    Object.assign(options, part);
    moves.show();
  };
  const gains = [["linear", "linear: the grade"], ["exponential", "exponential: 2^grade − 1"]];
  const cuts = [["", "all"], ...GRADES.map((_, at) => [at + 1, `the first ${at + 1}`])];
  return calculator("ndcg",
    el("div", { class: "fields" },
      labelled("Gain", choice("Gain", gains, "linear", (gain) => set({ gain }))),
      labelled("Counted", choice("Counted", cuts, "", (k) => set({ k: k ? Number(k) : null })))),
    list, found.box, status);
}

/** The mean reciprocal rank of several questions, each with the rank of its first relevant result. */
function mrrCalculator() {
  const ranks = [...FIRST_RANKS];
  const rows = el("ol", { class: "asked-ranks" });
  const mean = measureLine("MRR");
  const words = [[0, "nowhere"], ...Array.from({ length: DEEPEST }, (_, at) => [at + 1, `at rank ${at + 1}`])];

  function fill() {
    const each = ranks.map((rank) => {
      const grades = Array.from({ length: DEEPEST }, (_, at) => (at + 1 === rank ? 1 : 0));
      return rr({ grades, inventory: [1] });
    });
    const total = each.reduce((sum, { value }) => sum + value, 0);
    const terms = ranks.map((rank) => (rank ? `1/${rank}` : "0")).join(" + ");
    const value = total / ranks.length;
    mean.show({ value, formula: `(${terms}) / ${ranks.length} = ${four(value)}` });
    each.forEach((found, at) => rows.children[at].querySelector("output").replaceChildren(found.formula));
  }

  function list() {
    rows.replaceChildren(...ranks.map((rank, at) => el("li", {},
      labelled(`Question ${at + 1}: first relevant result`,
        choice(`Question ${at + 1}`, words, rank, (chosen) => {
          ranks[at] = Number(chosen);
          fill();
        })),
      el("output", {}))));
    fewer.disabled = ranks.length === 1;
    more.disabled = ranks.length === DEEPEST;
    fill();
  }

  const fewer = el("button", { type: "button", click: () => { ranks.pop(); list(); } }, "One question less");
  const more = el("button", { type: "button", click: () => { ranks.push(1); list(); } }, "One more question");
  list();
  return calculator("mrr", rows, el("p", { class: "fields" }, fewer, more), mean.box);
}

/** Precision, recall and their harmonic mean by three sliders. */
function sliders() {
  const [precise, complete, both] = ["precision@k", "recall@k", "F1@k"].map((name) => measureLine(name));
  const slider = (value) => el("input", { type: "range", min: 0, max: 20, value, input: fill });
  const counts = { relevant: slider(5), shown: slider(10), found: slider(3) };
  const said = { relevant: el("output"), shown: el("output"), found: el("output") };

  function fill() {
    const number = (name) => Number(counts[name].value);
    counts.found.max = Math.min(number("relevant"), number("shown"));
    const [relevant, k, found] = ["relevant", "shown", "found"].map(number);
    for (const name of Object.keys(said)) said[name].textContent = counts[name].value;
    const grades = Array.from({ length: k }, (_, at) => (at < found ? 1 : 0));
    const judged = { grades, inventory: Array(relevant).fill(1) };
    const [p, r] = [precision(judged, { k }), recall(judged, { k })];
    precise.show(p);
    complete.show(r);
    const value = p.value + r.value ? (2 * p.value * r.value) / (p.value + r.value) : 0;
    const [one, other] = [four(p.value), four(r.value)];
    both.show({ value, formula: `2 · ${one} · ${other} / (${one} + ${other}) = ${four(value)}`.replaceAll(" · ", " × ") });
  }

  fill();
  const line = (text, name) => labelled(text, el("span", { class: "bounds" }, counts[name], said[name]));
  return calculator("precision-recall",
    el("div", { class: "fields" },
      line("Relevant in all", "relevant"),
      line("Results looked at, k", "shown"),
      line("Relevant among them", "found")),
    precise.box, complete.box, both.box);
}
