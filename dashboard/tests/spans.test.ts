import { describe, expect, test } from "vitest";
import { stack } from "../src/parts/stack";
import { meanTime, pace, spansOf } from "../src/spans";
import { fileHref, readWords, wordsOf } from "../src/statistics";
import { clockOf, knownZone, spanText } from "../src/zone-time";

const at = (minutes: number): string => new Date(Date.UTC(2026, 10, 28, 12, minutes)).toISOString();
const series = (begins: string | null) => ({
  step_s: 600,
  begins,
  points: [0, 10, 20, 30].map((minutes) => ({ at: at(minutes), passed: 60, blocked: 6 })),
});

describe("the steps of a chart", () => {
  test("the last step is no cliff: it is drawn at its pace, apart", () => {
    const spans = spansOf(series(null), new Date(at(35)));
    expect(spans.map((span) => span.share)).toEqual([1, 1, 1, 0.5]);
    const [, whole, , apart] = stack(spans);
    expect(whole).toEqual([66, 66, 66, null]);
    expect(apart).toEqual([null, null, 66, 132]);
  });

  test("a step that has only begun tells no pace", () => {
    const spans = spansOf(series(null), new Date(at(31)));
    expect(stack(spans)[3]).toEqual([null, null, 66, null]);
    expect([pace(3, 0.1), pace(3, 0.5), pace(3, 1)]).toEqual([null, 6, 3]);
  });

  test("the first step is no needle: the chart begins with counting, and that step is drawn at its pace", () => {
    const spans = spansOf(series(at(15)), new Date(at(40)));
    expect(spans.map((span) => span.share)).toEqual([0.5, 1, 1]);
    expect(stack(spans)[3]).toEqual([132, 66, null]);
    expect(stack(spans)[1]).toEqual([null, 66, 66]);
  });
});

describe("the words of the address", () => {
  test("they are read as they were written, and one filter counts", () => {
    const asked = { range: "year" as const, only: { by: "client" as const, key: "192.168.1.7" } };
    expect(readWords(wordsOf(asked))).toEqual(asked);
    expect(readWords({ range: "decade", list: "", door: "dns" })).toEqual({ range: "day", only: { by: "door", key: "dns" } });
    expect(fileHref(asked, "csv", "list")).toBe("api/statistics?range=year&client=192.168.1.7&by=list&format=csv");
  });
});

describe("the zone's clock", () => {
  test("days are those of Tidegate's zone, wherever the browser is", () => {
    const midnight = new Date(Date.UTC(2026, 10, 27, 23));
    expect(spanText(clockOf("Europe/Zurich"), "day", midnight, midnight)).toBe("Sat, 28 Nov 2026");
    expect(spanText(clockOf("UTC"), "hour", midnight, new Date(midnight.getTime() + 3_600_000))).toBe("27 Nov, 23:00 to 00:00");
    expect(spanText(clockOf("UTC"), "month", midnight, midnight)).toBe("November 2026");
  });

  test("a zone that browsers do not know is their own", () => {
    expect([knownZone("local"), knownZone("Moon/Sea"), knownZone("Europe/Zurich")]).toEqual([undefined, undefined, "Europe/Zurich"]);
  });

  test("a mean needs requests", () => {
    const none = { passed: 0, blocked: 0, cached: 0, failed: 0, bytes: 0, took_us: 0 };
    expect([meanTime(none), meanTime({ ...none, passed: 2, took_us: 90 })]).toEqual([null, 45]);
  });
});
