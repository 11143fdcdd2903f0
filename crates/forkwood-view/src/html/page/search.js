// Search in all branches. Texts are taken out of their markup once, when first asked for.
let texts;
let hits = [];
let hit = -1;
let needle = "";

function textOf(row) {
  const parts = [row.x, row.l ?? ""];
  for (const part of row.b?.parts ?? []) {
    if (part.html !== undefined) {
      const holder = document.createElement("template"); // inert: nothing in it is loaded or run
      holder.innerHTML = part.html;
      parts.push(holder.content.textContent);
    } else {
      parts.push(part.name ?? "", part.text ?? "");
    }
  }
  return parts.join("\n").toLowerCase();
}

function search(query) {
  needle = query.trim().toLowerCase();
  hits = [];
  hit = -1;
  if (needle !== "") {
    texts ??= rows.map(textOf);
    texts.forEach((text, at) => text.includes(needle) && hits.push(at));
  }
  tellHits();
  markHits(document);
}

function tellHits() {
  const some = hits.length > 0;
  $("previous-hit").hidden = !some;
  $("next-hit").hidden = !some;
  $("found").textContent = needle === "" ? "" : some ? `${hit < 0 ? "" : `${hit + 1} of `}${hits.length}` : "nothing found";
}

function nextHit(by) {
  if (hits.length === 0) return;
  if (hit < 0) {
    // The first one from where the reader is.
    const after = hits.findIndex((at) => at >= state.at);
    hit = by > 0 ? (after < 0 ? 0 : after) : (after < 0 ? hits.length : after) - 1;
    if (hit < 0) hit = hits.length - 1;
  } else {
    hit = (hit + by + hits.length) % hits.length;
  }
  tellHits();
  select(hits[hit]);
  const element = $(`entry-${hits[hit]}`);
  element?.querySelectorAll("details").forEach((one) => {
    if (one.textContent.toLowerCase().includes(needle)) one.open = true;
  });
}

// Marks what was searched for in what is drawn, without a change of the document.
function markHits(within) {
  if (!("highlights" in CSS)) return;
  if (within === document) CSS.highlights.delete("hit");
  if (needle === "") return;
  const marked = CSS.highlights.get("hit") ?? new Highlight();
  const blocks = within === document ? $("blocks") : within;
  const walker = document.createTreeWalker(blocks, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node.data.toLowerCase();
    if (text.length !== node.data.length) continue; // places would not agree
    for (let from = text.indexOf(needle); from >= 0; from = text.indexOf(needle, from + needle.length)) {
      const range = new Range();
      range.setStart(node, from);
      range.setEnd(node, from + needle.length);
      marked.add(range);
    }
  }
  CSS.highlights.set("hit", marked);
}
