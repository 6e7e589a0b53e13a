import { expect, test } from "vitest";
import { fitting } from "../src/fitting";

test("as many fit as there is room for, with room for the button where not all do", () => {
  expect(fitting([50, 50, 50], 154, 40, 2)).toBe(3);
  expect(fitting([50, 50, 50], 153, 40, 2)).toBe(2);
  expect(fitting([50, 50, 50], 143, 40, 2)).toBe(1);
  expect(fitting([50, 50, 50], 60, 40, 2)).toBe(0);
  expect(fitting([], 0, 40, 2)).toBe(0);
});
