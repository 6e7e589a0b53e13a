import { expect, test } from "vitest";
import type { Schema } from "../src/config-model";
import { ITEM, offersAt, pathAbove, placeAt, schemasAt, wordsAt } from "../src/schema-walk";

const SCHEMA: Schema = {
  type: "object",
  properties: {
    user: { type: "string", description: "The user." },
    dns: { anyOf: [{ $ref: "#/$defs/Dns" }, { type: "null" }], description: "The forwarder." },
  },
  $defs: {
    Dns: {
      type: "object",
      properties: {
        upstreams: { type: "array", items: { anyOf: [{ type: "string" }, { $ref: "#/$defs/Upstream" }] } },
        blocked: { $ref: "#/$defs/Style", description: "Answers for blocked names." },
        open: { type: "boolean" },
        pools: { type: "object", additionalProperties: { $ref: "#/$defs/Upstream" } },
      },
    },
    Upstream: { type: "object", properties: { address: { type: "string", description: "Address." }, next: { $ref: "#/$defs/Upstream" } } },
    Style: { oneOf: [{ const: "auto" }, { const: "nodata", description: "An empty answer." }] },
  },
};

/** Offers at the bar in a text. */
function offered(text: string): string[] {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.includes("|"));
  const column = lines[at]?.indexOf("|") ?? 0;
  return offersAt(SCHEMA, placeAt(lines.map((line) => line.replace("|", "")), at, column)).map((offer) => offer.text);
}

test("the way to a line is told by indentation, comments and blank lines left out", () => {
  const lines = ["dns:", "", "  # two", "  upstreams:", "    - address: a", "      next:", "        x"];
  expect(pathAbove(lines, 6, 8)).toEqual(["dns", "upstreams", ITEM, "next"]);
  expect(pathAbove(lines, 5, 6)).toEqual(["dns", "upstreams", ITEM]);
  expect(pathAbove(["dns:", "  upstreams:", "  - address: a", "    x"], 3, 4)).toEqual(["dns", "upstreams", ITEM]);
});

test("keys are offered where a section is, those that are taken are not", () => {
  expect(offered("us|")).toEqual(["user", "dns"]);
  expect(offered("user: x\nd|")).toEqual(["dns"]);
  expect(offered("dns:\n  blocked: auto\n  |")).toEqual(["upstreams", "open", "pools"]);
  expect(offered("dns:\n  upstreams:\n    - |")).toEqual(["address", "next"]);
  expect(offered("dns:\n  upstreams:\n    - address: a\n      |")).toEqual(["next"]);
  expect(offered("dns:\n  upstreams:\n  - |")).toEqual(["address", "next"]);
  expect(offered("dns:\n  pools:\n    mine:\n      |")).toEqual(["address", "next"]);
});

test("values are offered behind a key that has a few", () => {
  expect(offered("dns:\n  blocked: |")).toEqual(["auto", "nodata"]);
  expect(offered("dns:\n  open: |")).toEqual(["true", "false"]);
  expect(offered("soup:\n  |")).toEqual([]);
});

test("the manual's words are found, and a schema that leads into itself ends", () => {
  expect(wordsAt(SCHEMA, ["dns", "blocked"])).toBe("Answers for blocked names.");
  expect(wordsAt(SCHEMA, ["dns", "upstreams", ITEM, "next", "next", "address"])).toBe("Address.");
  const loop: Schema = { $ref: "#/$defs/A", $defs: { A: { anyOf: [{ $ref: "#/$defs/A" }] } } };
  expect(schemasAt(loop, ["x"])).toEqual([]);
});
