// The log is narrowed by what it knows, all in its address; rows are told as they come, and never move
// under who reads them.

import { readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const YAML = `
policy:
  lists:
    - { name: ads, rules: ["||ads.example^"] }
    - { name: games, rules: ["||game.example^"] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: nxdomain }
ledger: { log: all }
admin: { listen: "127.0.0.1:0" }
`;

/** Rows are written in batches. */
const SOON = { timeout: 10_000 };

let edge: Edge;
let browser: Browser;

beforeAll(async () => {
  edge = await Edge.start(YAML);
  browser = await startBrowser();
  for (const name of ["www.example", "ads.example", "cdn.ads.example", "game.example"]) await edge.lookUp(name);
});

afterAll(async () => {
  await browser.close();
  await edge.stop();
});

const subjects = (page: Page): Promise<string[]> => page.locator("tbody .subject").allInnerTexts();
const unfold = (page: Page): Promise<void> => page.getByRole("button", { name: "More filters" }).click();
const chip = (page: Page, text: string) => page.getByRole("button", { name: `Take back the filter: ${text}` });

/** Types in a field and leaves it. */
async function fill(page: Page, field: string, text: string): Promise<void> {
  await page.getByRole("textbox", { name: field }).or(page.getByRole("combobox", { name: field })).fill(text);
  await page.keyboard.press("Tab");
}

test.each(SCREENS)("the log is narrowed by a name and a list, and each filter is taken back alone (%s)", async (_, screen) => {
  const page = await open(browser, edge, screen, "log");
  await unfold(page);
  await fill(page, "Name, with all below it", "ads.example");
  await chip(page, "Name ads.example").waitFor();
  await expect.poll(() => subjects(page).then((all) => all.toSorted()), SOON).toEqual(["ads.example", "cdn.ads.example"]);
  await page.getByRole("combobox", { name: "List that decided" }).selectOption("games");
  await page.getByText("No request fits this filter").waitFor();
  expect(page.url()).toContain("name=ads.example&list=games");
  await chip(page, "Name ads.example").click();
  await expect.poll(() => subjects(page), SOON).toEqual(["game.example"]);
  // What stands in the address is all that there is.
  await page.reload();
  await chip(page, "List games").waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await expect.poll(() => page.url(), SOON).toMatch(/#\/log$/);
  await expect.poll(() => subjects(page).then((all) => all.length), SOON).toBeGreaterThan(3);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  expect(wide).toBe(false);
  await page.context().close();
});

test("status, kind, client, source, time and latency narrow it too", async () => {
  const page = await open(browser, edge, {}, "log");
  await unfold(page);
  await fill(page, "Status", "NXDOMAIN");
  await page.getByRole("combobox", { name: "Kind" }).selectOption("A");
  await fill(page, "Client", "127.0.0.1");
  await expect.poll(() => subjects(page).then((all) => all.toSorted()), SOON).toEqual(["ads.example", "cdn.ads.example", "game.example"]);
  await page.getByRole("combobox", { name: "Answer from" }).selectOption("upstream");
  await page.getByText("No request fits this filter").waitFor();
  await chip(page, "Status NXDOMAIN").click();
  await expect.poll(() => subjects(page), SOON).toEqual(["www.example"]);
  await page.getByRole("button", { name: "Yesterday" }).click();
  await page.getByText("No request fits this filter").waitFor();
  // Of a time that is over nothing new comes.
  expect(await page.getByRole("button", { name: "Hold still" }).count()).toBe(0);
  await page.getByRole("button", { name: "15 min" }).click();
  await fill(page, "Took less than, in ms", "60000");
  await expect.poll(() => subjects(page), SOON).toEqual(["www.example"]);
  await fill(page, "Took longer than, in ms", "59999");
  await page.getByText("No request fits this filter").waitFor();
  await page.context().close();
});

test.each(SCREENS)("a request shows as it comes, until the page is held still (%s)", async (_, screen) => {
  const page = await open(browser, edge, screen, "log");
  await page.getByText("Live", { exact: true }).waitFor();
  await edge.lookUp("first.example");
  await page.locator("tbody .subject", { hasText: /^first\.example$/ }).first().waitFor();
  await page.getByRole("button", { name: "Hold still" }).click();
  await page.getByText("Held", { exact: true }).waitFor();
  await edge.lookUp("second.example");
  await page.getByRole("button", { name: "Follow" }).click();
  await page.locator("tbody .subject", { hasText: /^second\.example$/ }).first().waitFor();
  await page.context().close();
});

test("a stream tells only what fits the filter", async () => {
  const page = await open(browser, edge, {}, "log?name=wanted.example");
  await page.getByText("No request fits this filter").waitFor();
  await edge.lookUp("other.example");
  await edge.lookUp("www.wanted.example");
  await expect.poll(() => subjects(page), SOON).toEqual(["www.wanted.example"]);
  await page.context().close();
});

test("rows stay where they are under the pointer, and a count waits", async () => {
  const page = await open(browser, edge, { viewport: { width: 1280, height: 900 } }, "log");
  await page.getByText("Live", { exact: true }).waitFor();
  const row = page.locator("tbody .subject").first();
  await row.hover();
  const before = await row.innerText();
  const box = await row.boundingBox();
  await edge.lookUp("under-the-pointer.example");
  await page.getByRole("button", { name: "1 newer" }).waitFor();
  expect(await row.innerText()).toBe(before);
  expect(await row.boundingBox()).toEqual(box);
  await page.mouse.move(5, 5);
  await expect.poll(() => row.innerText(), SOON).toBe("under-the-pointer.example");
  await page.context().close();
});

test("where no stream is to be had the log is asked every two seconds", async () => {
  const page = await open(browser, edge, {}, "setup");
  await page.route("**/api/requests/live**", (asked) => asked.fulfill({ status: 503, contentType: "application/problem+json", body: '{"error":"too many streams","remedy":"close one"}' }));
  await page.goto(`http://${edge.address("admin", "http")}/#/log`);
  await page.getByText("Every 2 s").waitFor();
  await edge.lookUp("polled.example");
  await page.locator("tbody .subject", { hasText: /^polled\.example$/ }).first().waitFor();
  await page.context().close();
});

test("a burst does not make the page grow", async () => {
  const page = await open(browser, edge, {}, "log?filter=burst");
  await page.getByText("No request fits this filter").waitFor();
  await Promise.all(Array.from({ length: 400 }, (_, n) => edge.lookUp(`n${n}.burst.example`)));
  await expect.poll(() => subjects(page).then((all) => all.length), { timeout: 20_000 }).toBeGreaterThan(0);
  expect((await subjects(page)).length).toBeLessThanOrEqual(240);
  await page.context().close();
});

test("the rows of the filter are saved as CSV and as lines of JSON", async () => {
  const page = await open(browser, edge, {}, "log?list=games");
  const save = async (name: string): Promise<string> => {
    const saved = page.waitForEvent("download");
    await page.getByRole("link", { name }).click();
    return readFile(await (await saved).path(), "utf8");
  };
  const table = await save("Save these requests as CSV");
  expect(table.trim().split("\r\n").slice(1).every((line) => line.includes("game.example"))).toBe(true);
  const lines = (await save("Save these requests as JSON lines")).trim().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { subject: string }).subject)).toContain("game.example");
  await page.context().close();
});
