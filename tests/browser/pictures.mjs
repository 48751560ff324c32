// The pictures of docs/pages.md.

import { open } from "./visitor.mjs";

async function pictures_are_taken(visitor, { plain, pictures }) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await visitor.page({ colorScheme, viewport: { width: 1120, height: 760 } });
    await open(page, plain);
    const follow = async (row) => {
      const rows = page.locator("main tbody tr:has(a[href^='/'])");
      const wanted = rows.filter({ hasText: row });
      await ((await wanted.count()) ? wanted : rows).first().locator("a[href^='/']").first().click();
      await page.locator(".bar").waitFor();
    };
    const take = (name) => page.screenshot({ path: `${pictures}/${name}-${colorScheme}.png` });
    await take("overview");
    await open(page, `${plain}/causes`);
    await take("causes");
    await open(page, `${plain}/groups`);
    await follow(/prices/);
    await take("group");
    await follow(/prices/);
    await take("exchange");
  }
}

export default [
  pictures_are_taken,
];
