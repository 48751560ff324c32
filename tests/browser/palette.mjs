// Makes a picture small: pages have few colours, so each dot becomes the number of one of them. Only what Chromium writes is read:
// eight bits a channel, not interlaced.

import { deflateSync, inflateSync } from "node:zlib";

const MOST = 64;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function chunks(file) {
  const found = [];
  for (let at = SIGNATURE.length; at < file.length;) {
    const length = file.readUInt32BE(at);
    found.push({ type: file.toString("latin1", at + 4, at + 8), data: file.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return found;
}

// What the filter of a line predicts of a byte, by the bytes at its left, above it, and above that at its left.
function predicted(filter, left, above, corner) {
  switch (filter) {
    case 0: return 0;
    case 1: return left;
    case 2: return above;
    case 3: return (left + above) >> 1;
    default: {
      const [a, b, c] = [left, above, corner].map((one) => Math.abs(left + above - corner - one));
      return a <= b && a <= c ? left : b <= c ? above : corner;
    }
  }
}

// The colours of the dots, as 0xRRGGBB.
function dots(file) {
  const all = chunks(file);
  const head = all.find(({ type }) => type === "IHDR").data;
  const [width, height, depth, kind] = [head.readUInt32BE(0), head.readUInt32BE(4), head[8], head[9]];
  if (depth !== 8 || ![2, 6].includes(kind) || head[12]) throw new Error("no picture of Chromium");
  const bytes = kind === 2 ? 3 : 4;
  const packed = all.filter(({ type }) => type === "IDAT").map(({ data }) => data);
  const raw = inflateSync(Buffer.concat(packed));
  const length = width * bytes;
  const colours = new Uint32Array(width * height);
  let before = Buffer.alloc(length);
  for (let y = 0; y < height; y += 1) {
    const begin = y * (length + 1);
    const line = Buffer.from(raw.subarray(begin + 1, begin + 1 + length));
    for (let x = 0; x < length; x += 1) {
      const [left, corner] = x < bytes ? [0, 0] : [line[x - bytes], before[x - bytes]];
      line[x] = (line[x] + predicted(raw[begin], left, before[x], corner)) & 0xff;
    }
    for (let x = 0; x < width; x += 1) colours[y * width + x] = line.readUIntBE(x * bytes, 3);
    before = line;
  }
  return { width, height, colours };
}

function distance(one, other) {
  const of = (shift) => ((one >> shift) & 0xff) - ((other >> shift) & 0xff);
  return of(16) ** 2 + of(8) ** 2 + of(0) ** 2;
}

// The most frequent colours. The others are shades of the edges of letters, each of which becomes the nearest of these.
function palette(colours) {
  const counts = new Map();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const all = [...counts].sort(([one, often], [other, seldom]) => seldom - often || one - other).map(([colour]) => colour);
  const kept = all.slice(0, MOST);
  const number = new Map(all.map((colour) => {
    const distances = kept.map((other) => distance(colour, other));
    return [colour, distances.indexOf(Math.min(...distances))];
  }));
  return { kept, number };
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  let sum = 0xffffffff;
  for (const byte of body) sum = TABLE[(sum ^ byte) & 0xff] ^ (sum >>> 8);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE((sum ^ 0xffffffff) >>> 0);
  return Buffer.concat([length, body, check]);
}

// The same picture with a palette.
export function small(file) {
  const { width, height, colours } = dots(file);
  const { kept, number } = palette(colours);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) lines[y * (width + 1) + 1 + x] = number.get(colours[y * width + x]);
  }
  const colourBytes = Buffer.alloc(3 * kept.length);
  kept.forEach((colour, at) => colourBytes.writeUIntBE(colour, 3 * at, 3));
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", head),
    chunk("PLTE", colourBytes),
    chunk("IDAT", deflateSync(lines, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}
