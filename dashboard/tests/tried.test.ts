import { describe, expect, it } from "vitest";
import { sumText } from "../src/tried";

const none = { requests: 0, blocked: 0, passed: 0, skipped: 0, names: [], more: 0, rules: [], took_ms: 1 };

describe("what a change would have done, in a sentence", () => {
  it("says nothing of a log without requests", () => {
    expect(sumText(none)).toBe("No request of the last week is in the log, so nothing can be said.");
  });
  it("counts both ways, and says when nothing would differ", () => {
    expect(sumText({ ...none, requests: 1200 })).toBe("Of 1,200 requests of the last week none would have gone otherwise.");
    expect(sumText({ ...none, requests: 1200, blocked: 3, passed: 1 })).toBe(
      "Of 1,200 requests of the last week 3 more would have been blocked and 1 more would have passed.",
    );
    expect(sumText({ ...none, requests: 1, passed: 1 })).toBe("Of 1 request of the last week 1 more would have passed.");
  });
});
