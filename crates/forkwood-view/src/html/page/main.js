// Puts the parts together, and keeps what is looked at in the address.
function select(at, { focus = false } = {}) {
  state.at = at;
  if (!state.onPath.has(at)) lookAt(tipBelow(at));
  cursorTo(at);
  showEntry(at, { focus });
  remember();
}

function lookAt(tip) {
  state.tip = tip;
  state.path = pathTo(tip);
  state.onPath = new Set(state.path);
  drawTranscript();
}

function branch(at, by) {
  const beside = siblings(at);
  const to = beside[beside.indexOf(at) + by];
  if (to === undefined) {
    tell(by > 0 ? "this is the last branch" : "this is the first branch");
    return;
  }
  select(to, { focus: !inTree() });
  tell(`branch ${beside.indexOf(to) + 1} of ${beside.length}`);
}

let quiet = false; // the address is being changed by this page
function remember() {
  const parts = new URLSearchParams();
  if (state.at >= 0) parts.set("at", rows[state.at].id);
  if (state.tip >= 0 && state.tip !== data.leaf) parts.set("leaf", rows[state.tip].id);
  const address = `#${parts}`;
  if (address === location.hash) return;
  try {
    history.replaceState(null, "", address);
  } catch {
    quiet = true;
    location.hash = address;
  }
}

function fromAddress() {
  if (quiet) {
    quiet = false;
    return;
  }
  const parts = new URLSearchParams(location.hash.slice(1));
  const at = byId.get(parts.get("at") ?? "");
  const leaf = byId.get(parts.get("leaf") ?? "");
  const start = data.leaf ?? (rows.length > 0 ? tipBelow(roots[roots.length - 1]) : -1);
  let tip = leaf ?? start;
  if (at !== undefined && !pathTo(tip).includes(at)) tip = tipBelow(at);
  state.at = at ?? tip;
  lookAt(tip);
  filterRows();
  cursorTo(state.at);
  if (at !== undefined) showEntry(at);
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  keep("forkwood-theme", root.dataset.theme);
}

// A page opened from a file may have no storage.
function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // It is asked for again next time.
  }
}

function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function closeDrawer() {
  document.body.classList.remove("drawer");
  $("drawer").setAttribute("aria-expanded", "false");
}

function start() {
  const theme = kept("forkwood-theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  $("title").textContent = data.title;
  $("facts").append(make("code", { textContent: data.session }));
  for (const [name, value] of data.facts) $("facts").append(make("span", { textContent: `${name} ${value}` }));
  for (const [keys, text] of KEYS) {
    const names = keys.split(" ").map((key) => make("kbd", { textContent: key.replace("Arrow", "") }));
    $("keys").append(make("dt", {}, ...names), make("dd", { textContent: text }));
  }
  let frame = 0;
  $("tree").addEventListener("scroll", () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(drawTree);
  });
  addEventListener("resize", drawTree);
  addEventListener("hashchange", fromAddress);
  addEventListener("beforeprint", () => {
    fillAll();
    document.querySelectorAll("details").forEach((one) => {
      one.dataset.was = String(one.open);
      one.open = true;
    });
  });
  addEventListener("afterprint", () => document.querySelectorAll("details").forEach((one) => (one.open = one.dataset.was === "true")));
  let waiting;
  $("query").addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => search(event.target.value), 120);
  });
  $("next-hit").addEventListener("click", () => nextHit(1));
  $("previous-hit").addEventListener("click", () => nextHit(-1));
  $("filter").addEventListener("change", (event) => setFilter(event.target.value));
  $("theme").addEventListener("click", switchTheme);
  $("help-open").addEventListener("click", openHelp);
  $("drawer").addEventListener("click", () => {
    const shown = document.body.classList.toggle("drawer");
    $("drawer").setAttribute("aria-expanded", String(shown));
    if (shown) $("tree").focus();
    drawTree();
  });
  fromAddress();
}

start();
