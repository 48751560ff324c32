// Keeps a page up to date: the server says when there is something new (docs/api.md, Events), and the page is fetched again.
//
// A page that nobody sees neither listens nor fetches. Listening is a connection, and a browser has few for one server.

import { refresh } from "./page.js";
import { remembered } from "./store.js";

// After a refresh that took long, nothing is fetched for so many times as long: an open page takes the server a twentieth of
// its time at the most.
const REST = 20;
const SOONEST = 1000;
// What depends on the time and not on the record is fetched so often.
const LATEST = 60000;
// The first time sooner: something may have changed between the page and the first event.
const FIRST = 10000;
// Without a word for so long, the connection is gone; the server sends one every 10 s.
const SILENCE = 25000;
// Until the next try.
const AGAIN = 2000;
// If the server lets nobody else listen.
const WITHOUT = 30000;

const clock = (time) => [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => `${part}`.padStart(2, "0")).join(":");

export function follow(main, place) {
  const paused = remembered("paused", sessionStorage);
  const told = document.createElement("span");
  told.className = "live";
  told.setAttribute("role", "status");
  const button = document.createElement("button");
  button.type = "button";
  place.append(told, button);

  let updated = new Date();
  let trouble = "";
  let connected = false;
  let marks = null;
  let wanted = false;
  let running = false;
  let rests = 0;
  let timer = 0;
  let listening = null;

  function tell() {
    const last = `last updated ${clock(updated)}`;
    let text = "connecting";
    if (paused.is) text = `paused, ${last}`;
    else if (trouble) text = `${trouble}, ${last}`;
    else if (connected) text = wanted && busy() ? "live, waits while you type or select" : "live";
    if (told.textContent !== text) told.textContent = text;
    told.dataset.state = paused.is ? "paused" : trouble ? "lost" : connected ? "live" : "connecting";
    button.textContent = paused.is ? "Go on" : "Pause";
  }

  // Nothing is swapped under the hands of who types or selects.
  function busy() {
    const chosen = getSelection();
    if (chosen && !chosen.isCollapsed && main.contains(chosen.anchorNode)) return true;
    return main.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
  }

  function schedule(after) {
    clearTimeout(timer);
    timer = setTimeout(update, Math.max(after, rests - performance.now()));
  }

  async function update() {
    if (!listening) return;
    wanted = true;
    // One at a time: an answer that was asked for earlier never replaces a later one.
    if (running || busy()) return tell();
    running = true;
    const began = performance.now();
    let again = false;
    try {
      wanted = false;
      if (!(await refresh(main, listening.signal, () => !busy()))) {
        wanted = true;
        return tell();
      }
      updated = new Date();
      if (connected) trouble = "";
      document.dispatchEvent(new Event("parity:refreshed"));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (connected) trouble = `cannot be updated: ${error.message}`;
    } finally {
      running = false;
      again = wanted;
      rests = performance.now() + Math.max(SOONEST, REST * (performance.now() - began));
    }
    tell();
    schedule(again ? 0 : connected ? LATEST : WITHOUT);
  }

  function heard(event, data) {
    if (event === "end") {
      connected = false;
      trouble = "connection lost";
    } else if (event === "marks") {
      // After a connection was lost, it is not known what was missed.
      const missed = trouble !== "";
      connected = true;
      trouble = "";
      if (missed || (marks !== null && marks !== data)) schedule(0);
      else if (marks === null) schedule(FIRST);
      marks = data;
    }
    tell();
  }

  // Listens until it is stopped, and again whenever the stream ends.
  async function listen(stop) {
    while (!stop.signal.aborted) {
      let wait = AGAIN;
      const silence = new AbortController();
      let limit = setTimeout(() => silence.abort(), SILENCE);
      try {
        const signal = AbortSignal.any([stop.signal, silence.signal]);
        const answer = await fetch("/api/v1/events", { credentials: "same-origin", cache: "no-store", signal });
        if (answer.status === 503) {
          trouble = `not live, since many pages are; fetched every ${WITHOUT / 1000} s`;
          connected = false;
          wait = WITHOUT;
          schedule(WITHOUT);
          tell();
        } else if (!answer.ok) {
          throw new Error(`${answer.status}`);
        } else {
          const ended = await events(answer.body, heard, () => {
            clearTimeout(limit);
            limit = setTimeout(() => silence.abort(), SILENCE);
          });
          if (ended === "again") wait = 0;
          else throw new Error("ended");
        }
      } catch {
        if (stop.signal.aborted) break;
        connected = false;
        trouble = "connection lost";
        tell();
      } finally {
        clearTimeout(limit);
      }
      await new Promise((done) => {
        setTimeout(done, wait);
        stop.signal.addEventListener("abort", done);
      });
    }
  }

  function turn() {
    const should = !paused.is && !document.hidden;
    if (should && !listening) {
      listening = new AbortController();
      // What changed while nobody looked is fetched at once.
      if (marks !== null) schedule(0);
      listen(listening);
    } else if (!should && listening) {
      listening.abort();
      listening = null;
      connected = false;
      clearTimeout(timer);
    }
    tell();
  }

  button.addEventListener("click", () => {
    paused.set(!paused.is);
    turn();
  });
  document.addEventListener("visibilitychange", turn);
  window.addEventListener("pagehide", () => listening?.abort());
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) {
      listening = null;
      turn();
    }
  });
  for (const over of ["selectionchange", "focusout"]) {
    document.addEventListener(over, () => { if (wanted && listening) schedule(SOONEST / 4); });
  }
  turn();
}

// Reads a stream of events, and gives the last one.
async function events(body, heard, alive) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let last = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return last;
    alive();
    text += value;
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const fields = new Map(text.slice(0, end).split("\n").map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }));
      text = text.slice(end + 2);
      if (fields.has("event")) {
        last = fields.get("event");
        heard(last, fields.get("data"));
      }
    }
  }
}
