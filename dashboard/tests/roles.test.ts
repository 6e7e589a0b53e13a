import { expect, test } from "vitest";
import { covers, rolesUpTo } from "../src/roles";

test("each role may what the one before may, and no more", () => {
  expect(covers("viewer", "viewer")).toBe(true);
  expect(covers("viewer", "operator")).toBe(false);
  expect(covers("operator", "viewer")).toBe(true);
  expect(covers("operator", "administrator")).toBe(false);
  expect(covers("administrator", "operator")).toBe(true);
});

test("nobody gives away more than they have", () => {
  expect(rolesUpTo("viewer")).toEqual(["viewer"]);
  expect(rolesUpTo("operator")).toEqual(["viewer", "operator"]);
});
