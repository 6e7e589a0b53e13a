import { expect, it } from "vitest";
import { overlapLines } from "../src/overlaps";

const held = (name: string, names: number, share: number) => ({ name, names, share });

it("lists that add least stand first, and those that share nothing are left out", () => {
  const lines = overlapLines({
    counted_at: "",
    lists: [
      { name: "a", names: 1000, held_by: [held("c", 10, 0.01), held("b", 820, 0.82)] },
      { name: "b", names: 5000, held_by: [held("a", 40, 0.008)] },
      { name: "c", names: 100, held_by: [held("b", 96, 0.96), held("a", 10, 0.1)] },
    ],
  });
  expect(lines.map(({ name, own, little }) => [name, own, little])).toEqual([["c", 4, true], ["a", 180, false]]);
  expect(lines[1]?.held_by.map((one) => one.name)).toEqual(["b"]);
});
