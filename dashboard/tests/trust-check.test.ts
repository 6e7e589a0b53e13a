import { expect, it } from "vitest";
import { freshAddress } from "../src/trust-check";

it("the image of the check is asked for anew each time, whatever its address has", () => {
  expect(freshAddress("https://192.0.2.1/check.gif", 7)).toBe("https://192.0.2.1/check.gif?t=7");
  expect(freshAddress("https://192.0.2.1/check.gif?a=1", 7)).toBe("https://192.0.2.1/check.gif?a=1&t=7");
});
