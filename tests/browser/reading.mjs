// From the overview to the planted cause: by keys, by links without a script, and what else keys and buttons do.

import assert from "node:assert/strict";

import { PATIENCE, open, waitFor } from "./visitor.mjs";

// What the candidate does wrong, as an exchange shows it.
const PLANTED = /100[\s\S]*999/;
const MOST_PAGES = 3;

// The element that has the focus, with the row that it is in.
const focused = (page) => page.evaluate(() => document.activeElement.closest("tr")?.textContent ?? document.activeElement.textContent);

async function press(page, key, pressed) {
  pressed.push(key);
  await page.keyboard.press(key);
}

async function keys_alone_lead_to_the_planted_cause(visitor, { plain }) {
  const page = await visitor.page();
  await open(page, plain);
  const pressed = [];
  let pages = 0;
  while (!new URL(page.url()).pathname.startsWith("/mismatches/")) {
    assert.ok(pages < MOST_PAGES, `${page.url()} after ${pressed}`);
    // To a row that tells of the price, or where the page is of nothing else, to its first one.
    const isOfIt = /price/.test(await page.locator("h1").innerText());
    for (let row = 0; row < 30; row += 1) {
      await press(page, "j", pressed);
      if (isOfIt || /price/.test(await focused(page))) break;
    }
    const before = page.url();
    await press(page, "Enter", pressed);
    await page.waitForURL((address) => address.href !== before, { timeout: PATIENCE });
    await page.locator(".bar").waitFor();
    pages += 1;
  }
  await press(page, "n", pressed);
  assert.match(await page.locator("main").innerText(), PLANTED);
  assert.match(await focused(page), /100|999/);
  const difference = page.url();
  // And back up.
  await page.keyboard.press("u");
  await page.waitForURL((address) => address.href !== difference);
  return `${pages} pages, ${pressed.length} keys: ${pressed.join(" ")}`;
}

async function links_alone_lead_to_the_planted_cause_without_a_script(visitor, { plain }) {
  const page = await visitor.page({ javaScriptEnabled: false });
  await page.goto(plain);
  let clicks = 0;
  while (!new URL(page.url()).pathname.startsWith("/mismatches/")) {
    assert.ok(clicks < MOST_PAGES, page.url());
    const rows = page.locator("main tbody tr:visible:has(a[href^='/'])").filter({ hasText: /price/ });
    const row = (await rows.count()) ? rows.first() : page.locator("main tbody tr:visible:has(a[href^='/'])").first();
    await row.locator("a[href^='/']").first().click();
    await page.waitForLoadState();
    clicks += 1;
  }
  assert.match(await page.locator("main").innerText(), PLANTED);
  return `${clicks} clicks`;
}

async function keys_do_what_they_say(visitor, { plain }) {
  const page = await visitor.page({ permissions: ["clipboard-read", "clipboard-write"] });
  await open(page, `${plain}/groups?tab=all`);
  const at = () => page.evaluate(() => [...document.querySelectorAll("main tbody > tr")].findIndex((row) => row.contains(document.activeElement)));
  const rows = [];
  for (const key of ["j", "j", "k", "k", "k", "j"]) {
    await page.keyboard.press(key);
    rows.push(await at());
  }
  assert.deepEqual(rows, [0, 1, 0, 0, 0, 1]);
  // The focus is seen.
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, "none");
  // With a modifier, a key is the browser's own.
  for (const key of ["Control+j", "Alt+j", "Meta+j"]) await page.keyboard.press(key);
  assert.equal(await at(), 1);
  await page.keyboard.press("y");
  await waitFor("the address", async () => (await page.evaluate(() => navigator.clipboard.readText())) === page.url());
  // Where somebody types, a key is a letter.
  await page.keyboard.press("/");
  await page.keyboard.type("jkoy?/");
  assert.equal(await page.locator("main input[type=search]").inputValue(), "jkoy?/");
  assert.equal(await page.locator("dialog[open]").count(), 0);
  // They can be switched off, and on again.
  await open(page, plain);
  await page.keyboard.press("?");
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.press("j");
  assert.equal(await at(), -1);
  await page.locator("dialog input[type=checkbox]").uncheck();
  await page.keyboard.press("Escape");
  await open(page, `${plain}/groups?tab=all`);
  await page.keyboard.press("j");
  await page.keyboard.press("?");
  assert.equal(await at(), -1);
  assert.equal(await page.locator("dialog[open]").count(), 0);
  await page.getByRole("button", { name: "Keys" }).click();
  await page.locator("dialog input[type=checkbox]").check();
  await page.locator("dialog").getByRole("button", { name: "Close" }).click();
  await page.keyboard.press("j");
  assert.equal(await at(), 0);
  // From where there is no filter, it leads to one.
  await open(page, plain);
  await page.keyboard.press("/");
  await page.waitForURL(/\/groups/);
  await waitFor("the filter", () => page.evaluate(() => document.activeElement?.matches("main input[type=search]")));
}

