// The pictures of docs/pages.md: one of each screen, light and dark.

import { writeFileSync } from "node:fs";

import { small } from "./palette.mjs";
import { open } from "./visitor.mjs";

const ROUTE = "GET%20%2Fprices%2F%7Bid%7D";
// What has an address that is known.
const SCREENS = [
  ["overview", "/"],
  ["history", "/history"],
  ["causes", "/causes"],
  ["groups", "/groups"],
  ["routes", "/routes"],
  ["route", `/routes?of_route=${ROUTE}`],
  ["noise", "/noise"],
  ["rules", "/rules"],
  ["decisions", "/decisions"],
  ["audit", "/audit"],
  ["report", "/report"],
  ["health", "/health"],
];
// What is reached from a page: which, and by which link.
const BEHIND = [
  ["group", `/groups?of_route=${ROUTE}`, "/groups/"],
  ["exchange", `/routes?of_route=${ROUTE}`, "/mismatches/"],
  ["decision", "/decisions", "/decisions/"],
];

async function pictures_are_taken(visitor, { plain, pictures }) {
  let bytes = 0;
  for (const colorScheme of ["light", "dark"]) {
    const page = await visitor.page({ colorScheme, viewport: { width: 1120, height: 760 } });
    const take = async (name) => {
      const picture = small(await page.screenshot());
      writeFileSync(`${pictures}/${name}-${colorScheme}.png`, picture);
      bytes += picture.length;
    };
    for (const [name, path] of SCREENS) {
      await open(page, plain + path);
      await take(name);
    }
    for (const [name, path, link] of BEHIND) {
      await open(page, plain + path);
      await page.locator(`main tbody a[href^='${link}']`).first().click();
      await page.waitForURL((address) => address.pathname.startsWith(link));
      await page.locator(".bar").waitFor();
      await take(name);
    }
  }
  return `${2 * (SCREENS.length + BEHIND.length)} pictures, ${Math.round(bytes / 1024)} KiB`;
}

export default [
  pictures_are_taken,
];
