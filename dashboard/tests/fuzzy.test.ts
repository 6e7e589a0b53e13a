import { expect, test, vi } from "vitest";
import { fuzzy } from "../src/fuzzy";

const best = (typed: string, texts: string[]): string | undefined =>
  texts
    .flatMap((text) => {
      const found = fuzzy(typed, text);
      return found ? [{ text, score: found.score }] : [];
    })
    .toSorted((a, b) => b.score - a.score)[0]?.text;

test("letters come in their order, in small or in capitals", () => {
  expect(fuzzy("ovw", "Overview")?.at).toEqual([0, 1, 7]);
  expect(fuzzy("wvo", "Overview")).toBeNull();
  expect(fuzzy("", "anything")).toEqual({ score: 0, at: [] });
});

test("letters in a row, and at the beginning of words, are better", () => {
  expect(best("set", ["Sessions of all, tokens", "Set up", "Reset"])).toBe("Set up");
  expect(best("pp", ["Pause protection", "Why, appended"])).toBe("Why, appended");
  expect(best("al", ["Audit log", "Total"])).toBe("Total");
  expect(best("alo", ["Audit log", "Sandal zoo"])).toBe("Audit log");
});

test("a word's beginning is not taken where the rest would then be missing", () => {
  expect(fuzzy("xab", "xa xb a")?.at).toEqual([0, 1, 4]);
});

test("what was typed is found whole, with its blanks", () => {
  expect(fuzzy("your ac", "Your account")?.at).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

test("the work grows as a long text of one letter again and again does", () => {
  const looks = (times: number): number => {
    const look = vi.spyOn(String.prototype, "indexOf");
    expect(fuzzy("a".repeat(60), "a b".repeat(times))).not.toBeNull();
    const count = look.mock.calls.length;
    look.mockRestore();
    return count;
  };
  const few = looks(400);
  expect(few).toBeGreaterThan(400);
  expect(looks(800)).toBeLessThan(2.3 * few);
});
