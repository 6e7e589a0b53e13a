// All settings are saved as one file and put back on another machine: lists, own rules and doors are
// there as they were, and nothing changed before it was looked at.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ADDRESS, Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const DOORS = `dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: nxdomain }
admin: { listen: "127.0.0.1:0", config_edits: on }
`;
const BLOCKED = "ENOTFOUND";

let first: Edge;
let browser: Browser;

beforeAll(async () => {
  first = await Edge.start(`# The old machine.\npolicy: { lists: [{ name: mine, rules: ["||mine.example^"] }] }\n${DOORS}`);
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
  await first.stop();
});

test.each(SCREENS)("what was saved on one machine is in force on another (%s)", async (_, screen) => {
  const from = await open(browser, first, screen, "lists");
  const ownRules = from.getByRole("region", { name: "Own rules" });
  await ownRules.getByRole("textbox").fill("||game.example^\n");
  if (await ownRules.getByRole("button", { name: "Save" }).isEnabled()) {
    await ownRules.getByRole("button", { name: "Save" }).click();
    await ownRules.getByText("Saved, and in force.").waitFor();
  }
  await from.getByRole("radio", { name: "As text" }).check();
  const added = screen.hasTouch ? "phone" : "desk";
  await from.getByLabel("Name").fill(added);
  await from.getByLabel("Rules, one a line").fill(`||${added}.example^`);
  await from.getByRole("button", { name: "Add", exact: true }).click();
  await from.getByText(`${added} is added.`).waitFor();
  await from.goto(`http://${first.address("admin", "http")}/#/configuration?tab=backup`);
  const saving = from.waitForEvent("download");
  await from.getByRole("button", { name: "Save a copy" }).click();
  const saved = await saving;
  expect(saved.suggestedFilename()).toMatch(/^tidegate-settings-\d{4}-\d\d-\d\d\.json$/);
  const copy = join(first.folder, "copy.json");
  await saved.saveAs(copy);
  await from.context().close();

  const second = await Edge.start(DOORS);
  await second.giveConfiguration();
  const before = await readFile(join(second.folder, "tidegate.yaml"), "utf8");
  const page = await open(browser, second, screen, "configuration?tab=backup");
  const refused: string[] = [];
  page.on("console", (line) => {
    if (/Content Security Policy/i.test(line.text())) refused.push(line.text());
  });
  await page.locator('input[type="file"]').setInputFiles(join(second.folder, "tidegate.yaml"));
  await page.getByText(/tidegate\.yaml is no copy of settings/).waitFor();
  await page.locator('input[type="file"]').setInputFiles(copy);
  await page.getByRole("button", { name: "Save these own rules" }).click();
  await page.getByRole("button", { name: "Save these own rules" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Look at the changes" }).click();
  await page.getByText(/policy\.lists\[mine\]: is added/).waitFor();
  expect(await second.lookUp("mine.example")).toBe(ADDRESS);
  expect(await readFile(join(second.folder, "tidegate.yaml"), "utf8")).toBe(before);
  await page.getByLabel("Why, for the history").fill("the new machine");
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText(/Applied, and in force/).waitFor();
  for (const name of ["mine.example", "game.example", `${added}.example`]) expect([name, await second.lookUp(name)]).toEqual([name, BLOCKED]);
  expect(await readFile(join(second.folder, "tidegate.yaml"), "utf8")).toContain("# The old machine.");
  expect(refused).toEqual([]);
  await page.context().close();
  await second.stop();
});

test("without own rules, lists of the dashboard are put where none were", async () => {
  const [old, fresh] = await Promise.all([Edge.start(DOORS), Edge.start(DOORS)]);
  const from = await open(browser, old, {}, "lists");
  await from.getByRole("radio", { name: "As text" }).check();
  await from.getByLabel("Name").fill("made");
  await from.getByLabel("Rules, one a line").fill("||made.example^");
  await from.getByRole("button", { name: "Add", exact: true }).click();
  await from.getByText("made is added.").waitFor();
  await from.goto(`http://${old.address("admin", "http")}/#/configuration?tab=backup`);
  const saving = from.waitForEvent("download");
  await from.getByRole("button", { name: "Save a copy" }).click();
  const copy = join(old.folder, "copy.json");
  await (await saving).saveAs(copy);
  await fresh.giveConfiguration();
  const page = await open(browser, fresh, {}, "configuration?tab=backup");
  await page.locator('input[type="file"]').setInputFiles(copy);
  await page.getByRole("button", { name: "Look at the changes" }).click();
  await page.getByText(/policy\.lists: is added: .*"made"/).waitFor();
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText(/Applied, and in force/).waitFor();
  expect(await fresh.lookUp("made.example")).toBe(BLOCKED);
  await page.context().close();
  await Promise.all([old.stop(), fresh.stop()]);
});
