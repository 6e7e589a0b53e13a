import { describe, expect, it } from "vitest";
import { clientName, entriesOf, EVERYBODY, found, isOneDevice, memberOf, moveSteps, NEW_PROFILE, sorted } from "../src/clients";
import type { Client, Profile } from "../src/client-model";

const client = (part: Partial<Client>): Client => ({
  client: "192.168.1.7", name: null, mac: null, mac_random: false, profile: EVERYBODY, requests: 1, blocked: 0,
  first_at: "2026-11-28T07:00:00Z", last_at: "2026-11-28T08:00:00Z", trust: "unknown", held: null, ...part,
});
const profile = (name: string, match: string[], part: Partial<Profile> = {}): Profile =>
  ({ ...NEW_PROFILE, name, match, made_here: true, ...part });

describe("a client's name", () => {
  it("is that of a profile which is about one device, else that of DNS, else the address", () => {
    const profiles = [profile("tablet", ["192.168.1.7"]), profile("kids", ["192.168.1.8", "192.168.1.9"]), profile("guests", ["10.0.0.0/8"])];
    expect(clientName(client({ name: "a.lan", profile: "tablet" }), profiles)).toBe("tablet");
    expect(clientName(client({ name: "a.lan", profile: "kids" }), profiles)).toBe("a.lan");
    expect(clientName(client({ profile: "guests" }), profiles)).toBe("192.168.1.7");
    expect(clientName(client({ name: "\u202egnp.exe" }), [])).toBe("\ufffdgnp.exe");
  });

  it("knows a device from a network, a user and an interface", () => {
    for (const one of ["192.168.1.7", "fd00::1", "aa:bb:cc:00:11:22", "id:tablet", "192.168.1.7/32", "fd00::1/128"]) expect(isOneDevice(one)).toBe(true);
    for (const many of ["192.168.1.0/24", "fd00::/32", "user:ann", "interface:br-lan"]) expect(isOneDevice(many)).toBe(false);
  });
});

describe("the clients", () => {
  const all = [
    client({ client: "192.168.1.10", requests: 5, last_at: "2026-11-28T09:00:00Z" }),
    client({ client: "192.168.1.2", requests: 9, name: "tv.lan", mac: "aa:bb:cc:00:11:22" }),
    client({ client: "fd00::1", requests: 9, name: "Desk.lan", profile: "work" }),
  ];
  const order = (sort: "requests" | "seen" | "name"): string[] => sorted(all, sort, []).map((one) => one.client);

  it("stand by requests, last seen or name, those without a name last", () => {
    expect(order("requests")).toEqual(["192.168.1.2", "fd00::1", "192.168.1.10"]);
    expect(order("seen")[0]).toBe("192.168.1.10");
    expect(order("name")).toEqual(["fd00::1", "192.168.1.2", "192.168.1.10"]);
  });

  it("are found by name, address, MAC address and profile, in any case", () => {
    const of = (text: string): string[] => found(all, text, []).map((one) => one.client);
    expect(of("DESK")).toEqual(["fd00::1"]);
    expect(of("1.10")).toEqual(["192.168.1.10"]);
    expect(of("bb:cc")).toEqual(["192.168.1.2"]);
    expect(of(" work ")).toEqual(["fd00::1"]);
    expect(of("").length).toBe(3);
  });
});

describe("a move into a profile", () => {
  const mac = "aa:bb:cc:00:11:22";

  it("names the client by its MAC address, unless the device made that up", () => {
    expect(memberOf(client({ mac }))).toBe(mac);
    expect(memberOf(client({ mac, mac_random: true }))).toBe("192.168.1.7");
    expect(entriesOf(profile("a", ["AA:BB:CC:00:11:22", "192.168.1.0/24", "192.168.1.7"]), client({ mac }))).toEqual(["AA:BB:CC:00:11:22", "192.168.1.7"]);
  });

  it("takes it out of the others first, and removes one that would be about nobody", () => {
    const kids = profile("kids", ["192.168.1.7", "192.168.1.8"], { lists: ["games"] });
    const known = { profiles: [kids, profile("own", [mac]), profile("desk", ["10.0.0.1"]), profile("file", [mac], { made_here: false })] };
    expect(moveSteps(known, client({ mac }), "desk")).toEqual([
      { does: "put", was: "kids", profile: { ...NEW_PROFILE, name: "kids", match: ["192.168.1.8"], lists: ["games"] } },
      { does: "remove", name: "own" },
      { does: "put", was: "desk", profile: { ...NEW_PROFILE, name: "desk", match: ["10.0.0.1", mac] } },
    ]);
  });

  it("makes a profile of its own, or leaves it with everybody", () => {
    const known = { profiles: [profile("own", ["192.168.1.7"])] };
    expect(moveSteps({ profiles: [] }, client({}), "new")).toEqual([
      { does: "put", was: null, profile: { ...NEW_PROFILE, name: "new", match: ["192.168.1.7"] } },
    ]);
    expect(moveSteps(known, client({}), EVERYBODY)).toEqual([{ does: "remove", name: "own" }]);
    expect(moveSteps(known, client({}), "own")).toEqual([]);
  });
});
