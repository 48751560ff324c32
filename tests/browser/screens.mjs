// Every screen, with tame and with hostile content: nothing is executed, refused or wider than the window, and axe finds nothing
// serious.

import assert from "node:assert/strict";

import { assertHarmless, open } from "./visitor.mjs";

const SCREENS = ["/", "/history", "/causes", "/groups?tab=all", "/routes", "/noise", "/rules", "/decisions", "/report", "/health"];
const SCHEMES = ["light", "dark"];
const WIDTHS = [360, 1920];
// Pages of one kind, as many as are looked at: those of the hostile ones differ.
const EACH = 10;

// How much wider than its window a page is, at each width.
async function assertFits(page) {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    const over = await page.evaluate(() => document.scrollingElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(over <= 0, `${page.url()} at ${width} px is ${over} px too wide`);
  }
}

// All screens, and some of each kind of page that they lead to.
async function each(page, base, look) {
  const found = new Map();
  const next = SCREENS.map((path) => base + path);
  const seen = new Set(next);
  for (const address of next) {
    await open(page, address);
    await look();
    const links = await page.evaluate(() => [...document.querySelectorAll("main a[href^='/']")].map((link) => link.href));
    for (const link of links) {
      const { pathname, searchParams } = new URL(link);
      const kind = `${pathname.split("/")[1]} ${searchParams.has("split")}`;
      if (seen.has(link) || pathname.startsWith("/api/") || (found.get(kind) ?? 0) >= EACH) continue;
      found.set(kind, (found.get(kind) ?? 0) + 1);
      seen.add(link);
      next.push(link);
    }
  }
  return next.length;
}

async function nothing_of_a_hostile_corpus_is_executed(visitor, { hostile, ui }) {
  const page = await visitor.page();
  let pages = 0;
  let text = "";
  for (const base of [hostile, ui]) {
    pages += await each(page, base, async () => {
      await assertHarmless(page);
      await assertFits(page);
      text += await page.locator("main").innerText();
    });
  }
  // The corpus is there, as text.
  for (const told of ["<script>", "</script>", "onerror=", "onload=", "{{7*7}}", "javascript:", "\\u{202e}", "\\u{1b}["]) {
    assert.ok(text.includes(told), told);
  }
  // Neither does it come alive by a swap.
  for (const path of ["/", "/causes", "/groups?tab=all", "/report"]) {
    await open(page, hostile + path);
    const swapped = await page.evaluate(async () => {
      const { refresh } = await import("/assets/page.js");
      const main = document.querySelector("main");
      main.replaceChildren();
      return (await refresh(main, undefined, () => true)) && main.children.length;
    });
    assert.ok(swapped > 1, path);
    await assertHarmless(page);
  }
  return `${pages} pages, each at ${WIDTHS.join(" and ")} px`;
}

// One of each kind of page, as they lead to each other.
async function kinds(page, base) {
  const all = [...SCREENS.map((path) => base + path), `${base}/groups/0123456789abcdef`];
  const follow = async (selector) => {
    const address = await page.evaluate((link) => document.querySelector(link).href, `main a[href^='${selector}`);
    all.push(address);
    await open(page, address);
  };
  await open(page, `${base}/decisions`);
  await follow("/decisions/']");
  await open(page, `${base}/groups?tab=all`);
  await follow("/groups/']");
  await follow("/mismatches/']");
  await follow("/mismatches/'][href*='split=']");
  return all;
}

async function axe_finds_nothing_serious_and_no_page_is_wider_than_its_window(visitor, { plain, axe }) {
  visitor.expect("404");
  const page = await visitor.page();
  const counts = { critical: 0, serious: 0, moderate: 0, minor: 0 };
  const findings = new Map();
  const pages = await kinds(page, plain);
  for (const address of pages) {
    await open(page, address);
    await assertFits(page);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.evaluate(axe);
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      for (const { impact, id, nodes } of violations) {
        counts[impact] += nodes.length;
        const key = `${impact} ${id}`;
        if (!findings.has(key)) findings.set(key, `${address} (${colorScheme}): ${nodes[0].html} ${nodes[0].failureSummary}`);
      }
    }
  }
  const told = `${pages.length} pages, ${SCHEMES.join(" and ")}: ${JSON.stringify(counts)} ${[...findings.keys()].join(", ")}`;
  const grave = [...findings].filter(([key]) => /^(critical|serious)/.test(key));
  assert.deepEqual(grave, [], told);
  return told;
}

export default [
  nothing_of_a_hostile_corpus_is_executed,
  axe_finds_nothing_serious_and_no_page_is_wider_than_its_window,
];
