// Rows that are moved about in a list: by a handle, with a pointer or keys, or by arrows beside them.

const EDGE = 80; // px from the window's edges: what is dragged there scrolls the page
const SCROLLED = 10; // px of that a frame

/** The buttons that move a row: its handle, and the arrows up and down. */
function moveButtons() {
  const [handle, up, down] = ["handle", "up", "down"].map((name) =>
    el("button", { type: "button", class: name }));
  return { handle, up, down, arrows: el("span", { class: "arrows" }, up, down) };
}

/** Name the buttons of a row after what it shows and where that is. */
function nameButtons({ handle, up, down }, what, place) {
  handle.setAttribute("aria-label", `Move ${what}, ${place}`);
  up.setAttribute("aria-label", `Move ${what} up`);
  down.setAttribute("aria-label", `Move ${what} down`);
}

/**
 * Let rows be moved: each is {box} and, where it moves, {handle, up, down}. `show(order)` returns
 * the boxes to be listed in an order of the rows; `say(row)` announces what a move came to, of no
 * row when all are back. `lastPlace(row, others)` is the last place a row may take. Returns
 * `restore`, which brings all rows back, and `show`, which shows the order again.
 */
function movable(list, rows, { show, say, lastPlace = (row, others) => others.length }) {
  let order = rows;
  let dragged = null;

  function placeOf(row, to) {
    const last = lastPlace(row, order.filter((other) => other !== row));
    return Math.max(0, Math.min(to, last));
  }

  function move(row, to) {
    const place = placeOf(row, to);
    if (order[place] === row) return false;
    const moved = order.filter((other) => other !== row).toSpliced(place, 0, row);
    order = moved.every((other, at) => other === rows[at]) ? rows : moved;
    update(row);
    return true;
  }

  function step(row, to, button) {
    if (move(row, to)) say(row);
    button.scrollIntoView({ block: "nearest" });
  }

  function restore(active = rows.find(({ handle }) => handle)) {
    dragged = null;
    order = rows;
    update(active);
    say(null);
    if (!active.box.contains(document.activeElement)) active.handle.focus();
  }

  /** Show the order, without taking `active` out of the page: it has the focus or the pointer. */
  function update(active) {
    arrange(list, show(order, order === rows), active?.box);
    order.forEach((row, at) => {
      row.up?.setAttribute("aria-disabled", placeOf(row, at - 1) === at);
      row.down?.setAttribute("aria-disabled", placeOf(row, at + 1) === at);
    });
  }

  function connect(row) {
    const { box, handle, up, down } = row;
    const at = () => order.indexOf(row);
    handle.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const places = { ArrowUp: at() - 1, ArrowDown: at() + 1, Home: 0, End: order.length };
      if (!(event.key in places)) return;
      event.preventDefault();
      step(row, places[event.key], handle);
    });
    up.addEventListener("click", () => step(row, at() - 1, up));
    down.addEventListener("click", () => step(row, at() + 1, down));
    const isAbove = (y) => (other) => {
      const { top, height } = other.box.getBoundingClientRect();
      return other !== row && top + height / 2 < y;
    };
    let before;
    draggable(handle, {
      begin: () => {
        [dragged, before] = [row, order];
        box.classList.add("dragged");
      },
      follow: (y) => dragged && move(row, order.filter(isAbove(y)).length),
      end: () => {
        dragged = null;
        box.classList.remove("dragged");
        if (order !== before) say(row);
      },
    });
  }

  rows.filter(({ handle }) => handle).forEach(connect);
  list.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || order === rows) return;
    event.preventDefault(); // or it would close the question
    event.stopPropagation();
    restore(order.find(({ box }) => box.contains(document.activeElement)));
  });
  update();
  return { restore: () => restore(), show: () => update() };
}

/** Put boxes into order round one that stays where it is. */
function arrange(list, boxes, fixed) {
  const at = Math.max(boxes.indexOf(fixed), 0);
  for (const box of [...list.children]) if (!boxes.includes(box)) box.remove();
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
