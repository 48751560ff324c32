// A page that is open: it shows what is new without being loaded again, and says when it cannot.

import assert from "node:assert/strict";

import { open, waitFor, waitForState } from "./visitor.mjs";

// A request whose answers differ, on a route of its own.
async function differ(proxy, name) {
  await (await fetch(`${proxy}/${name}/1`)).arrayBuffer();
}

async function what_is_new_comes_without_a_reload_and_leaves_the_reader_alone(visitor, { plain, proxy }) {
  const page = await visitor.page();
  await open(page, `${plain}/groups?tab=all`);
  await waitForState(page, "live");
  await page.evaluate(() => { window.same = true; });
  const row = page.locator("main tbody tr").filter({ hasText: "/prices/" }).first();
  const link = await row.locator("a").first().elementHandle();
  await link.focus();
  await page.evaluate(() => scrollTo(0, 40));
  const scrolled = await page.evaluate(() => scrollY);
  await differ(proxy, "fresh");
  await page.locator("main tbody tr").filter({ hasText: "/fresh/" }).first().waitFor();
  assert.ok(await page.evaluate(() => window.same), "the document is the same");
  assert.ok(await link.evaluate((one) => one === document.activeElement), "the focus stays");
  assert.equal(await page.evaluate(() => scrollY), scrolled);
  // Who types is waited for.
  const find = page.locator("main input[type=search]");
  await find.fill("some");
  await differ(proxy, "second");
  await page.locator(".live").filter({ hasText: "waits" }).waitFor();
  assert.equal(await page.locator("main tbody tr").filter({ hasText: "/second/" }).count(), 0);
  assert.equal(await find.inputValue(), "some");
  await find.blur();
  await page.locator("main tbody tr").filter({ hasText: "/second/" }).first().waitFor();
  assert.equal(await find.inputValue(), "some");
  // So is who has paused it.
  await page.getByRole("button", { name: "Pause" }).click();
  await waitForState(page, "paused");
  assert.match(await page.locator(".live").innerText(), /^paused, last updated \d\d:\d\d:\d\d$/);
  await differ(proxy, "third");
  await waitFor("the record", async () => (await (await fetch(`${plain}/groups?tab=all`)).text()).includes("/third/"));
  assert.equal(await page.locator("main tbody tr").filter({ hasText: "/third/" }).count(), 0);
  await page.getByRole("button", { name: "Go on" }).click();
  await page.locator("main tbody tr").filter({ hasText: "/third/" }).first().waitFor();
  // What was opened stays open, on the overview, too.
  await open(page, plain);
  await waitForState(page, "live");
  const details = page.locator("main details").first();
  await details.locator("summary").first().click();
  await differ(proxy, "fourth");
  await waitFor("the overview", async () => (await page.locator("main").innerText()).includes("/fourth/"));
  assert.equal(await details.getAttribute("open"), "");
}

async function a_page_says_when_its_process_has_ended(visitor, { plain, pid }) {
  visitor.expect("ERR_CONNECTION_REFUSED");
  visitor.expect("ERR_INCOMPLETE_CHUNKED_ENCODING");
  const page = await visitor.page();
  await open(page, plain);
  await waitForState(page, "live");
  process.kill(pid, "SIGTERM");
  await waitForState(page, "lost");
  assert.match(await page.locator(".live").innerText(), /^connection lost, last updated \d\d:\d\d:\d\d$/);
  // What it showed is still there.
  assert.match(await page.locator("main").innerText(), /compared requests differ/);
}

export default [
  what_is_new_comes_without_a_reload_and_leaves_the_reader_alone,
  a_page_says_when_its_process_has_ended,
];
