// The tree: only the rows in sight exist, since there may be a hundred thousand.
const ROW = 24; // pixels, as in the style sheet
const SPARE = 12; // rows drawn beyond the edges
let shownRows = []; // places of the rows that the filter lets through
let rowPlace = new Map();
let cursor = 0; // in shownRows
let family = []; // [position among siblings, number of siblings] of each shown row

const FILTERS = {
  default: (row) => row.t === "message" || row.t === "compaction" || row.t === "branch_summary" || row.l !== undefined,
  "no-tools": (row) => FILTERS.default(row) && row.r !== "tool",
  user: (row) => row.r === "user",
  labelled: (row) => row.l !== undefined,
  all: () => true,
};

function filterRows() {
  const passes = FILTERS[state.filter];
  shownRows = [];
  rows.forEach((row, at) => {
    // Where the session stands, and what is looked at, never vanish.
    if (passes(row) || at === data.leaf || at === state.at) shownRows.push(at);
  });
  rowPlace = new Map(shownRows.map((at, place) => [at, place]));
  family = groups();
  $("count").textContent = shownRows.length === rows.length ? `${rows.length}` : `${shownRows.length} of ${rows.length}`;
}

// Rows at one level below the same row are a group: what a screen reader counts.
function groups() {
  const out = shownRows.map(() => [0, 0]);
  const open = []; // the members of the open group of each level
  const close = (depth) => {
    while (open.length > depth) {
      const members = open.pop() ?? [];
      members.forEach((place, n) => (out[place] = [n + 1, members.length]));
    }
  };
  shownRows.forEach((at, place) => {
    const level = rows[at].n;
    close(level + 1);
    (open[level] ??= []).push(place);
  });
  close(0);
  return out;
}

function drawTree() {
  const box = $("tree");
  const holder = $("rows");
  holder.style.height = `${shownRows.length * ROW}px`;
  const first = Math.max(0, Math.floor(box.scrollTop / ROW) - SPARE);
  const last = Math.min(shownRows.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW) + SPARE);
  const drawn = [];
  for (let place = first; place < last; place += 1) drawn.push(treeRow(place));
  holder.replaceChildren(...drawn);
  const active = shownRows[cursor];
  if (active !== undefined && cursor >= first && cursor < last) {
    box.setAttribute("aria-activedescendant", `row-${active}`);
  } else {
    box.removeAttribute("aria-activedescendant");
  }
}

function treeRow(place) {
  const at = shownRows[place];
  const row = rows[at];
  const element = make("div", { id: `row-${at}`, className: "row" });
  element.setAttribute("role", "treeitem");
  element.setAttribute("aria-level", String(row.n + 1));
  element.setAttribute("aria-posinset", String(family[place][0]));
  element.setAttribute("aria-setsize", String(family[place][1]));
  element.setAttribute("aria-selected", String(at === state.at));
  if (at === state.at) element.setAttribute("aria-current", "true");
  element.style.top = `${place * ROW}px`;
  element.classList.toggle("path", state.onPath.has(at));
  element.classList.toggle("cursor", place === cursor);
  element.classList.toggle("leaf", at === data.leaf);
  const sign = at === data.leaf ? "\u25c9" : state.onPath.has(at) ? "\u25cf" : "\u25cb";
  const gutter = make("span", { className: "gutter", textContent: row.g + sign });
  gutter.setAttribute("aria-hidden", "true");
  element.append(gutter);
  const role = roleClass(row.r);
  if (row.r !== undefined) {
    const glyph = make("span", { className: `glyph ${role}`, textContent: GLYPHS[role] ?? "\u00b7", title: row.r });
    glyph.setAttribute("aria-hidden", "true");
    element.append(glyph, make("span", { className: "hidden", textContent: NAMES[role] ?? row.r }));
  }
  if (row.l !== undefined) element.append(make("span", { className: "label", textContent: row.l }));
  for (const lane of row.w ?? []) element.append(make("span", { className: "lane", textContent: lane }));
  element.append(make("span", { className: "line", textContent: row.x }));
  element.title = `${row.id} ${when(row)}`;
  element.addEventListener("click", () => {
    cursor = place;
    select(at);
    closeDrawer();
  });
  return element;
}

function showCursor() {
  const box = $("tree");
  const top = cursor * ROW;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
  drawTree();
}

function moveCursor(by) {
  cursor = Math.min(Math.max(cursor + by, 0), Math.max(shownRows.length - 1, 0));
  showCursor();
}

function cursorTo(at) {
  let row = at;
  while (row !== undefined && row >= 0 && !rowPlace.has(row)) row = rows[row].p;
  cursor = rowPlace.get(row) ?? 0;
  showCursor();
}

function setFilter(name) {
  state.filter = name;
  $("filter").value = name;
  const kept = shownRows[cursor];
  filterRows();
  cursorTo(kept ?? state.at);
}
