// The pages in a real browser: started by tests/it/browser.rs, which has put mirrors and pages there to look at.
//
//   node run.mjs STAGE.json     says what was checked, and exits with 1 if something of it was wrong
//
// One browser does all checks, each in a context of its own. A check that fails does not keep the others from being made.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { Visitor } from "./visitor.mjs";
import screens from "./screens.mjs";
import reading from "./reading.mjs";
import live from "./live.mjs";
import pictures from "./pictures.mjs";

const stage = JSON.parse(readFileSync(process.argv[2], "utf8"));
const require = createRequire(`${stage.modules}/`);
const { chromium } = require("playwright-core");
stage.axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const browser = await chromium.launch({ executablePath: stage.chromium, headless: true, args: flags });
// What ends the processes comes last.
const checks = [...screens, ...reading, ...(stage.pictures ? pictures : []), ...live]
  .filter(({ name }) => !stage.only || name.includes(stage.only));

let failed = 0;
for (const check of checks) {
  const began = performance.now();
  const visitor = new Visitor(browser, stage);
  let outcome = "ok";
  let said = "";
  try {
    said = (await check(visitor, stage)) ?? "";
    visitor.assertQuiet();
  } catch (error) {
    failed += 1;
    outcome = "FAILED";
    said = error.stack ?? `${error}`;
    if (visitor.troubles.length) said += `\nin the browser: ${visitor.troubles.join("\n")}`;
  }
  await visitor.leave();
  console.log(`${outcome} ${check.name} (${((performance.now() - began) / 1000).toFixed(1)} s) ${said}`);
}
await browser.close();
process.exitCode = failed ? 1 : 0;
