import { expect, it } from "vitest";
import type { ConfigFile } from "../src/config-model";
import { copyLines, readCopy, settingsCopy } from "../src/settings-copy";

const NOW = new Date("2026-11-29T01:02:03Z");
const file = (kind: ConfigFile["kind"], path: string, text: string | null): ConfigFile => ({ path, kind, text, revision: "", changed: false, fixed: null, remedy: null });
const made = (state: string): string => `policy: { lists: [{ name: own, path: ${state}/own-rules.txt }] }\n`;

const HERE = [file("main", "/etc/tidegate/tidegate.yaml", "a: 1\n"), file("included", "/etc/tidegate/conf.d/dns.yaml", "b: 1\n"), file("dashboard", "/var/lib/tidegate/dashboard.yaml", made("/var/lib/tidegate"))];

it("a copy is read as it was saved, and nothing else is taken for one", () => {
  const copy = settingsCopy([...HERE, file("included", "/gone", null)], "||a.example^\n", "1.2.0", NOW);
  expect(copy.files).toHaveLength(3);
  expect(readCopy(JSON.stringify(copy))).toEqual(copy);
  expect(settingsCopy([file("dashboard", "/d", "")], "", "", NOW).files).toEqual([]);
  const wrong: unknown[] = [null, [], 1, {}, { ...copy, kind: "other" }, { ...copy, format: 2 }, { ...copy, files: [null] }, { ...copy, files: [{ path: "/a", kind: "secret", text: "" }] }, { ...copy, own_rules: 1 }];
  for (const one of wrong) expect(readCopy(JSON.stringify(one))).toBeNull();
  expect(readCopy("{")).toBeNull();
  expect(readCopy(JSON.stringify({ ...copy, version: 1, made: null }))).toMatchObject({ version: "", made: "" });
});

it("files stand beside their kin, in other folders too, and own rules are named where they are", () => {
  const copy = settingsCopy(HERE, "", "1.2.0", NOW);
  expect(copyLines(copy, HERE).map(({ state }) => state)).toEqual(["same", "same", "same"]);
  const there = [file("main", "/srv/t.yaml", "a: 2\n"), file("included", "/srv/conf.d/dns.yaml", "b: 1\n"), file("dashboard", "/srv/state/dashboard.yaml", "")];
  expect(copyLines(copy, there).map(({ path, state }) => [path, state])).toEqual([
    ["/srv/t.yaml", "differs"],
    ["/srv/conf.d/dns.yaml", "same"],
    ["/srv/state/dashboard.yaml", "differs"],
  ]);
  expect(copyLines(copy, there)[2]?.text).toBe(made("/srv/state"));
  expect(copyLines(copy, there.slice(0, 1)).map(({ path, state }) => [path, state])).toEqual([
    ["/srv/t.yaml", "differs"],
    [null, "unknown"],
    [null, "unknown"],
  ]);
});
