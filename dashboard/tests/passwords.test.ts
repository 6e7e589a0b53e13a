import { expect, test } from "vitest";
import { codeOf, codesFile, grouped, lengthText, madePassword } from "../src/passwords";

test("a password is told by its length, in characters", () => {
  expect(lengthText("")).toBe("At least 10 characters");
  expect(lengthText("low-tide")).toBe("2 more to go");
  expect(lengthText("🌊".repeat(9))).toBe("1 more to go");
  expect(lengthText("low-tide-2")).toBe("Long enough");
  expect(lengthText("low-tide-at-dawn")).toBe("Good length");
  expect(lengthText("low tide at dawn in may")).toBe("Very good length");
});

test("a made-up password has four groups of letters that are not mistaken", () => {
  const shape = /^[a-hjkmnp-z2-9]{5}(-[a-hjkmnp-z2-9]{5}){3}$/;
  const made = Array.from({ length: 50 }, () => madePassword());
  for (const one of made) expect(one).toMatch(shape);
  expect(new Set(made).size).toBe(50);
});

test("bytes beyond the last whole round are drawn again, so that no letter is oftener", () => {
  let turn = 0;
  const fill = (bytes: Uint8Array<ArrayBuffer>): Uint8Array => bytes.fill(turn++ === 0 ? 255 : 1);
  expect(madePassword(fill)).toBe("bbbbb-bbbbb-bbbbb-bbbbb");
  expect(turn).toBe(2);
});

test("a code is sent as the API has it, however it was typed", () => {
  expect(codeOf(" 123 456 ")).toBe("123456");
  expect(codeOf("K7F3-9XQM-2HVT")).toBe("k7f3-9xqm-2hvt");
  expect(codeOf("k7f3 9xqm  2hvt")).toBe("k7f3-9xqm-2hvt");
});

test("a secret is written in fours", () => {
  expect(grouped("JBSWY3DPEHPK3PXPQ")).toBe("JBSW Y3DP EHPK 3PXP Q");
  expect(grouped("")).toBe("");
});

test("the file of recovery codes says whose they are, and when they were made", () => {
  const file = codesFile("anna", "gate.example:9053", ["a-b", "c-d"], new Date("2026-11-28T10:00:00Z"));
  expect(file).toContain("Recovery codes of anna at Tidegate, gate.example:9053");
  expect(file).toContain("2026-11-28");
  expect(file.endsWith("\na-b\nc-d\n")).toBe(true);
});
