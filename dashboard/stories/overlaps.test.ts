// What each list blocked, and how much of it stands in others already.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const YAML = `
policy:
  lists:
    - { name: small, rules: ["||a.example^", "||b.example^"] }
    - { name: large, rules: ["||a.example^", "||b.example^", "||c.example^", "||d.example^"] }
    - { name: apart, rules: ["||z.example^"] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: nxdomain }
ledger: { log: all }
admin: { listen: "127.0.0.1:0" }
`;

let edge: Edge;
let browser: Browser;

beforeAll(async () => {
  edge = await Edge.start(YAML);
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
  await edge.stop();
});

test.each(SCREENS)("a list that is wholly in another is told so (%s)", async (_, screen) => {
  const page = await open(browser, edge, screen, "lists");
  const panel = page.getByRole("region", { name: "Overlaps" });
  const small = panel.getByRole("listitem").filter({ hasText: "adds little" }).first();
  await small.getByText("100 % is in large already").waitFor();
  await small.getByText("All of it is in large already").waitFor();
  await panel.getByText("50.0 % is in small already").waitFor();
  expect(await panel.getByText("apart").count()).toBe(0);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  expect(wide).toBe(false);
  await page.context().close();
});

test("another set of lists is counted anew", async () => {
  const page = await open(browser, edge, {}, "lists");
  const panel = page.getByRole("region", { name: "Overlaps" });
  await panel.getByText("100 % is in large already").waitFor();
  await page.getByRole("radio", { name: "As text" }).check();
  await page.getByLabel("Name", { exact: true }).fill("more");
  await page.getByLabel("Rules, one a line").fill("||z.example^\n||y.example^");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("more is added.").waitFor();
  await panel.getByText("50.0 % is in apart already").waitFor();
  await page.getByRole("button", { name: "Remove more" }).click();
  await panel.getByText("50.0 % is in apart already").waitFor({ state: "detached" });
  await page.context().close();
});

test("what a list blocked this week leads to those requests", async () => {
  for (const name of ["c.example", "d.example"]) await edge.lookUp(name);
  const page = await open(browser, edge, {}, "lists");
  const link = page.getByRole("region", { name: "In force" }).getByRole("link", { name: /^[2-9]\d* blocked in 7 days$/ });
  await link.click({ timeout: 50_000 });
  await expect.poll(() => page.url()).toMatch(/action=block&list=large|list=large&action=block/);
  await page.locator("tbody .subject", { hasText: "d.example" }).first().waitFor();
  await page.context().close();
});
