// The ranking of one question, to be moved about: what it is worth follows every move.

const EDGE = 80; // px from the window's edges: what is dragged there scrolls the page
const SCROLLED = 10; // px of that a frame

/**
 * Return the ranking of a record beside what it is worth. Results move by their handles, by
 * pointer or keyboard; what is relevant and was missed stands below, to be pulled in.
 */
function ranking(record, cell, question) {
  const root = el("div", { class: "ranking" });
  const header = document.querySelector("body > header"); // stays in view: values stick below it
  root.style.setProperty("--under", `${header?.offsetHeight ?? 0}px`);
  const fill = (spans) => fillRanking(root, record, spans);
  questions().then(({ passages }) => fill(passages[question]), () => fill([]));
  return root;
}

function fillRanking(root, record, spans) {
  const { judged } = record;
  const { shown, hidden, further } = resultsOf(record);
  const worth = worthOf(judged ? measuresOf(index) : [], () => restore(shown[0] ?? further[0]));
  const status = el("p", { class: "unseen", role: "status" });
  const promptEnds = el("li", { class: "edge" }, `top ${grouped(index.chunks ?? 0)} ends here`);
  const divider = { row: { box: el("li", { class: "edge" }, dividerOf(record, further)) } };
  const retrieved = further.length ? [...shown, divider, ...further] : shown;
  const list = el("ol", { class: "hits" });
  let order = retrieved;
  let dragged = null;

  for (const hit of [...shown, ...further]) {
    hit.row = hitRow(hit, spans, Boolean(judged));
    if (judged) makeMovable(hit);
  }
  list.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || order === retrieved) return;
    event.preventDefault(); // or it would close the question
    event.stopPropagation();
    restore(order.find(({ row }) => row.box.contains(document.activeElement)));
  });
  root.append(worth.pinned, el("div", {}, rankingHead(record), list, unnamed(record)), worth.panel, status);
  update();

  function makeMovable(hit) {
    const { handle, up, down, box } = hit.row;
    const at = () => order.indexOf(hit);
    handle.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const places = { ArrowUp: at() - 1, ArrowDown: at() + 1, Home: 0, End: order.length };
      if (!(event.key in places)) return;
      event.preventDefault();
      step(hit, places[event.key], handle);
    });
    up.addEventListener("click", () => step(hit, at() - 1, up));
    down.addEventListener("click", () => step(hit, at() + 1, down));
    const middle = ({ top, height }) => top + height / 2;
    const isAbove = (y) => (other) =>
      other !== hit && middle(other.row.box.getBoundingClientRect()) < y;
    let before;
    draggable(handle, {
      begin: () => {
        [dragged, before] = [hit, order];
        box.classList.add("dragged");
      },
      follow: (y) => dragged && move(hit, order.filter(isAbove(y)).length),
      end: () => {
        dragged = null;
        box.classList.remove("dragged");
        if (order !== before) say(hit);
      },
    });
  }

  /** Move a result to a place of the list; what was retrieved stays above the divider. */
  function move(hit, to) {
    const others = order.filter((other) => other !== hit);
    const end = others.indexOf(divider);
    const last = hit.missing || end < 0 ? others.length : end;
    const place = Math.max(0, Math.min(to, last));
    if (order[place] === hit) return false;
    const moved = others.toSpliced(place, 0, hit);
    order = moved.every((other, at) => other === retrieved[at]) ? retrieved : moved;
    update(hit);
    return true;
  }

  function step(hit, to, button) {
    if (move(hit, to)) say(hit);
    button.scrollIntoView({ block: "nearest" });
  }

  function say(hit) {
    const rank = inside().indexOf(hit) + 1;
    status.textContent =
      `${unturned(hit.doc)} is ${rank ? `at rank ${rank}` : "not in the ranking"} now, ${worth.said()}`;
  }

  function restore(active) {
    dragged = null;
    order = retrieved;
    update(active);
    status.textContent = `As retrieved, ${worth.said()}`;
    if (!active.row.box.contains(document.activeElement)) active.row.handle.focus();
  }

  /** The results that count: those above the divider. */
  function inside() {
    const end = order.indexOf(divider);
    return end < 0 ? order : order.slice(0, end);
  }

  /** Show the order, without taking `active` out of the page: it has the focus or the pointer. */
  function update(active) {
    const ranked = inside();
    const boxes = order.map(({ row }) => row.box);
    if (index.chunks && ranked.length > index.chunks) boxes.splice(index.chunks, 0, promptEnds);
    else promptEnds.remove();
    arrange(list, boxes, active?.row.box);
    const seen = new Map();
    ranked.forEach((hit, at) => {
      label(hit, at, at + 1, seen.get(hit.item));
      if (!seen.has(hit.item)) seen.set(hit.item, at + 1);
    });
    order.slice(ranked.length + 1).forEach((hit, at) => label(hit, ranked.length + 1 + at, null));
    if (!judged) return;
    const grades = new Map();
    for (const { item, itemGrade } of [...ranked, ...hidden])
      if (!grades.has(item)) grades.set(item, itemGrade);
    worth.show({ ...judged, grades: [...grades.values()] }, order === retrieved);
  }

  /** Say where a result stands in the list, its rank, and the rank that it counts at if above. */
  function label(hit, at, rank, above) {
    const { row, doc } = hit;
    row.rank.textContent = rank ?? MISSING;
    row.box.classList.toggle("out", rank === null);
    row.remark.textContent = above ? `counts once, at rank ${above}` : "";
    if (!judged) return;
    const place = rank === null ? "not in the ranking" : `rank ${rank}`;
    row.handle.setAttribute("aria-label", `Move ${doc}, ${place}`);
    for (const [button, next, word] of [[row.up, at - 1, "up"], [row.down, at + 1, "down"]]) {
      const blocked = !order[next] || (order[next] === divider && !hit.missing);
      button.setAttribute("aria-label", `Move ${doc} ${word}`);
      button.setAttribute("aria-disabled", blocked);
    }
  }
}

