// Opens a page that `forkwood export --to html` made, and does with it what a reader does.
//
//   node page.mjs WORKFLOW FILE [FOLDER FOR SCREENSHOTS]
//
// WORKFLOW: reading | hostile | large. Ends with 0 where all is as it should be.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The modules stand where the tests put them, which need not be beside this file.
const require = createRequire(join(process.env.FORKWOOD_BROWSER_MODULES ?? import.meta.dirname, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [workflow, file, shots] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.FORKWOOD_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"], // in a container as root there is none
});

async function open({ width = 1280, height = 800, scheme = "light", hash = "" } = {}) {
  // The check for accessibility is put in by the browser, past the policy of the page.
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
  const page = await context.newPage();
  const seen = { requests: [], dialogs: [], errors: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("dialog", (dialog) => {
    seen.dialogs.push(dialog.message());
    return dialog.dismiss();
  });
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && seen.errors.push(message.text()));
  const url = pathToFileURL(file).href + hash;
  await page.goto(url);
  await page.locator("#blocks > *").first().waitFor();
  return { page, seen };
}

function quiet(seen) {
  const foreign = seen.requests.filter((url) => !url.startsWith("file:") && !url.startsWith("data:"));
  assert.deepEqual(foreign, [], "no request leaves the page");
  assert.equal(seen.requests.filter((url) => url.startsWith("file:")).length, 1, "the page is one file");
  assert.deepEqual(seen.dialogs, []);
  assert.deepEqual(seen.errors, []);
}

async function accessible(page, name) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }));
  const told = violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(" | ")}`);
  assert.deepEqual(told, [], `${name} is accessible`);
}

const here = (page) => page.evaluate(() => document.querySelector(".entry.here")?.innerText ?? "");
const path = (page) => page.locator("#blocks .entry").allInnerTexts();

const workflows = {
  async reading() {
    const { page, seen } = await open();
    // Where the session stands is what is shown first.
    assert.ok((await path(page)).some((text) => text.includes("go on with plan B")));
    assert.ok(!(await path(page)).some((text) => text.includes("plan A, then")));
    // The other branch is a click away, and back.
    await page.getByRole("button", { name: "Previous branch" }).first().click();
    await page.getByText("plan A, then").first().waitFor();
    assert.ok(!(await path(page)).some((text) => text.includes("go on with plan B")));
    assert.match(await page.evaluate(() => location.hash), /at=.*leaf=/);
    await page.getByRole("button", { name: "Next branch" }).first().click();
    await page.getByText("go on with plan B").first().waitFor();
    // So it is by keys.
    await page.locator("#transcript").focus();
    await page.keyboard.press("[");
    assert.ok((await path(page)).some((text) => text.includes("plan A, then")));
    await page.keyboard.press("]");
    // Tool calls are folded, and open by a key.
    const call = page.locator("details.call").first();
    assert.equal(await call.evaluate((one) => one.open), false);
    await page.keyboard.press("t");
    assert.equal(await call.evaluate((one) => one.open), true);
    await page.keyboard.press("t");
    // A compaction is a line across that tells its tokens.
    assert.match(await page.locator(".entry.divider").first().innerText(), /compaction, 12,345 tokens before, 678 after/);
    // Search finds what stands on another branch, and goes there.
    await page.keyboard.press("/");
    await page.keyboard.type("only on a");
    await page.locator("#found", { hasText: "1" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".entry.here")?.innerText.includes("only on A"));
    await page.keyboard.press("Escape");
    // The tree: arrows move, Enter opens; the address leads back here.
    await page.locator("#tree").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    assert.match(await here(page), /which plan/);
    const active = await page.locator("#tree").getAttribute("aria-activedescendant");
    assert.equal(await page.locator(`#${active}`).getAttribute("role"), "treeitem");
    const hash = await page.evaluate(() => location.hash);
    const again = await open({ hash });
    assert.match(await here(again.page), /which plan/);
    quiet(again.seen);
    // The filter, the help.
    await page.locator("#filter").selectOption("user");
    const users = await page.locator("#tree .row .glyph.user").count();
    assert.ok(users >= 2);
    await page.keyboard.press("Escape");
    await page.locator("#transcript").focus();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    assert.ok((await page.getByRole("dialog").innerText()).includes("search all branches"));
    await page.keyboard.press("Escape");
    quiet(seen);
    for (const scheme of ["light", "dark"]) {
      for (const width of [1280, 390]) {
        const one = await open({ scheme, width, height: width === 390 ? 844 : 800 });
        await accessible(one.page, `${scheme} at ${width}`);
        assert.ok(await one.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing hangs over");
        if (shots) await one.page.screenshot({ path: join(shots, `${scheme}-${width}.png`) });
        quiet(one.seen);
      }
    }
    const small = await open({ width: 390, height: 844 });
    await small.page.getByRole("button", { name: "Tree" }).click();
    await small.page.locator("#tree .row").first().click();
    await small.page.waitForFunction(() => getComputedStyle(document.getElementById("side")).display === "none");
    // On paper everything is open and the tree is away.
    const paper = await open();
    await paper.page.emulateMedia({ media: "print" });
    const pdf = await paper.page.pdf();
    assert.ok(pdf.length > 1000);
    assert.equal(await paper.page.locator("#side").isVisible(), false);
    // The button changes the theme whatever the system says.
    const back = () => paper.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await paper.page.emulateMedia({ media: "screen" });
    const before = await back();
    await paper.page.getByRole("button", { name: "Theme" }).click();
    assert.notEqual(await back(), before);
  },

  async hostile() {
    const { page, seen } = await open();
    await page.keyboard.press("t");
    await page.keyboard.press("i");
    await page.evaluate(() => document.querySelectorAll("summary, button, .row").forEach((one) => one.click()));
    assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
    const bad = await page.evaluate(() => [...document.querySelectorAll("#panes *")].filter((one) =>
      ["SCRIPT", "IFRAME", "OBJECT", "EMBED", "SVG", "STYLE", "LINK", "FORM", "BASE", "META"].includes(one.tagName.toUpperCase()) ||
      one.getAttributeNames().some((name) => name.startsWith("on")) ||
      /^\s*(javascript|data|vbscript):/i.test(one.getAttribute("href") ?? "")).map((one) => one.outerHTML.slice(0, 200)));
    assert.deepEqual(bad, []);
    quiet(seen);
  },

  async large() {
    const { page, seen } = await open();
    const count = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).rows.length);
    assert.ok(count >= 10_000, `${count} entries`);
    // Only what is near the window is drawn, at the start and after a way through all of it.
    const drawn = () => page.evaluate(() => [document.querySelectorAll("#tree .row").length, document.querySelectorAll("#blocks .entry").length]);
    for (const key of ["g", "G", "g"]) {
      await page.locator("#transcript").focus();
      await page.keyboard.press(key);
    }
    const [treeRows, entries] = await drawn();
    assert.ok(treeRows > 0 && treeRows < 100, `${treeRows} rows of the tree`);
    assert.ok(entries > 0 && entries < 1000, `${entries} entries`);
    await page.keyboard.press("/");
    await page.keyboard.type("needle in the middle");
    await page.keyboard.press("Enter");
    await page.locator("#found", { hasText: "1" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".entry.here")?.innerText.includes("needle in the middle"));
    quiet(seen);
  },
};

try {
  assert.ok(Object.hasOwn(workflows, workflow), `one of ${Object.keys(workflows).join(", ")}`);
  await workflows[workflow]();
} finally {
  await browser.close();
}