// To the newest exchange of the group of prices, by links.
async function exchange_of_prices(page, plain) {
  await open(page, `${plain}/groups?of_route=GET%20/prices/%7Bid%7D`);
  for (const path of ["/groups/", "/mismatches/"]) {
    // Those in a column of times are in order; that of an example may be any.
    await page.locator(path === "/groups/" ? `main a[href^='${path}']` : `main td.time a[href^='${path}']`).first().click();
    await page.waitForURL((address) => address.pathname.startsWith(path));
    await page.locator(".bar").waitFor();
  }
}

async function keys_lead_from_difference_to_difference_and_from_exchange_to_exchange(visitor, { plain }) {
  const page = await visitor.page();
  await exchange_of_prices(page, plain);
  // What is marked, and its place among all that could be.
  const here = () => page.evaluate(() => {
    const one = document.querySelector("[data-here]");
    return one && { isFinding: one.hasAttribute("data-difference"), isFocused: one === document.activeElement, text: one.textContent };
  });
  const differences = await page.locator("main [data-difference]").count();
  assert.ok(differences >= 1, "the server marks differences");
  for (let at = 0; at < differences; at += 1) {
    await page.keyboard.press("n");
    const found = await here();
    assert.ok(found.isFinding && found.isFocused, `${at}: ${JSON.stringify(found)}`);
    assert.match(found.text, /price/);
  }
  // Behind the findings, the bodies; and back.
  await page.keyboard.press("n");
  const body = await here();
  assert.ok(!body.isFinding && /100|999/.test(body.text), JSON.stringify(body));
  await page.keyboard.press("p");
  assert.ok((await here()).isFinding);
  const newest = page.url();
  const place = () => page.locator("nav.pager span").innerText();
  assert.match(await place(), /^1 of /);
  await page.keyboard.press("]");
  await page.waitForURL((address) => address.href !== newest);
  await page.locator(".bar").waitFor();
  assert.match(await place(), /^2 of /);
  const second = page.url();
  await page.keyboard.press("[");
  await page.waitForURL((address) => address.href !== second);
  await page.locator(".bar").waitFor();
  assert.equal(new URL(page.url()).pathname, new URL(newest).pathname);
  // The page of a group has its differences marked, too.
  await page.keyboard.press("u");
  await page.waitForURL(/\/groups\//);
  await page.locator(".bar").waitFor();
  await page.keyboard.press("n");
  assert.match((await here()).text, /100[\s\S]*999/);
}

async function what_is_copied_is_of_use_elsewhere(visitor, { plain }) {
  const page = await visitor.page({ permissions: ["clipboard-read", "clipboard-write"] });
  await exchange_of_prices(page, plain);
  const copies = async (button, wanted) => {
    await button.click();
    let copied = "";
    await waitFor(`${wanted}`, async () => wanted.test(copied = await page.evaluate(() => navigator.clipboard.readText())));
    await waitFor("the word for it", async () => (await button.innerText()) === "Copied");
    return copied;
  };
  const behind = (selector) => page.locator(`${selector} + button.copy`).first();
  await copies(behind("[data-difference] code"), /^\/price$/);
  await page.locator("details.copies > summary").click();
  const link = await copies(behind("a[rel=bookmark]"), /^http:/);
  assert.ok(link.startsWith(`${plain}/mismatches/`), link);
  const other = await visitor.page();
  await open(other, link);
  assert.match(await other.locator("main").innerText(), PLANTED);
  await copies(behind("#curl"), /^curl .*SERVICE/s);
}

async function the_list_of_keys_is_the_documented_one(visitor, { plain, documented }) {
  const page = await visitor.page();
  await open(page, plain);
  const listed = await page.evaluate(() => [...document.querySelectorAll("dialog dt")].map((term) => [
    [...term.querySelectorAll("kbd")].map((key) => key.textContent).join(" "),
    term.nextElementSibling.textContent,
  ]));
  assert.deepEqual(listed, documented);
}

async function the_tab_key_reaches_the_content_first(visitor, { plain }) {
  const page = await visitor.page();
  await open(page, plain);
  await page.keyboard.press("Tab");
  const skip = page.locator("a.skip");
  assert.ok(await skip.evaluate((link) => link === document.activeElement));
  assert.ok((await skip.boundingBox()).x >= 0, "it is seen");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.ok(await page.evaluate(() => document.querySelector("main").contains(document.activeElement)));
}

export default [
  keys_alone_lead_to_the_planted_cause,
  links_alone_lead_to_the_planted_cause_without_a_script,
  keys_do_what_they_say,
  keys_lead_from_difference_to_difference_and_from_exchange_to_exchange,
  what_is_copied_is_of_use_elsewhere,
  the_list_of_keys_is_the_documented_one,
  the_tab_key_reaches_the_content_first,
];
