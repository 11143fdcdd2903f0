// The keys, each with what it does and what the help says of it.
const KEYS = [
  ["ArrowDown j", "next entry", () => step(1)],
  ["ArrowUp k", "previous entry", () => step(-1)],
  ["PageDown", "a page of the tree on", () => inTree() && moveCursor(20)],
  ["PageUp", "a page of the tree back", () => inTree() && moveCursor(-20)],
  ["g Home", "first entry", () => jump(0)],
  ["G End", "last entry", () => jump(-1)],
  ["Enter", "open the entry of the tree", () => inTree() && open()],
  ["]", "next branch at this fork, or the fork above", () => branchHere(1)],
  ["[", "previous branch", () => branchHere(-1)],
  ["/", "search all branches", () => $("query").focus()],
  ["n", "next hit", () => nextHit(1)],
  ["N", "previous hit", () => nextHit(-1)],
  ["o", "next filter of the tree", () => cycleFilter(1)],
  ["O", "previous filter", () => cycleFilter(-1)],
  ["t", "open or close all tool calls", () => toggleAll(".call, .result", (toolsOpen = !toolsOpen))],
  ["i", "open or close all thinking", () => toggleAll(".thinking", (thinkingOpen = !thinkingOpen))],
  ["y", "copy the id", () => copyId()],
  ["d", "dark or light", () => switchTheme()],
  ["Tab", "from the tree to the conversation and back", null],
  ["?", "this help", () => openHelp()],
  ["Escape", "back", () => back()],
];

const ACTIONS = new Map(KEYS.flatMap(([keys, , action]) => keys.split(" ").map((key) => [key, action])));

function inTree() {
  return $("tree").contains(document.activeElement);
}

function open() {
  const at = shownRows[cursor];
  if (at !== undefined) select(at, { focus: true });
  return true;
}

function step(by) {
  if (inTree()) {
    moveCursor(by);
    return true;
  }
  const path = [...blockPlace.keys()];
  const now = blockPlace.get(state.at) ?? (by > 0 ? -1 : path.length);
  const next = path[Math.min(Math.max(now + by, 0), path.length - 1)];
  if (next !== undefined) select(next, { focus: true });
  return true;
}

function jump(to) {
  if (inTree()) {
    cursor = to < 0 ? Math.max(shownRows.length - 1, 0) : to;
    showCursor();
    return true;
  }
  const path = [...blockPlace.keys()];
  const next = path.at(to);
  if (next !== undefined) select(next, { focus: true });
  return true;
}

function branchHere(by) {
  const from = inTree() ? shownRows[cursor] : state.at;
  const fork = forkAtOrAbove(from);
  if (fork === undefined) tell("no fork above");
  else branch(fork, by);
  return true;
}

function cycleFilter(by) {
  const names = Object.keys(FILTERS);
  setFilter(names[(names.indexOf(state.filter) + by + names.length) % names.length]);
  tell(`tree: ${$("filter").selectedOptions[0].textContent}`);
  return true;
}

async function copyId() {
  const row = rows[state.at];
  if (row === undefined) return;
  try {
    await navigator.clipboard.writeText(row.id);
    tell(`copied ${row.id}`);
  } catch {
    tell(row.id); // no clipboard where the page was opened from a file
  }
}

function openHelp() {
  if (!$("help").open) $("help").showModal();
  return true;
}

function back() {
  if (document.activeElement === $("query")) {
    $("query").value = "";
    search("");
    $("transcript").focus();
  }
  closeDrawer();
  return false; // the browser closes a dialog by itself
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const field = event.target.closest?.("input, select, textarea");
  if (field !== null && field !== undefined && event.key !== "Escape") {
    if (field === $("query") && event.key === "Enter") nextHit(event.shiftKey ? -1 : 1);
    return;
  }
  // A button and a fold have uses of their own for this key.
  if (event.key === "Enter" && !inTree()) return;
  const action = ACTIONS.get(event.key);
  if (!action) return;
  if (action() !== false) event.preventDefault();
});
