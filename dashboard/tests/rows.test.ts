import { describe, expect, it } from "vitest";
import type { RequestRow } from "../src/model";
import { addWaiting, freshCount, HELD_ROWS_MAX, joinNewest, joinOlder, LIVE_ROWS_MAX, NOTHING_HELD, NOTHING_WAITS, showWaiting } from "../src/rows";

const row = (id: number): RequestRow => ({
  number: "01A2-076A-9DE3",
  id, at: "2026-11-21T12:00:00.000Z", door: "dns", client: "127.0.0.1", subject: "a.example", kind: "A", action: "pass",
  cause: "none", rule: null, source: "cache", cache: null, not_stored: null, cache_text: null, status: 0, status_text: "NOERROR", bytes: 40, took_us: 8,
});
const page = (from: number, to: number, next: number | null) => ({
  rows: Array.from({ length: Math.max(0, from - to + 1) }, (_, n) => row(from - n)),
  next_before: next,
});
const ids = (rows: RequestRow[]) => rows.map((one) => one.id);

describe("rows of the log", () => {
  it("grow at the top and at the bottom without doubles", () => {
    let held = joinNewest(NOTHING_HELD, page(10, 6, 6));
    held = joinOlder(held, page(5, 1, null));
    const newer = page(12, 8, 8);
    expect(freshCount(held, newer)).toBe(2);
    held = joinNewest(held, newer);
    expect(ids(held.rows)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect(held.next).toBeNull();
  });

  it("stay the same object when nothing is new, so that nothing is drawn", () => {
    const held = joinNewest(NOTHING_HELD, page(10, 6, 6));
    expect(joinNewest(held, page(10, 6, 6))).toBe(held);
  });

  it("start over where a page does not reach down to what is held", () => {
    const held = joinNewest(NOTHING_HELD, page(10, 6, 6));
    expect(joinNewest(held, page(99, 95, 95))).toEqual({ rows: page(99, 95, 95).rows, next: 95, begun: true });
  });

  it("do not begin the search again while nothing was found yet", () => {
    let held = joinNewest(NOTHING_HELD, page(0, 1, 5000));
    held = joinOlder(held, page(0, 1, null));
    held = joinNewest(held, page(0, 1, 5010));
    expect(held).toEqual({ rows: [], next: null, begun: true });
  });

  it("are held up to a bound", () => {
    let held = joinNewest(NOTHING_HELD, page(HELD_ROWS_MAX, 1, null));
    held = joinNewest(held, page(HELD_ROWS_MAX + 3, HELD_ROWS_MAX - 50, 7));
    expect(held.rows).toHaveLength(HELD_ROWS_MAX);
    expect(held.next).toBe(held.rows.at(-1)?.id);
  });
});

describe("rows that wait", () => {
  const held = joinNewest(NOTHING_HELD, page(10, 6, 6));

  it("are counted once each, in any order", () => {
    const waiting = addWaiting(NOTHING_WAITS, [row(11), row(10), row(12)], held);
    expect(waiting.count).toBe(2);
    expect(addWaiting(waiting, [row(12), row(9)], held)).toBe(waiting);
    expect(ids(showWaiting(held, waiting)?.rows ?? [])).toEqual([12, 11, 10, 9, 8, 7, 6]);
  });

  it("do not let the page grow", () => {
    const many = joinNewest(NOTHING_HELD, page(2 * LIVE_ROWS_MAX, 1, null));
    const shown = showWaiting(many, addWaiting(NOTHING_WAITS, [row(5000)], many));
    expect(shown?.rows).toHaveLength(LIVE_ROWS_MAX);
    expect(shown?.next).toBe(shown?.rows.at(-1)?.id);
  });

  it("are asked for anew where some were not kept", () => {
    const some = Array.from({ length: LIVE_ROWS_MAX }, (_, n) => row(11 + n));
    const waiting = addWaiting(addWaiting(NOTHING_WAITS, some, held), [row(9000)], held);
    expect(waiting.rows).toHaveLength(LIVE_ROWS_MAX);
    expect(waiting.count).toBe(LIVE_ROWS_MAX + 1);
    expect(showWaiting(held, waiting)).toBeNull();
  });
});
