import { describe, expect, it } from "vitest";
import { chipsOf, isNarrowed, isOpenEnded, localTime, logSpan, logWords, microsTyped, millisShown, msOf, NOTHING_ASKED, readLogWords, without } from "../src/log-query";

describe("the log's address", () => {
  it("says all that is asked for, and reads back the same", () => {
    const words = { filter: "ads", client: "192.168.1.7", status: "4xx,NXDOMAIN", from: "1764000000000", slower_than_us: "50000" };
    expect(logWords(readLogWords(words))).toEqual(words);
    expect(isNarrowed(readLogWords(words))).toBe(true);
    expect(isNarrowed(readLogWords({ unknown: "x" }))).toBe(false);
  });

  it("leaves out numbers that are none", () => {
    const read = readLogWords({ from: "yesterday", to: "-1", slower_than_us: "1e9", faster_than_us: "99999999999999999" });
    expect(read).toEqual(NOTHING_ASKED);
  });
});

describe("chips", () => {
  const query = readLogWords({ filter: "ads", door: "dns", client: "192.168.1.7", from: "1", to: "2", faster_than_us: "3" });

  it("are what has no field beside the search", () => {
    expect(chipsOf(query)).toEqual(["client", "time", "took"]);
  });

  it("take back what they say and nothing else", () => {
    expect(chipsOf(without(query, "time"))).toEqual(["client", "took"]);
    expect(without(query, "time").filter).toBe("ads");
  });
});

describe("a span of time", () => {
  const now = new Date(2026, 10, 28, 16, 30);

  it("begins at midnight where it is a day, and has an end only where it is over", () => {
    expect(logSpan("today", now)).toEqual({ from: String(new Date(2026, 10, 28).getTime()), to: "" });
    expect(logSpan("yesterday", now)).toEqual({ from: String(new Date(2026, 10, 27).getTime()), to: String(new Date(2026, 10, 28).getTime()) });
    expect(logSpan("hour", now).from).toBe(String(now.getTime() - 3_600_000));
  });

  it("that is over has no new rows", () => {
    expect(isOpenEnded(readLogWords(logSpan("yesterday", now)), now.getTime())).toBe(false);
    expect(isOpenEnded(readLogWords(logSpan("today", now)), now.getTime())).toBe(true);
  });

  it("is typed and shown in the browser's zone", () => {
    const ms = String(new Date(2026, 2, 5, 7, 4).getTime());
    expect(localTime(ms)).toBe("2026-03-05T07:04");
    expect(msOf(localTime(ms))).toBe(ms);
    expect(localTime("")).toBe("");
    expect(msOf("no time")).toBe("");
  });
});

it("latency is typed in milliseconds", () => {
  expect(microsTyped("50")).toBe("50000");
  expect(microsTyped("0,25")).toBe("250");
  expect(microsTyped("-1")).toBe("");
  expect(microsTyped("many")).toBe("");
  expect(microsTyped("4294968")).toBe("");
  expect(readLogWords({ slower_than_us: "4294967296" }).slower_than_us).toBe("");
  expect(microsTyped("")).toBe("");
  expect(millisShown("1500")).toBe("1.5");
});
