import { expect, test } from "vitest";
import type { Client, Profiles } from "../src/client-model";
import { commands, offered, type KnownThings } from "../src/commands";
import type { Role } from "../src/roles";

const client = (address: string, name: string | null): Client => ({
  client: address, name, mac: null, mac_random: false, profile: "default", requests: 1, blocked: 0, first_at: "", last_at: "", trust: "unknown", held: null,
});
const profiles = { profiles: [], groups: [{ name: "night", lists: null, schedule: [], made_here: true }], lists: [], revision: "1", default: { lists: null, otherwise: "pass" } } satisfies Profiles;
const known: KnownThings = { clients: [client("192.168.1.66", "mias-tablet.lan"), client("192.168.1.7", null)], profiles, lists: [{ name: "easylist", off: true }] };
const places = [
  { view: "overview", name: "nav.overview", icon: "overview" },
  { view: "people", name: "nav.people", icon: "people", role: "administrator" },
] as const;
const all = (role: Role, paused = false) => commands({ role, paused, places, pauses: [{ seconds: 300, name: "protection.minutes" as const }] }, known);
const names = (role: Role, typed: string) => offered(typed, all(role)).map(({ command }) => command.name);

test("only what the role may is offered", () => {
  expect(names("viewer", "")).not.toContain("Pause protection for 5 minutes");
  expect(names("viewer", "")).not.toContain("People");
  expect(names("operator", "")).toContain("Pause protection for 5 minutes");
  expect(names("operator", "audit")).not.toContain("Audit log");
  expect(names("administrator", "audit")[0]).toBe("Audit log");
});

test("while it is paused, it is resumed", () => {
  const ids = all("operator", true).map(({ id }) => id);
  expect(ids).toContain("resume");
  expect(ids).not.toContain("pause 300");
});

test("devices, groups and lists are found by name, and devices by address too", () => {
  expect(offered("tablet", all("viewer"))[0]?.command.doing).toEqual({ does: "go", hash: "#/clients?client=192.168.1.66" });
  expect(offered("1.66", all("viewer"))[0]?.command.id).toBe("client 192.168.1.66");
  expect(offered("night", all("viewer"))[0]?.command.kind).toBe("Group");
  expect(offered("easy", all("viewer"))[0]?.command.kind).toBe("List");
});

test("a name that nothing is called can be asked about at once", () => {
  expect(names("viewer", "ads.example").slice(0, 2)).toEqual(["Why is ads.example blocked, or not?", "Requests with ads.example"]);
  expect(offered("https://ads.example/x?y=1", all("viewer"))[0]?.command.doing).toEqual({ does: "go", hash: "#/why?target=https%3A%2F%2Fads.example%2Fx%3Fy%3D1" });
  expect(names("viewer", "over").at(-2)).toBe("Why is over blocked, or not?");
});

test("names that mislead the eye are shown without what does it", () => {
  const hostile = { ...known, clients: [client("192.168.1.9", "\u202egnp.exe")] };
  const told = commands({ role: "viewer", paused: false, places, pauses: [] }, hostile).find(({ kind }) => kind === "Client");
  expect(told?.name).toBe("\ufffdgnp.exe");
});
