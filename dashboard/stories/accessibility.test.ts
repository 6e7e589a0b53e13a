// Every view is looked through by axe (WCAG 2.2 A and AA, and its best practices), with some traffic,
// in both languages and both themes.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Edge } from "./edge";
import { SCREENS, startBrowser } from "./pages";

const VIEWS = [
  "overview", "statistics", "log", "clients", "client?client=127.0.0.1", "why?target=ads.example", "lists", "cache",
  "configuration", "configuration?tab=files", "configuration?tab=history", "people", "people?tab=audit", "account", "setup",
  "bypass", "page?client=127.0.0.1&site=ads.example", "welcome",
];

let edge: Edge;
let browser: Browser;
let axe: string;

beforeAll(async () => {
  axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  edge = await Edge.start(`
policy: { lists: [{ name: ads, rules: ["||ads.example^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"] }
admin: { listen: "127.0.0.1:0" }
`);
  for (const name of ["ads.example", "www.example", "www.ads.example"]) await edge.lookUp(name);
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
  await edge.stop();
});

/** What is wrong on the page as it stands: rule, and the elements. */
async function faults(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate(
    () => (window as unknown as { axe: { run: () => Promise<AxeResults> } }).axe.run(),
  );
  return found.violations.flatMap((fault) => fault.nodes.map((node) => `${fault.id}: ${node.html.slice(0, 160)} (${node.failureSummary ?? ""})`));
}

const LANGUAGES = ["en-US", "de-DE"];
const PLACES = SCREENS.flatMap(([name, screen]) => LANGUAGES.map((locale) => [`${name}, ${locale}`, { ...screen, locale }] as const));

test.each(PLACES)("axe finds nothing (%s)", async (_, screen) => {
  const context = await browser.newContext(screen);
  const page = await context.newPage();
  await page.goto(await edge.page());
  await page.getByRole("heading", { level: 1 }).waitFor();
  const told: Record<string, string[]> = {};
  for (const view of VIEWS) {
    await page.goto(`http://${edge.address("admin", "http")}/#/${view}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForLoadState("networkidle");
    const found = await faults(page);
    if (found.length > 0) told[view] = found;
  }
  expect(told).toEqual({});
  await context.close();
});
