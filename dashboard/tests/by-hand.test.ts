import { describe, expect, test } from "vitest";
import { minutesToMidnight, namesUpTo, orderOf, overrideText } from "../src/by-hand";

describe("names that a verdict by hand may be about", () => {
  test("go from the host up to its site and no further", () => {
    expect(namesUpTo("a.b.shop.co.uk", "shop.co.uk")).toEqual(["a.b.shop.co.uk", "b.shop.co.uk", "shop.co.uk"]);
    expect(namesUpTo("shop.example", "shop.example")).toEqual(["shop.example"]);
    expect(namesUpTo("a.example", "other.example")).toEqual(["a.example"]);
    expect(namesUpTo("badshop.example", "shop.example")).toEqual(["badshop.example"]);
  });
});

test("midnight is a minute away at least and a day at most", () => {
  expect(minutesToMidnight(new Date(2026, 10, 28, 23, 0, 0))).toBe(60);
  expect(minutesToMidnight(new Date(2026, 10, 28, 23, 59, 59, 500))).toBe(1);
  expect(minutesToMidnight(new Date(2026, 10, 28, 0, 0, 0))).toBe(1440);
});

test("an order names the client, the profile or neither", () => {
  const known = { client: "192.168.1.7", profile: "kids" };
  const now = new Date(2026, 10, 28, 12, 0);
  const of = (whom: "client" | "profile" | "all", howLong: "hour" | "always") =>
    orderOf({ host: "a.example", whom, howLong }, known, now);
  expect(of("client", "hour")).toEqual({ host: "a.example", minutes: 60, client: "192.168.1.7", profile: null });
  expect(of("profile", "always")).toEqual({ host: "a.example", minutes: "always", client: null, profile: "kids" });
  expect(of("all", "hour")).toMatchObject({ client: null, profile: null });
});

test("what was done is said in a sentence", () => {
  const held = { host: "a.example", client: null, profile: "kids", until: null, left_s: null };
  expect(overrideText("block", held)).toBe("a.example is blocked for the profile kids until you take that back.");
  expect(overrideText("pass", { ...held, client: "::1", profile: null })).toBe(
    "a.example is allowed for ::1 until you take that back.",
  );
});
