// The items service before its rewrite: twice the sum of twenty values is computed, sent on to the ledger, and answered.
// One thread does it all. ../common/page.js has its page of metrics.
// Usage: node legacy.js HOST:PORT; DOWNSTREAM in the environment is the ledger.
"use strict";
const http = require("http");
const { measured } = require("../common/page.js");

const LARGEST = 64 * 1024;
const downstream = new URL(process.env.DOWNSTREAM || "http://127.0.0.1:7101");
const agent = new http.Agent({ keepAlive: true });

function read(stream) {
  return new Promise((resolve, reject) => {
    let text = "";
    stream.setEncoding("utf8");
    stream.on("data", (part) => {
      text += part;
      if (text.length > LARGEST) reject(new Error("too large"));
    });
    stream.on("end", () => resolve(text));
    stream.on("error", reject);
  });
}

function book(booking, id) {
  const body = JSON.stringify(booking);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  if (id) headers["x-request-id"] = id;
  return new Promise((resolve, reject) => {
    const call = http.request(
      { host: downstream.hostname, port: downstream.port, method: "POST", path: "/totals", agent, headers, timeout: 3000 },
      (answer) => read(answer).then((text) => resolve(JSON.parse(text))).catch(reject),
    );
    call.on("timeout", () => call.destroy(new Error("too late")));
    call.on("error", reject);
    call.end(body);
  });
}

function send(response, status, document) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(document));
}

async function answer(request, response) {
  if (request.method !== "POST" || request.url !== "/items") {
    return send(response, 404, { error: "no such resource" });
  }
  let items;
  try {
    items = JSON.parse(await read(request));
  } catch {
    return send(response, 400, { error: "the request is no list of items" });
  }
  if (!Array.isArray(items) || items.some((item) => typeof item?.value !== "number")) {
    return send(response, 400, { error: "the request is no list of items" });
  }
  const total = 2 * items.reduce((sum, item) => sum + item.value, 0);
  try {
    const booked = await book({ items: items.length, total }, request.headers["x-request-id"]);
    send(response, 200, { total, count: items.length, accepted: booked.accepted });
  } catch {
    send(response, 502, { error: "the ledger does not answer" });
  }
}

const [host, port] = (process.argv[2] || "").split(":");
if (!host || !port) {
  console.error("usage: node legacy.js HOST:PORT");
  process.exit(2);
}
http.createServer(measured(answer)).listen(Number(port), host);
