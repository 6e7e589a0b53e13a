import { describe, expect, it } from "vitest";
import { bestAddress, firstDraft, isDone, portsInTheWay, secondsLeft, stepAfter, stepBefore, stepOf, STEPS } from "../src/first-run";
import { deadlineOf, lapsed, noteKept, noteWaiting, waitFor } from "../src/first-run-wait";
import type { FirstRun, OwnAddress, WantedPort } from "../src/first-run-model";

const address = (text: string, kind: OwnAddress["kind"]): OwnAddress => ({ address: text, interface: "eth0", kind });
const port = (number: number, door: string, state: WantedPort["state"]): WantedPort => ({ port: number, protocol: "tcp", door, state, holder: null, remedy: null });
const known = (part: Partial<FirstRun>): FirstRun => ({
  needed: true, config: null, can_write: true, why_not: null, addresses: [], ports: [], pixel: { address: "192.168.1.2", gated: false, remedy: null },
  upstreams: [], lists: [], people: 0, this_device: { client: "192.168.1.7", asks_dns: false, asked_at: null, trust: "unknown" }, check_url: null, waiting: null, ...part,
});

describe("the steps", () => {
  it("lead from one to the next, and the address names one", () => {
    expect(stepOf("lists")).toBe("lists");
    expect(stepOf("no step")).toBe("address");
    expect(stepAfter("address")).toBe("upstreams");
    expect(stepAfter("device")).toBeNull();
    expect(stepBefore("address")).toBeNull();
  });

  it("are done by what Tidegate says", () => {
    const before = known({});
    expect(STEPS.filter((step) => isDone(step, before))).toEqual([]);
    const after = known({ needed: false, people: 1, this_device: { client: "", asks_dns: true, asked_at: "", trust: "trusts" } });
    expect(STEPS.filter((step) => isDone(step, after))).toEqual([...STEPS]);
    expect(isDone("write", known({ needed: false, waiting: { until: "" } }))).toBe(false);
  });
});

describe("what is chosen at first", () => {
  it("is a private address, of IPv4 if there is one", () => {
    expect(bestAddress([address("127.0.0.1", "loopback"), address("203.0.113.9", "public"), address("fd00::2", "private"), address("192.168.1.2", "private")])).toBe("192.168.1.2");
    expect(bestAddress([address("127.0.0.1", "loopback")])).toBe("127.0.0.1");
    expect(bestAddress([])).toBe("");
  });

  it("is what is in force, else the first that is offered", () => {
    const offered = known({
      ports: [port(53, "dns", "free"), port(80, "pixel", "free"), port(443, "pixel", "free"), port(3128, "proxy", "free")],
      upstreams: [{ name: "a", url: "a:", note: "", current: false }, { name: "b", url: "b:", note: "", current: true }],
      lists: [{ name: "starter", on: false }, { name: "more", on: false }],
    });
    expect(firstDraft(offered)).toEqual({ address: "", doors: ["dns", "pixel"], upstreams: ["b:"], lists: ["starter"] });
  });
});

it("ports are in the way where a chosen door wants them and cannot have them", () => {
  const ports = [port(53, "dns", "held"), port(80, "pixel", "forbidden"), port(443, "pixel", "ours")];
  expect(portsInTheWay(ports, ["dns", "pixel"]).map((one) => one.port)).toEqual([53, 80]);
  expect(portsInTheWay(ports, ["dns"]).map((one) => one.port)).toEqual([53]);
});

it("a countdown ends at nothing", () => {
  const now = new Date("2026-11-28T16:00:00Z");
  expect(secondsLeft("2026-11-28T16:00:59.500Z", now)).toBe(60);
  expect(secondsLeft("2026-11-28T15:00:00Z", now)).toBe(0);
});

describe("what waits to be confirmed", () => {
  it("ends by this browser's clock, however wrong that is", () => {
    waitFor(60);
    const end = deadlineOf("2031-01-01T00:00:00Z");
    expect(Math.round((end - Date.now()) / 1000)).toBe(60);
    expect(deadlineOf("2031-01-01T00:00:00Z")).toBe(end);
    expect(deadlineOf("2026-11-28T16:00:00Z")).toBe(Date.parse("2026-11-28T16:00:00Z"));
  });

  it("has lapsed where nobody kept it", () => {
    noteWaiting("a");
    noteWaiting(null);
    expect(lapsed.value).toBe(true);
    noteWaiting("b");
    expect(lapsed.value).toBe(false);
    noteKept();
    noteWaiting(null);
    expect(lapsed.value).toBe(false);
  });
});
