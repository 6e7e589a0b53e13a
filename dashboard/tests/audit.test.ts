import { expect, test } from "vitest";
import { auditText, auditWho, bodyLines, hasFailed } from "../src/audit";
import { speak } from "../src/i18n";
import type { AuditEntry } from "../src/user-model";

const entry = (action: string, body: unknown = {}, more: Partial<AuditEntry> = {}): AuditEntry =>
  ({ n: 1, at: "2026-11-28T12:00:00.000Z", who: "anna", kind: "user", role: "administrator", client: "192.0.2.7", action, body, status: 200, error: null, ...more });
const told = (action: string, body?: unknown, more?: Partial<AuditEntry>): string => auditText(entry(action, body, more));

test.each([
  ["POST /api/pause", { seconds: 600 }, "paused protection for 10 minutes"],
  ["POST /api/pause", { seconds: 3600 }, "paused protection for 1 hour"],
  ["POST /api/pause", null, "paused protection"],
  ["POST /api/allow", { host: "shop.example", minutes: 60, client: "192.168.1.7", profile: null }, "allowed shop.example for 192.168.1.7 for 1 hour"],
  ["POST /api/block", { host: "*", minutes: "always", client: null, profile: "kids" }, "blocked everything for the profile kids for good"],
  ["POST /api/revoke", { host: "shop.example", client: null, profile: null }, "took back that shop.example is allowed"],
  ["POST /api/lists/switch", { name: "ads", on: false }, "switched off the list ads"],
  ["PUT /api/profiles", { was: null, profile: { name: "kids" } }, "made the profile kids"],
  ["PUT /api/groups", { was: "night", group: { name: "night" } }, "changed the group night"],
  ["POST /api/stores/purge", { what: "host", value: "deb.example" }, "purged what is stored of the host deb.example"],
  ["POST /api/users", { name: "mia", role: "viewer", password: "[redacted]" }, "added the user mia as viewer"],
  ["POST /api/users/change", { name: "ben", role: "operator" }, "made ben operator"],
  ["POST /api/users/change", { name: "ben", password: "[redacted]" }, "set the password of ben anew"],
  ["POST /api/users/change", { name: "ben", totp: "off" }, "switched off the two-step sign-in of ben"],
  ["POST /api/sessions/end", { user: "ben" }, "ended all sessions of ben"],
  ["POST /api/tokens", { name: "prometheus", scope: "metrics", days: null }, "made the token prometheus"],
  ["POST /login", null, "signed in"],
  ["GET /login/oidc/callback", null, "signed in by single sign-on"],
  ["POST /logout", null, "signed out"],
])("%s %j", (action, body, text) => {
  expect(told(action, body)).toBe(text);
});

test("what failed was tried", () => {
  expect(told("POST /api/pause", { seconds: 300 }, { status: 403 })).toBe("tried to pause protection for 5 minutes");
  const login = entry("POST /login", null, { who: "anna", kind: "nobody", role: null, status: 401, error: "wrong" });
  expect(`${auditWho(login)} ${auditText(login)}`).toBe("Somebody tried to sign in as anna");
  expect(hasFailed(login)).toBe(true);
  const signOn = entry("GET /login/oidc/callback", null, { who: "anna", kind: "nobody", role: null, status: 403, error: "no role" });
  expect(`${auditWho(signOn)} ${auditText(signOn)}`).toBe("Somebody tried to sign in by single sign-on as anna");
  const away = entry("GET /login/oidc", null, { who: "", kind: "nobody", role: null, status: 502, error: "no answer" });
  expect(`${auditWho(away)} ${auditText(away)}`).toBe("Somebody tried to sign in by single sign-on");
  expect(told("POST /login", null, { who: "admin.token", kind: "nobody", status: 401 })).toBe("tried to sign in with a token");
});

test("what is not known is told by its path", () => {
  expect(told("PUT /api/config/value", { path: "dns" })).toBe("did PUT /api/config/value");
  expect(told("POST /api/nothing", {}, { status: 404 })).toBe("tried POST /api/nothing");
  expect(told("toString")).toBe("did toString");
});

test("a body may be anything", () => {
  for (const body of [null, 7, "text", [], { host: 5, minutes: {}, client: [] }, { profile: "kids" }, { seconds: "x" }, { seconds: -1 }]) {
    for (const action of ["POST /api/pause", "POST /api/block", "PUT /api/profiles", "POST /api/users/change", "POST /login"]) expect(told(action, body)).not.toMatch(/undefined|NaN|object/);
  }
});

test("hostile text is shown as text", () => {
  expect(told("POST /api/lists", { name: "\u202egnp<b>" })).toBe("added the list \ufffdgnp<b>");
  expect(bodyLines({ name: "\u202egnp", n: [1] })).toEqual(["{", '  "name": "\ufffdgnp",', '  "n": [', "    1", "  ]", "}"]);
  expect(bodyLines({})).toBeNull();
  expect(bodyLines(null)).toBeNull();
});

test("in German the deed stands at the end", async () => {
  await speak("de");
  expect([
    told("POST /api/pause", { seconds: 600 }),
    told("POST /api/pause", null, { status: 403 }),
    told("POST /api/lists/switch", { name: "ads", on: false }),
    told("POST /api/users/change", { name: "ben", role: "operator" }),
  ]).toEqual(["hat den Schutz für 10 Minuten pausiert", "wollte den Schutz pausieren", "hat die Liste ads abgeschaltet", "hat ben zum Bediener gemacht"]);
  await speak("en");
});
