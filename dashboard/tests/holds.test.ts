import { expect, test } from "vitest";
import { holdOrder, holdsOf, holdTag, namesHeld } from "../src/holds";
import type { Override } from "../src/model";

const held = (host: string, client: string | null, profile: string | null = null): Override =>
  ({ host, client, profile, until: null, left_s: null });
const now = new Date(2026, 10, 28, 23, 0);

test("a hold is for everything that a client or a profile asks", () => {
  const order = (howLong: "ten" | "hour" | "tomorrow" | "always") => holdOrder({ client: "fd00::1", profile: null }, howLong, now).minutes;
  expect(holdOrder({ client: null, profile: "kids" }, "ten", now)).toEqual({ host: "*", minutes: 10, client: null, profile: "kids" });
  expect([order("hour"), order("tomorrow"), order("always")]).toEqual([60, 60, "always"]);
});

test("what holds for one is told apart from names and from others", () => {
  const lists = { allows: [held("*", "a"), held("*", "b"), held("shop.example", "a")], blocks: [held("*", null, "kids"), held("game.example", null)] };
  expect(holdsOf(lists, { client: "a", profile: null })).toEqual([{ action: "pass", held: held("*", "a") }]);
  expect(holdsOf(lists, { client: null, profile: "kids" }).map((hold) => hold.action)).toEqual(["block"]);
  expect(namesHeld(lists, { client: "a", profile: null })).toEqual({ allows: [held("shop.example", "a")], blocks: [] });
});

test("a client's tag says until when", () => {
  expect(holdTag({ action: "allow", until: new Date(2026, 10, 28, 17, 40).toISOString(), left_s: 60 })).toBe("paused until 17:40");
  expect(holdTag({ action: "block", until: null, left_s: null })).toBe("no internet");
});