function rankingHead({ judged }) {
  const key = (name) => el("kbd", {}, name);
  const how = ["Drag a result by its handle, or focus the handle and press ", key("↑"), " ",
    key("↓"), " ", key("Home"), " ", key("End"), ". ", key("Esc"), " restores. "];
  return [el("h3", {}, "Ranking"),
    el("p", { class: "note" }, judged && how, el("mark", {}, "Evidence"), " is marked.")];
}

/** What stands between the ranking and what is not in it, or not shown of it. */
function dividerOf({ hits, judged }, further) {
  const from = Math.min(hits.length, SHOWN) + 1;
  const hidden = hits.length >= from ? `Ranks ${from} to ${grouped(hits.length)} are not shown. ` : "";
  const what = `Relevant, but ${hidden ? "further down or " : ""}not retrieved`;
  return `${hidden}${what}${judged ? ": move it up to see what finding it is worth" : ""}`;
}

/** Put boxes into order round one that stays where it is. */
function arrange(list, boxes, fixed) {
  const at = Math.max(boxes.indexOf(fixed), 0);
  if (boxes.length && !list.contains(boxes[at])) list.append(boxes[at]);
  for (let i = at - 1; i >= 0; i--)
    if (boxes[i].nextSibling !== boxes[i + 1]) boxes[i + 1].before(boxes[i]);
  for (let i = at + 1; i < boxes.length; i++)
    if (boxes[i].previousSibling !== boxes[i - 1]) boxes[i - 1].after(boxes[i]);
}

/**
 * Let `handle` be dragged: `begin` is called first, `follow(y)` with each height of the pointer in
 * the window, and `end` at last. The handle must stay in the page meanwhile.
 */
function draggable(handle, { begin, follow, end }) {
  let held = null;
  let y = 0;
  const scroll = () => {
    if (held === null) return;
    const step = y < EDGE ? -SCROLLED : y > innerHeight - EDGE ? SCROLLED : 0;
    if (step) {
      scrollBy({ top: step, behavior: "instant" });
      follow(y);
    }
    requestAnimationFrame(scroll);
  };
  handle.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || held !== null) return;
    event.preventDefault(); // or the text below would be selected
    held = event.pointerId;
    y = event.clientY;
    handle.focus({ preventScroll: true });
    handle.setPointerCapture(held);
    begin();
    requestAnimationFrame(scroll);
  });
  handle.addEventListener("pointermove", (event) => {
    if (event.pointerId !== held) return;
    y = event.clientY;
    follow(y);
  });
  handle.addEventListener("lostpointercapture", () => {
    if (held === null) return;
    held = null;
    end();
  });
}
