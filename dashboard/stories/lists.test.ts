// Lists are added, switched off and removed, own rules are written: each holds at once, and all of
// it outlives a restart.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ADDRESS, Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const YAML = `
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: nxdomain }
admin: { listen: "127.0.0.1:0" }
`;
const BLOCKED = "ENOTFOUND";

let edge: Edge;
let browser: Browser;
let lists: Server;

beforeAll(async () => {
  lists = createServer((_, response) => response.end("||fetched.example^\n"));
  await new Promise<void>((bound) => lists.listen(0, "127.0.0.1", bound));
  edge = await Edge.start(YAML);
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
  await edge.stop();
  lists.close();
});

test.each(SCREENS)("a list is added by URL, fetched, switched off and removed (%s)", async (_, screen) => {
  const page = await open(browser, edge, screen, "lists");
  await page.getByRole("radio", { name: "By URL" }).check();
  await page.getByLabel("Name").fill("fetched");
  await page.getByRole("textbox", { name: "URL" }).fill(`http://127.0.0.1:${(lists.address() as AddressInfo).port}/list.txt`);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("fetched is added.").waitFor();
  await page.getByRole("button", { name: "Fetch now: fetched" }).click();
  await page.getByText(/fetched (was fetched anew|is unchanged)\./).waitFor();
  await expect.poll(() => edge.lookUp("www.fetched.example"), { timeout: 20_000 }).toBe(BLOCKED);

  await page.getByRole("button", { name: "Switch off fetched" }).click();
  await page.getByText("fetched is off.").waitFor();
  expect(await edge.lookUp("www.fetched.example")).toBe(ADDRESS);
  await page.getByRole("button", { name: "Switch on fetched" }).click();
  await page.getByText("fetched is on.").waitFor();
  expect(await edge.lookUp("www.fetched.example")).toBe(BLOCKED);

  await page.getByRole("button", { name: "Remove fetched" }).click();
  await page.getByText("fetched is removed.").waitFor();
  expect(await edge.lookUp("www.fetched.example")).toBe(ADDRESS);
  expect(await page.getByRole("button", { name: "Remove mine" }).count()).toBe(0);
  await page.context().close();
});

test("a name that is taken is told with its file and line, and changes nothing", async () => {
  const page = await open(browser, edge, {}, "lists");
  await page.getByRole("radio", { name: "As text" }).check();
  await page.getByLabel("Name").fill("mine");
  await page.getByLabel("Rules, one a line").fill("||other.example^");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText(/dashboard\.yaml:\d+:\d+: .*"mine" is taken/).waitFor();
  expect(await edge.lookUp("other.example")).toBe(ADDRESS);
  await page.context().close();
});

test.each(SCREENS)("own rules are looked at while they are typed, and saved (%s)", async (_, screen) => {
  const page = await open(browser, edge, screen, "lists");
  const editor = page.getByRole("region", { name: "Own rules" });
  await editor.getByRole("textbox").fill("! of the house\n||game.example^\nno rule at all\n");
  await editor.getByText("1 line skipped").waitFor();
  await editor.getByRole("button", { name: "Save" }).click();
  await editor.getByText("Saved, and in force.").waitFor();
  expect(await edge.lookUp("game.example")).toBe(BLOCKED);
  await editor.getByRole("textbox").fill("");
  await editor.getByRole("button", { name: "Save" }).click();
  await editor.getByText("Saved, and in force.").waitFor();
  expect(await edge.lookUp("game.example")).toBe(ADDRESS);
  await page.context().close();
});

test("two who write rules do not undo one another", async () => {
  const [one, other] = [await open(browser, edge, {}, "lists"), await open(browser, edge, {}, "lists")];
  const editors = [one, other].map((page) => page.getByRole("region", { name: "Own rules" }));
  for (const [at, editor] of editors.entries()) await editor.getByRole("textbox").fill(`||editor${at}.example^\n`);
  await editors[0]?.getByRole("button", { name: "Save" }).click();
  await editors[0]?.getByText("Saved, and in force.").waitFor();
  await editors[1]?.getByRole("button", { name: "Save" }).click();
  await editors[1]?.getByText("The rules were changed meanwhile.").waitFor();
  expect(await edge.lookUp("editor0.example")).toBe(BLOCKED);
  expect(await edge.lookUp("editor1.example")).toBe(ADDRESS);
  for (const page of [one, other]) await page.context().close();
});

test.each(SCREENS)("own rules and lists are tried on what was asked before they hold (%s)", async (_, screen) => {
  const width = screen.viewport?.width ?? 0;
  const [blocked, free] = [`try${width}.example`, `free${width}.example`];
  for (const name of [blocked, blocked, free]) await edge.lookUp(name);
  const page = await open(browser, edge, screen, "lists");
  const editor = page.getByRole("region", { name: "Own rules" });
  await editor.getByRole("textbox").fill(`! of the house\n||${blocked}^\n`);
  await editor.getByRole("button", { name: "Try it" }).click();
  await editor.getByText(/Of \d+ requests of the last week 2 more would have been blocked/).waitFor();
  await editor.getByText(`Line 2, ||${blocked}^: 2 requests blocked`).waitFor();
  expect(await edge.lookUp(blocked), "nothing holds yet").toBe(ADDRESS);
  await editor.getByRole("textbox").fill(`||nobody-asked.example^\n`);
  await editor.getByRole("button", { name: "Try it" }).click();
  await editor.getByText(/none would have gone otherwise\.|would have passed\./).waitFor();

  await edge.lookUp("www.ads.example");
  await page.getByRole("button", { name: "What if off? mine" }).click();
  const entry = page.getByRole("listitem").filter({ hasText: "What if off?" });
  await entry.getByText(/\d+ more would have passed\./).waitFor();
  await entry.getByText("www.ads.example", { exact: true }).waitFor();
  expect(await edge.lookUp("www.ads.example")).toBe(BLOCKED);
  await page.context().close();
});
