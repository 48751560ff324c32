// Every screen, with tame and with hostile content: nothing is executed, refused or wider than the window, and axe finds nothing
// serious.

import assert from "node:assert/strict";

import { assertHarmless, open, waitFor } from "./visitor.mjs";

const SCREENS = ["/", "/history", "/causes", "/groups?tab=all", "/routes", "/routes?of_route=GET%20%2Fnone", "/noise", "/rules", "/decisions", "/audit", "/report", "/health"];
const SCHEMES = ["light", "dark"];
const WIDTHS = [360, 1920];
// At which axe looks: at the narrow one, tables are wider than the window.
const LOOKED_AT = [390, 1280];
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

// On a narrow screen the head leaves room for what it is the head of, and the texts of a chart can be read.
async function a_narrow_screen_shows_what_counts(visitor, { plain }) {
  const page = await visitor.page({ viewport: { width: 360, height: 640 } });
  const told = [];
  for (const path of ["/", "/history", "/groups", "/routes", "/routes?of_route=GET%20%2Fprices%2F%7Bid%7D"]) {
    await open(page, plain + path);
    const found = await page.evaluate(() => {
      const seen = [...document.querySelectorAll(".chart")].filter((one) => one.checkVisibility());
      const texts = seen.flatMap((one) => [...one.querySelectorAll("text")]);
      const table = document.querySelector("main .table");
      return {
        head: document.querySelector("header").getBoundingClientRect().height,
        charts: seen.length,
        text: Math.min(...texts.map((one) => one.getBoundingClientRect().height)),
        over: table ? table.getBoundingClientRect().right - document.documentElement.clientWidth : 0,
        main: document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth,
      };
    });
    assert.ok(found.head <= 150, `${path}: the head has ${found.head} px`);
    if (found.charts) assert.ok(found.charts === 1 && found.text >= 10, `${path}: ${JSON.stringify(found)}`);
    assert.ok(found.over <= 0 && found.main <= 0, `${path}: ${JSON.stringify(found)}`);
    told.push(`${path} ${Math.round(found.head)} px`);
  }
  return told.join(", ");
}

// A file that a page offers is saved, and may do nothing where it is opened all the same.
async function assertSaved(page, link) {
  const answer = await page.request.get(link);
  const headers = answer.headers();
  assert.equal(answer.status(), 200, link);
  assert.match(headers["content-disposition"], /^attachment; filename="[A-Za-z0-9.-]+"$/, link);
  assert.match(headers["content-security-policy"], /^sandbox; default-src 'none'$/, link);
  assert.equal(headers["x-content-type-options"], "nosniff", link);
}

// All screens, and some of each kind of page that they lead to.
async function each(page, base, look) {
  const found = new Map();
  const next = SCREENS.map((path) => base + path);
  const seen = new Set(next);
  for (const address of next) {
    await open(page, address);
    await look();
    const hrefs = (selector) => page.evaluate((all) => [...document.querySelectorAll(all)].map((link) => link.href), selector);
    for (const file of await hrefs("main a[download]")) {
      if (seen.has(file)) continue;
      seen.add(file);
      await assertSaved(page, file);
    }
    const links = await hrefs("main a[href^='/']:not([download])");
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
  for (const told of ["<script>", "</script>", "onerror=", "onload=", "{{7*7}}", "javascript:", "\\u{202e}", "\\u001b["]) {
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
  await open(page, `${base}/routes`);
  await follow("/routes'][href*='of_route=']");
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
    await page.evaluate(axe);
    for (const width of LOOKED_AT) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme });
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        for (const { impact, id, nodes } of violations) {
          counts[impact] += nodes.length;
          const key = `${impact} ${id}`;
          const where = `${address} (${colorScheme}, ${width} px)`;
          if (!findings.has(key)) findings.set(key, `${where}: ${nodes[0].html} ${nodes[0].failureSummary}`);
        }
      }
    }
  }
  const looked = `${SCHEMES.join(" and ")}, ${LOOKED_AT.join(" and ")} px`;
  const told = `${pages.length} pages, ${looked}: ${JSON.stringify(counts)} ${[...findings.keys()].join(", ")}`;
  const grave = [...findings].filter(([key]) => /^(critical|serious)/.test(key));
  assert.deepEqual(grave, [], told);
  return told;
}

// Otherwise the checks above would not fail.
async function what_must_not_happen_is_refused_and_noticed(visitor, { plain }) {
  const page = await visitor.page();
  await open(page, plain);
  const refused = await page.evaluate(() => {
    const attempts = [
      () => { document.querySelector("main").innerHTML = "<img src=x onerror=alert(1)>"; },
      () => document.querySelector("main").setAttribute("onclick", "alert(1)"),
      () => globalThis.trustedTypes.createPolicy("other", {}),
    ];
    const isRefused = (attempt) => {
      try {
        attempt();
        return false;
      } catch {
        return true;
      }
    };
    return attempts.map(isRefused);
  });
  assert.deepEqual(refused, [true, true, true]);
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.append("window.executed = 'inline'");
    const style = document.createElement("style");
    const image = new Image();
    image.src = "http://127.0.0.1:1/";
    document.body.append(style, image);
    try {
      document.body.append(script);
    } catch {
      // It is refused.
    }
    setTimeout(() => alert("open"));
  });
  await waitFor("the dialog", () => visitor.troubles.some((trouble) => trouble.includes("dialog: open")));
  assert.ok(visitor.troubles.some((trouble) => trouble.includes("console: ")), `${visitor.troubles}`);
  await assert.rejects(assertHarmless(page));
  assert.equal(await page.evaluate(() => window.executed), undefined);
  visitor.troubles.length = 0;
}

// Forms are not refused as those of another origin, and their answers are pages like others.
async function buttons_of_forms_do_what_they_say(visitor, { plain, axe }) {
  const page = await visitor.page();
  await open(page, plain);
  for (const [now, then] of [["Stop shadowing", "Start shadowing"], ["Start shadowing", "Stop shadowing"]]) {
    await page.getByRole("button", { name: now }).click();
    await page.getByRole("button", { name: then }).waitFor();
  }
  await open(page, `${plain}/groups?of_route=GET%20/prices/%7Bid%7D`);
  for (const path of ["/groups/", "/mismatches/"]) {
    await page.locator(`main a[href^='${path}']`).first().click();
    await page.waitForURL((address) => address.pathname.startsWith(path));
  }
  await page.getByRole("button", { name: "Run again" }).click();
  await page.locator("h1").filter({ hasText: "Run again" }).waitFor();
  assert.match(await page.locator("main").innerText(), /999/);
  await assertHarmless(page);
  await assertFits(page);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.filter(({ impact }) => /critical|serious/.test(impact)), []);
}

export default [
  what_must_not_happen_is_refused_and_noticed,
  buttons_of_forms_do_what_they_say,
  nothing_of_a_hostile_corpus_is_executed,
  axe_finds_nothing_serious_and_no_page_is_wider_than_its_window,
  a_narrow_screen_shows_what_counts,
];
