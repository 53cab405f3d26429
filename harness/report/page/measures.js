// What a judged ranking is worth: the same values as harness/metrics, each with its formula filled
// in. A judged ranking is {grades, inventory}: the grade of each distinct item, best rank first
// (null: nobody judged it), and the grades of everything relevant, retrieved or not, highest first
// (null: not known). Options are those of the metrics: k (null: the whole ranking), level, gain,
// ideal, denominator. A value is null where the metric does not apply.

const TERMS = 6;

function rr(judged, { k = null, level = 1 } = {}) {
  const [first] = relevantRanks(judged, k, level);
  if (first === undefined) return { value: 0, formula: `nothing relevant ${within(k)}: 0` };
  const value = 1 / first;
  return { value, formula: `first relevant at rank ${first}: 1/${first} = ${four(value)}` };
}

function ap(judged, { k = null, level = 1, denominator = "inventory" } = {}) {
  const ranks = relevantRanks(judged, k, level);
  const found = denominator === "retrieved";
  const relevant = found ? ranks.length : relevantInAll(judged, level);
  if (relevant === null) return NOT_KNOWN;
  if (!relevant) return { value: 0, formula: "nothing is relevant: 0" };
  const total = ranks.reduce((sum, rank, at) => sum + (at + 1) / rank, 0);
  const terms = ranks.map((rank, at) => `${at + 1}/${rank}`);
  const value = total / relevant;
  const divisor = `${relevant} ${found ? "found" : "relevant"}`;
  return { value, formula: `(${added(terms)}) / ${divisor} = ${four(value)}` };
}

function ndcg(judged, { k = null, gain = "linear", ideal = "inventory" } = {}) {
  const top = judged.grades.slice(0, k ?? undefined);
  const pool = ideal === "retrieved" ? top.filter((grade) => grade > 0) : judged.inventory;
  if (pool === null) return NOT_KNOWN;
  const highestFirst = [...pool].sort((one, other) => other - one);
  const best = discounted(highestFirst.slice(0, k ?? undefined), gain);
  if (best.sum === 0) return { value: 0, formula: "nothing is relevant: 0" };
  const found = discounted(top, gain);
  const value = found.sum / best.sum;
  const steps = [
    `DCG = ${found.terms}`,
    `ideal = ${best.terms}`,
    `${four(found.sum)} / ${four(best.sum)} = ${four(value)}`,
  ];
  return { value, formula: steps.join(" · ") };
}

function precision(judged, { k = null, level = 1, denominator = "k" } = {}) {
  const found = relevantRanks(judged, k, level).length;
  const size = judged.grades.length;
  const shown = denominator === "retrieved" ? Math.min(k ?? size, size) : (k ?? size);
  const value = shown ? found / shown : 0;
  return { value, formula: `${found} relevant ${within(k)}: ${found}/${shown} = ${four(value)}` };
}

function recall(judged, { k = null, level = 1 } = {}) {
  const found = relevantRanks(judged, k, level).length;
  const relevant = relevantInAll(judged, level);
  if (relevant === null) return NOT_KNOWN;
  if (!relevant) return { value: 0, formula: "nothing is relevant: 0" };
  const value = found / relevant;
  const said = `${found} of the ${relevant} relevant ${within(k)}`;
  return { value, formula: `${said}: ${found}/${relevant} = ${four(value)}` };
}

const MEASURES = [
  { name: "ndcg", title: "nDCG", measure: ndcg, k: 10 },
  { name: "mrr", title: "RR", measure: rr, k: 10 },
  { name: "ap", title: "AP", measure: ap, k: 10 },
  { name: "precision", title: "precision", measure: precision, k: 5 },
  { name: "recall", title: "recall", measure: recall, k: 5 },
];

/** The five measures with the options of the run's own metrics, where it has them. */
function measuresOf({ metrics, by, labels, level }) {
  const judgesThese = ({ options }) => (options.labels ?? labels) === labels;
  const own = [metrics[by], ...metrics].filter((metric) => metric && judgesThese(metric));
  return MEASURES.map(({ name, title, measure, k }) => {
    const given = own.find((metric) => metric.of === name)?.options ?? { k };
    const options = { ...given, level: given.rel ?? level };
    const cut = given.k ? `@${given.k}` : "";
    const of = (judged) => measure(judged, options);
    return { name, title: `${title}${cut}${variant(given)}`, of };
  });
}

function variant({ gain, ideal, denominator }) {
  const said = [];
  if (gain === "exponential") said.push("exponential gain");
  if (ideal === "retrieved") said.push("ideal of the retrieved");
  if (denominator === "retrieved") said.push("of the retrieved");
  return said.length ? `, ${said.join(", ")}` : "";
}

const NOT_KNOWN = { value: null, formula: "how many relevant items there are is not known" };

function relevantRanks({ grades }, k, level) {
  const ranks = [];
  const end = Math.min(grades.length, k ?? grades.length);
  for (let at = 0; at < end; at++)
    if (grades[at] !== null && grades[at] >= level) ranks.push(at + 1);
  return ranks;
}

function relevantInAll({ inventory }, level) {
  return inventory && inventory.filter((grade) => grade >= level).length;
}

/** The discounted gain of grades in this order, and how it is added up. */
function discounted(grades, gain) {
  const terms = [];
  let sum = 0;
  grades.forEach((grade, at) => {
    if (grade === null || grade <= 0) return;
    sum += (gain === "exponential" ? 2 ** grade - 1 : grade) / Math.log2(at + 2);
    const worth = gain === "exponential" ? `(2${lifted(grade)} − 1)` : grade;
    terms.push(`${worth}/log₂${at + 2}`);
  });
  return { sum, terms: terms.length ? `${added(terms)} = ${four(sum)}` : "0" };
}

function added(terms) {
  const rest = terms.length - TERMS;
  if (rest > 1) return `${terms.slice(0, TERMS).join(" + ")} + … ${rest} more`;
  return terms.join(" + ") || "0";
}

function lifted(number) {
  return String(number).replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
}

function within(k) {
  return k === null ? "in the whole ranking" : `in the top ${k}`;
}

function four(value) {
  return value.toFixed(4);
}

/** A value with its change and its formula: their nodes, and `show`, which fills them. */
function measureLine(name, title = name) {
  const [value, change, formula] = [el("b"), el("span"), el("p")];
  const box = el("div", { class: "measure", "data-measure": name },
    el("span", {}, title), value, change, formula);
  function show(found) {
    value.textContent = found.value === null ? MISSING : four(found.value);
    formula.replaceChildren(...found.formula.split(" · ").map((step) => el("span", {}, step)));
  }
  return { box, title, value, change, show };
}
