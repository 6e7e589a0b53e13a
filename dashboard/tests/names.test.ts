import { describe, expect, it } from "vitest";
import type { PoolName } from "../src/model";
import { lookUpFailure, lookUps } from "../src/names";

const at = (second: number) => new Date(2026, 10, 21, 9, 5, second);
const today = at(0).toDateString();
const name: PoolName = {
  url: "http://app.internal:8080", resolve: "addresses", servers: 2, failure: null,
  looked_up_at: at(7).toISOString(), next_at: at(37).toISOString(),
};

describe("a name of a pool", () => {
  it("says how it is looked up, when it was and when it will be", () => {
    expect(lookUps(name, today)).toEqual(["by its addresses", "last look-up 09:05:07", "next 09:05:37"]);
    expect(lookUps({ ...name, resolve: "srv" }, today)[0]).toBe("by its SRV records");
    expect(lookUps({ ...name, next_at: null }, today)[2]).toBe("being looked up …");
    expect(lookUps({ ...name, looked_up_at: null }, today)[1]).toBe("not looked up yet");
  });

  it("says why its look-up failed, and that its servers stay if it has any", () => {
    expect(lookUpFailure(name)).toBeNull();
    expect(lookUpFailure({ ...name, failure: "the upstream failed\u202e" })).toBe(
      "The last look-up failed: the upstream failed\ufffd. The servers found before stay.",
    );
    expect(lookUpFailure({ ...name, failure: "there is no such name", servers: 0 })).toBe(
      "The last look-up failed: there is no such name. No server was found before.",
    );
  });
});
