// The session as data: rows in the order of the tree, each with its parent above it.
const data = JSON.parse(document.getElementById("data").textContent);
const rows = data.rows;
const byId = new Map(rows.map((row, at) => [row.id, at]));
const children = rows.map(() => []);
const roots = [];
rows.forEach((row, at) => (row.p === undefined ? roots : children[row.p]).push(at));

// What is looked at: the path to `tip`, and the entry `at` on it.
const state = { tip: -1, at: -1, path: [], onPath: new Set(), filter: "default" };

const $ = (id) => document.getElementById(id);

function make(name, properties = {}, ...inner) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...inner);
  return element;
}

// The end of the branch that goes on from a row: by way of the current path where that leads
// there, else by the newest child.
function tipBelow(at) {
  for (;;) {
    const next = children[at];
    if (next.length === 0) return at;
    at = next.find((child) => rows[child].a) ?? next[next.length - 1];
  }
}

function pathTo(tip) {
  const path = [];
  for (let at = tip; at !== undefined && at >= 0; at = rows[at].p) path.push(at);
  return path.reverse();
}

function siblings(at) {
  return rows[at].p === undefined ? roots : children[rows[at].p];
}

// The row and those above it that stand at a fork.
function forkAtOrAbove(at) {
  for (; at !== undefined && at >= 0; at = rows[at].p) {
    if (siblings(at).length > 1) return at;
  }
  return undefined;
}

const GLYPHS = { user: "\u203a", assistant: "\u25c6", tool: "\u2699", system: "\u00a7", developer: "\u00a7" };
const NAMES = { user: "User", assistant: "Assistant", tool: "Tool", system: "System", developer: "Developer" };

function roleClass(role) {
  return Object.hasOwn(NAMES, role ?? "") ? role : "other";
}

function when(row) {
  return row.m === undefined ? "" : new Date(row.m).toLocaleString();
}

function size(bytes) {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) {
    bytes /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? bytes : bytes.toFixed(1)} ${units[unit]}`;
}

let telling;
function tell(text) {
  $("told").textContent = text;
  clearTimeout(telling);
  telling = setTimeout(() => ($("told").textContent = ""), 2500);
}
