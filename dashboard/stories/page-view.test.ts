// What a visit loaded: from a row of the log to the hosts, the timeline, and what was kept away by
// which rule.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const YAML = `
policy: { lists: [{ name: mine, rules: ["||tracker.example^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: nxdomain }
ledger: { log: all }
admin: { listen: "127.0.0.1:0" }
`;

let edge: Edge;
let browser: Browser;

beforeAll(async () => {
  edge = await Edge.start(YAML);
  browser = await startBrowser();
  for (const name of ["www.news.example", "static.news.example", "a.tracker.example"]) await edge.lookUp(name);
});

afterAll(async () => {
  await browser.close();
  await edge.stop();
});

test.each(SCREENS)("a row of the log leads to what its page loaded (%s)", async (_, screen) => {
  const page = await open(browser, edge, screen, "log?filter=www.news.example");
  await page.locator("tbody .subject").first().click();
  await page.getByRole("link", { name: "What news.example loaded then" }).click();
  await page.getByRole("heading", { name: "What news.example loaded" }).waitFor();
  const timeline = page.getByRole("table", { name: "What was loaded, over time" });
  await timeline.getByRole("link", { name: "static.news.example" }).waitFor();
  const kept = page.getByRole("region", { name: "Kept away" });
  await kept.getByRole("link", { name: "a.tracker.example" }).waitFor();
  await kept.getByText("||tracker.example^").waitFor();
  await page.getByRole("region", { name: "What it tried to send" }).getByText("Nothing was inspected").waitFor();
  // DNS does not say which page asked, and the view does not claim it.
  await page.getByText(/which page asked|DNS questions by their time/).waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  expect(wide).toBe(false);
  await page.context().close();
});

test("why and the names of a client lead there too", async () => {
  const page = await open(browser, edge, {}, "why?target=www.news.example&client=127.0.0.1");
  await page.getByRole("link", { name: "What news.example loaded then" }).click();
  await page.getByRole("table", { name: "What was loaded, over time" }).waitFor();
  await page.goto(`http://${edge.address("admin", "http")}/#/clients?client=127.0.0.1`);
  await page.getByRole("link", { name: "Page of www.news.example" }).click();
  await page.getByRole("table", { name: "What was loaded, over time" }).waitFor();
  await page.context().close();
});

test("a site that was not visited is told so, and hostile words do nothing", async () => {
  const page = await open(browser, edge, {}, "page?client=127.0.0.1&site=never.example");
  await page.getByText("No visit in this range").waitFor();
  await page.goto(`http://${edge.address("admin", "http")}/#/page?client=%3Cb%3E&site=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&at=never`);
  await page.getByRole("heading", { name: "What <img src=x onerror=alert(1)> loaded" }).waitFor();
  expect(await page.locator("h1 img").count()).toBe(0);
  await page.context().close();
});
