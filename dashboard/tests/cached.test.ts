import { describe, expect, it } from "vitest";
import { cachedPlaces, cachedState } from "../src/cached";

const RESPONSE = { status: 200, memory_bytes: null, front_bytes: null, disk_bytes: null, age_s: 240, fresh_s: 3360 };

describe("a stored response", () => {
  it("says where its body is", () => {
    expect(cachedPlaces({ ...RESPONSE, memory_bytes: 12_288, disk_bytes: 12_288 })).toBe("12 KiB in memory and on disk");
    expect(cachedPlaces({ ...RESPONSE, memory_bytes: 5 })).toBe("5 B in memory");
    expect(cachedPlaces({ ...RESPONSE, disk_bytes: 2 ** 30, front_bytes: 65_536 })).toBe("1.0 GiB on disk, the first 64 KiB in memory too");
    expect(cachedPlaces({ ...RESPONSE, front_bytes: 65_536 })).toBe("the first 64 KiB in memory");
    expect(cachedPlaces(RESPONSE)).toBe("no body");
  });

  it("says how old it is and for how long it is fresh", () => {
    expect(cachedState(RESPONSE)).toBe("4 min old, fresh for 56 min");
    expect(cachedState({ ...RESPONSE, fresh_s: -90 })).toBe("4 min old, stale for 1 min");
  });
});
