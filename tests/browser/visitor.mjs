// Somebody with a browser: opens pages, and notes everything that must not happen on one.

import assert from "node:assert/strict";

// Far longer than anything here takes, so that a slow machine is no failure.
export const PATIENCE = 60_000;

export class Visitor {
  constructor(browser, stage) {
    this.browser = browser;
    this.stage = stage;
    this.troubles = [];
    this.expected = [];
    this.contexts = [];
  }

  // A new page of a context of its own.
  async page(options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    this.contexts.push(context);
    context.setDefaultTimeout(PATIENCE);
    if (options.javaScriptEnabled !== false) {
      await context.addInitScript(() => {
        window.violations = [];
        document.addEventListener("securitypolicyviolation", (event) => {
          window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
        });
      });
    }
    const page = await context.newPage();
    const note = (what) => {
      if (!this.expected.some((text) => what.includes(text))) this.troubles.push(`${page.url()}: ${what}`);
    };
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) note(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => note(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      note(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on("popup", () => note("a window was opened"));
    const ours = [this.stage.plain, this.stage.hostile, this.stage.ui];
    page.on("request", (request) => {
      if (!ours.includes(new URL(request.url()).origin)) note(`asked another origin: ${request.url()}`);
    });
    return page;
  }

  // From now on this may stand in the console.
  expect(text) {
    this.expected.push(text);
  }

  assertQuiet() {
    assert.deepEqual(this.troubles, []);
  }

  async leave() {
    for (const context of this.contexts) await context.close();
  }
}

// Opens an address, and waits until its script has done what it does.
export async function open(page, address) {
  // Modules have run by then.
  await page.goto(address, { waitUntil: "domcontentloaded" });
  await page.locator(".bar").waitFor();
}

// Nothing was refused by the policy, and nothing that came from a service was executed.
export async function assertHarmless(page) {
  const found = await page.evaluate(() => ({
    violations: window.violations,
    executed: window.executed ?? null,
    elements: [...document.querySelectorAll("main :is(img, iframe, script, object, embed, style, link, base, meta, [onerror], [onload], [onclick])")].map((one) => one.outerHTML),
    schemes: [...document.querySelectorAll("[href], [action]")].map((one) => one.getAttribute("href") ?? one.getAttribute("action")).filter((link) => !/^[/#]/.test(link)),
  }));
  assert.deepEqual(found, { violations: [], executed: null, elements: [], schemes: [] }, page.url());
}

export async function waitFor(what, look) {
  const began = Date.now();
  for (;;) {
    const found = await look();
    if (found) return found;
    assert.ok(Date.now() - began < PATIENCE, `waited in vain for ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

// Waits until a page says this of itself.
export async function waitForState(page, state) {
  await page.locator(`.live[data-state=${state}]`).waitFor();
}
