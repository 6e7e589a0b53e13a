import { describe, expect, it } from "vitest";
import { canBlock, devicesOf, kindsOf, platformsOf, signalsOf } from "../src/bypass";
import { SIGNAL_KINDS, type Signal, type SignalDevice, type SignalKind } from "../src/bypass-model";

const signal = (kind: SignalKind, last_at = "2026-11-28T10:00:00Z"): Signal => ({ kind, count: 1, last_at, names: [] });
const device = (client: string, signals: Signal[]): SignalDevice => ({ client, name: null, signals });

describe("signals", () => {
  it("stand with those that weigh most first, without kinds that are not known", () => {
    const odd = signal("silent");
    const unknown = { ...odd, kind: "teleport" } as unknown as Signal;
    expect(signalsOf(device("a", [odd, unknown, signal("canary"), signal("encrypted_dns")])).map((one) => one.kind)).toEqual([
      "encrypted_dns", "canary", "silent",
    ]);
  });

  it("put the device with the latest first, and count devices by kind", () => {
    const devices = devicesOf({
      range: "24h", since: "", more: 0,
      devices: [
        device("old", [signal("vpn", "2026-11-27T10:00:00Z")]),
        device("new", [signal("vpn", "2026-11-26T10:00:00Z"), signal("relay", "2026-11-28T11:00:00Z")]),
        device("none", []),
      ],
    });
    expect(devices.map((one) => one.client)).toEqual(["new", "old"]);
    expect(kindsOf(devices)).toEqual([{ kind: "relay", devices: 1 }, { kind: "vpn", devices: 2 }]);
  });

  it("all say where to look", () => {
    for (const kind of SIGNAL_KINDS) expect(platformsOf(kind).length).toBeGreaterThan(0);
  });
});

it("a name can be blocked where that helps, if it has one and is not blocked yet", () => {
  const name = (text: string, blocked = 0) => ({ text, count: 3, blocked });
  expect(canBlock("encrypted_dns", name("dns.google"))).toBe(true);
  expect(canBlock("encrypted_dns", name("dns.google", 3))).toBe(false);
  expect(canBlock("encrypted_dns", name("8.8.8.8"))).toBe(false);
  expect(canBlock("no_dns", name("dns.google"))).toBe(false);
  expect(canBlock("vpn", name("<b>x</b>.example"))).toBe(false);
});
