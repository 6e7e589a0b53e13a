// Statistics: what was asked is counted, looked at for one client alone, read as a table and saved as a
// file.

import { readFile } from "node:fs/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const YAML = `
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: nxdomain }
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

test("before the first request the view says so", async () => {
  const page = await open(browser, edge, {}, "statistics");
  await page.getByText("Nothing is counted yet").waitFor();
  await page.context().close();
});

test.each(SCREENS)("requests are counted, filtered by a client and saved as CSV (%s)", async (_, screen) => {
  for (const name of ["www.example", "shop.example", "ads.example"]) await edge.lookUp(name);
  const page = await open(browser, edge, screen, "statistics");
  const lists = page.getByRole("region", { name: "Lists" });
  await lists.getByRole("link", { name: /^mine/ }).waitFor();
  await page.getByRole("img", { name: /Requests over time: \d+ passed and \d+ blocked/ }).or(page.getByText("One step so far")).waitFor();
  // What is a minute old has no week to look at.
  expect(await page.getByRole("radio", { name: "Week" }).isDisabled()).toBe(true);

  await page.getByRole("region", { name: "Clients" }).getByRole("link", { name: /^127\.0\.0\.1|^localhost/ }).click();
  await expect.poll(() => page.url()).toContain("client=127.0.0.1");
  await page.getByText(/ alone/).waitFor();
  await page.getByRole("link", { name: "Show all" }).click();
  await expect.poll(() => page.url()).not.toContain("client=");

  const saved = page.waitForEvent("download");
  await page.getByRole("link", { name: "Lists as CSV" }).click();
  const text = await readFile(await (await saved).path(), "utf8");
  expect(text).toMatch(/^by,key,passed,blocked,cached,failed,bytes,took_us\r\nlist,mine,0,[1-9]/);
  await page.context().close();
});
