// The conversation on one path. Portions of it are drawn when they come near the window.
const PORTION = 40; // entries
const GUESS = 120; // pixels of an entry that is not drawn yet
let toolsOpen = false;
let thinkingOpen = false;
let portions = []; // elements
let blockPlace = new Map(); // row -> place on the path
let watcher;

function drawTranscript() {
  watcher?.disconnect();
  const scroller = $("transcript");
  watcher = new IntersectionObserver(
    (seen) => seen.forEach((one) => one.isIntersecting && fill(one.target)),
    { root: scroller, rootMargin: "1500px 0px" },
  );
  const visible = state.path.filter((at) => rows[at].b !== undefined || siblings(at).length > 1);
  blockPlace = new Map(visible.map((at, place) => [at, place]));
  portions = [];
  for (let from = 0; from < visible.length; from += PORTION) {
    const part = make("div", { className: "portion" });
    part.entries = visible.slice(from, from + PORTION);
    part.style.minHeight = `${part.entries.length * GUESS}px`;
    portions.push(part);
  }
  $("blocks").replaceChildren(...portions);
  if (visible.length === 0) $("blocks").append(make("p", { className: "empty", textContent: "Nothing was said yet." }));
  portions.forEach((part) => watcher.observe(part));
}

function fill(part) {
  if (part.entries === undefined) return;
  const entries = part.entries;
  part.entries = undefined;
  part.style.minHeight = "";
  part.append(...entries.map(block));
  watcher.unobserve(part);
  markHits(part);
}

function fillAll() {
  portions.forEach(fill);
}

function block(at) {
  const row = rows[at];
  const shown = row.b;
  const element = make("article", { id: `entry-${at}`, className: `entry ${shown?.kind ?? "note"}` });
  element.tabIndex = -1;
  if (row.r !== undefined) element.classList.add(roleClass(row.r));
  if (shown?.failed) element.classList.add("failed");
  element.append(heading(at));
  if (row.l !== undefined) element.querySelector(".about").append(make("span", { className: "label", textContent: row.l }));
  for (const part of shown?.parts ?? []) element.append(piece(part, row));
  element.addEventListener("focusin", () => here(at));
  element.addEventListener("click", () => here(at));
  return element;
}

function heading(at) {
  const row = rows[at];
  const shown = row.b;
  const head = make("div", { className: "about" });
  if (shown?.kind === "speaker") {
    const role = roleClass(row.r ?? "user");
    const glyph = make("span", { className: `glyph ${role}`, textContent: GLYPHS[role] ?? "\u00b7" });
    glyph.setAttribute("aria-hidden", "true");
    head.append(glyph, make("h2", { textContent: NAMES[role] ?? row.r ?? "User" }));
    if (shown.name) head.append(make("span", { className: "by", textContent: shown.name }));
    if (shown.failed) head.append(make("span", { className: "error", textContent: "failed" }));
  } else {
    head.append(make("h2", { textContent: shown?.name ?? row.x }));
  }
  head.append(switcher(at));
  const link = make("a", { className: "id", href: `#at=${encodeURIComponent(row.id)}`, textContent: row.id.slice(-8), title: `Link to ${row.id}` });
  if (row.m !== undefined) head.append(make("time", { dateTime: new Date(row.m).toISOString(), textContent: when(row) }));
  head.append(link);
  return head;
}

// Which of the branches at this fork is shown, and the ones beside it.
function switcher(at) {
  const beside = siblings(at);
  if (beside.length < 2) return "";
  const place = beside.indexOf(at);
  const box = make("span", { className: "switch" });
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `Branch ${place + 1} of ${beside.length}`);
  const button = (text, name, by) => {
    const to = beside[place + by];
    const one = make("button", { type: "button", textContent: text, disabled: to === undefined });
    one.setAttribute("aria-label", name);
    one.addEventListener("click", (event) => {
      event.stopPropagation();
      branch(at, by);
    });
    return one;
  };
  box.append(
    button("\u2039", "Previous branch", -1),
    make("span", { textContent: `${place + 1}/${beside.length}` }),
    button("\u203a", "Next branch", 1),
  );
  return box;
}

function piece(part, row) {
  switch (part.k) {
    case "text": {
      const box = make("div", { className: "said" });
      // Markup that the maker of this page has cleaned, under a policy that runs no script of it.
      box.innerHTML = part.html;
      return row.r === "tool" ? folded("result", firstLine(box.textContent), box, toolsOpen) : box;
    }
    case "thinking":
      return folded("thinking", "thinking", make("div", { className: "plain", textContent: part.text }), thinkingOpen);
    case "call":
      return folded("call", `${part.name} ${firstLine(part.text)}`, make("pre", { textContent: indented(part.text) }), toolsOpen);
    case "image": {
      if (part.data === undefined) return make("p", { className: "missing", textContent: `[image ${part.mime}, ${size(part.bytes)}]` });
      return make("img", { src: part.data, alt: `Image in the conversation, ${part.mime}, ${size(part.bytes)}`, loading: "lazy" });
    }
    default:
      return make("pre", { textContent: part.text });
  }
}

function folded(kind, title, inner, open) {
  const box = make("details", { className: kind, open });
  box.append(make("summary", {}, make("span", { className: "kind", textContent: kind }), ` ${title === kind ? "" : title}`), inner);
  return box;
}

function firstLine(text) {
  const line = text.trimStart().split("\n", 1)[0];
  return line.length > 120 ? `${line.slice(0, 120)}\u2026` : line;
}

function indented(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

function toggleAll(kinds, open) {
  document.querySelectorAll(kinds).forEach((one) => (one.open = open));
}

// Brings an entry of the path into sight.
function showEntry(at, { focus = false } = {}) {
  let row = at;
  while (row !== undefined && row >= 0 && !blockPlace.has(row)) row = rows[row].p;
  const place = blockPlace.get(row);
  if (place === undefined) return;
  fill(portions[Math.floor(place / PORTION)]);
  const element = $(`entry-${row}`);
  element.scrollIntoView({ block: "start" });
  // Portions that are drawn on the way move it: look once more.
  requestAnimationFrame(() => element.scrollIntoView({ block: "start" }));
  mark(row);
  if (focus) element.focus({ preventScroll: true });
}

function mark(at) {
  document.querySelectorAll(".entry.here").forEach((one) => one.classList.remove("here"));
  $(`entry-${at}`)?.classList.add("here");
}

// An entry of the path is looked at.
function here(at) {
  if (state.at === at) return;
  state.at = at;
  mark(at);
  cursorTo(at);
  remember();
}
