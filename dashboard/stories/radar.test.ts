// The radar tells which device gave signs of another way out, what each means and where it is switched
// off; a name is blocked for that device, and taken back.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ADDRESS, Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const YAML = `
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: nxdomain }
ledger: { log: all }
admin: { listen: "127.0.0.1:0" }
`;
const BLOCKED = "ENOTFOUND";

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

test("where nothing was seen the radar is calm, and says what it cannot see", async () => {
  const page = await open(browser, edge, {}, "bypass");
  await page.getByRole("heading", { name: "Nothing points around Tidegate" }).waitFor();
  await page.getByText("That is no proof.", { exact: false }).waitFor();
  await page.context().close();
});

test.each(SCREENS)("a device that asks for another resolver is told with its names, and the name is blocked for it (%s)", async (_, screen) => {
  await edge.lookUp("use-application-dns.net");
  expect(await edge.lookUp("dns.google")).toBe(ADDRESS);
  const page = await open(browser, edge, screen, "bypass");
  const device = page.getByRole("region", { name: /127\.0\.0\.1|localhost/ });
  await device.getByRole("heading", { name: "Encrypted DNS elsewhere" }).waitFor();
  await device.getByRole("heading", { name: "Asked whether it may" }).waitFor();
  const signal = device.getByRole("listitem").filter({ hasText: "Encrypted DNS elsewhere" });
  await signal.getByText("Where it is switched off").click();
  await signal.getByText("Chrome: Settings, Privacy and security, Security, Use secure DNS: off.").waitFor();
  await signal.getByText(/^1 name$/).click();
  await signal.getByRole("button", { name: "Block for this device: dns.google" }).click();
  await signal.getByText("dns.google is blocked for 127.0.0.1 until you take that back.").waitFor();
  expect(await edge.lookUp("dns.google")).toBe(BLOCKED);
  await signal.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => edge.lookUp("dns.google")).toBe(ADDRESS);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  expect(wide).toBe(false);
  await page.context().close();
});

test("a range is part of the address", async () => {
  const page = await open(browser, edge, {}, "bypass?range=7d");
  expect(await page.getByRole("radio", { name: "7 d" }).isChecked()).toBe(true);
  await page.getByRole("radio", { name: "30 d" }).check();
  await expect.poll(() => page.url()).toContain("range=30d");
  await page.context().close();
});
