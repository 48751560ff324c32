// What a page is better with: it stays up to date, it is read by keys, and parts of it can be copied.
//
// Pages work without any of this. What comes from the server is parsed by one policy (page.js) and never put together
// from texts here; whatever this adds to a page is made of nodes.

import { follow } from "./live.js";
import { listen } from "./keys.js";
import { dress } from "./page.js";

const main = document.querySelector("main");
const bar = document.querySelector("header");
if (main && bar) {
  dress(main);
  const place = document.createElement("div");
  place.className = "bar";
  bar.append(place);
  if (main.hasAttribute("data-live")) follow(main, place);
  listen(place);
}
