// Every view is looked through by axe (WCAG 2.2 A and AA, and its best practices), with some traffic,
// in both languages and both themes.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { faults } from "./axe";
import { Edge } from "./edge";
import { SCREENS, startBrowser } from "./pages";

const VIEWS = [
  "overview", "statistics", "log", "clients", "client?client=127.0.0.1", "why?target=ads.example", "lists", "cache",
  "configuration", "configuration?tab=files", "configuration?tab=history", "people", "people?tab=audit", "account", "setup",
  "bypass", "page?client=127.0.0.1&site=ads.example", "welcome",
];

let edge: Edge;
let browser: Browser;

beforeAll(async () => {
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
