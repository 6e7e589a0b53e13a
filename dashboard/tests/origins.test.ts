import { describe, expect, it } from "vitest";
import { few, SHOWN_MAX } from "../src/few";
import type { Origin } from "../src/model";
import { originFacts, originUse } from "../src/origins";

const origin: Origin = {
  origin: "https://www.example", version: "1.1", open: 3, idle: 1, at_once: 3, unused_s: 0,
};

describe("an origin of the proxy", () => {
  it("is in use while a connection carries a request, else was some time ago", () => {
    expect(originUse(origin)).toBe("in use");
    expect(originUse({ ...origin, idle: 3, unused_s: 12 })).toBe("used 12 s ago");
    expect(originUse({ ...origin, open: 0, idle: 0, unused_s: 130 })).toBe("used 2 min ago");
  });

  it("tells its connections, and what is opened at once where that is several", () => {
    expect(originFacts(origin)).toEqual(["HTTP/1.1", "3 connections, 1 idle", "3 opened at once"]);
    expect(originFacts({ ...origin, idle: 0 })[1]).toBe("3 connections");
    expect(originFacts({ ...origin, open: 0, idle: 0 })[1]).toBe("no connection now");
    expect(originFacts({ ...origin, version: "2", open: 1, idle: 1, at_once: 0 })).toEqual([
      "HTTP/2", "1 connection, idle",
    ]);
    expect(originFacts({ ...origin, at_once: 1 })).toHaveLength(2);
  });

  it("is shown where there is room", () => {
    const many = Array.from({ length: SHOWN_MAX + 2 }, () => origin);
    expect(few(many).shown).toHaveLength(SHOWN_MAX);
    expect(few(many).more).toBe(2);
    expect(few([origin]).more).toBe(0);
  });
});
