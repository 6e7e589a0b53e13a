// The request log of the mock: rows made from their number, filtered as the real one does, told as a
// page, a file or a stream.

import { dice, row } from "./data.mjs";

const MODE = process.env.MOCK ?? "";
const EVERY_MS = 700;
/** The log's rows are numbered by time. */
export const idAt = (ms) => Math.floor((ms - 1_700_000_000_000) / EVERY_MS);
export const timeOf = (id) => id * EVERY_MS + 1_700_000_000_000 + ((id * 7919) % 600);
const rowOf = (id) => row(id, timeOf(id));

const hostOf = (subject) => subject.replace(/^[a-z]+:\/\//, "").replace(/[/?:].*$/, "");

function fitsStatus(row, wanted) {
  return wanted.split(",").some((one) => {
    const text = one.trim().toLowerCase();
    if (/^[1-5]xx$/.test(text)) return row.door !== "dns" && String(row.status).startsWith(text[0]);
    return row.status_text.toLowerCase() === text || (row.door !== "dns" && String(row.status) === text);
  });
}

function fits(one, words) {
  const is = (word, value) => !words.get(word) || words.get(word) === value;
  const name = words.get("name");
  const host = hostOf(one.subject);
  const text = (words.get("filter") ?? "").toLowerCase();
  const at = Date.parse(one.at);
  return is("door", one.door) && is("action", one.action) && is("client", one.client) && is("kind", one.kind) && is("list", one.rule?.list) && is("source", one.source)
    && (!name || host === name || host.endsWith(`.${name}`))
    && (!words.get("status") || fitsStatus(one, words.get("status")))
    && (!text || `${one.subject} ${one.client}`.toLowerCase().includes(text))
    && at >= Number(words.get("from") || 0) && at < Number(words.get("to") || Infinity)
    && one.took_us >= Number(words.get("slower_than_us") || 0) && one.took_us <= Number(words.get("faster_than_us") || Infinity);
}

export function requests(words) {
  if (MODE === "empty") return { rows: [], next_before: null };
  const limit = Number(words.get("limit") ?? 50);
  const rows = [];
  let id = Math.min(Number(words.get("before") ?? Infinity), idAt(Math.min(Date.now(), Number(words.get("to") || Infinity))) + 1) - 1;
  const last = words.get("from") ? idAt(Number(words.get("from"))) - 1 : 0;
  for (let seen = 0; seen < 5_000 && rows.length < limit && id > last; seen++, id--) {
    const one = rowOf(id);
    if (fits(one, words)) rows.push(one);
  }
  return { rows, next_before: id > last ? id + 1 : null };
}

/** The rows of one client within a while, the oldest first. */
export function rowsBetween(client, from, until) {
  const rows = [];
  for (let id = idAt(from); id <= idAt(until); id++) {
    const one = rowOf(id);
    if (one.client === client) rows.push(one);
  }
  return rows;
}

/** Tells rows as they come. MOCK=nostream refuses, MOCK=burst leaves some out. */
export function live(request, response, words) {
  if (MODE === "nostream") {
    response.writeHead(503, { "content-type": "application/problem+json" });
    return response.end(JSON.stringify({ error: "too many streams are open", remedy: "close another page of the log" }));
  }
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write(": live\n\n");
  let last = Number(request.headers["last-event-id"] ?? words.get("after") ?? idAt(Date.now()));
  const timer = setInterval(() => {
    for (const end = idAt(Date.now()) - 1; last < end; last++) {
      const one = rowOf(last + 1);
      if (MODE !== "empty" && fits(one, words)) response.write(`event: row\nid: ${one.id}\ndata: ${JSON.stringify(one)}\n\n`);
    }
    if (MODE === "burst" && dice(last)() < 0.2) response.write(`event: missed\ndata: {"count":412}\n\n`);
  }, 300);
  request.on("close", () => clearInterval(timer));
  return undefined;
}
