// Clients are seen, held for now, put in profiles; profiles and groups are written with their
// hours. Each holds at the DNS door at once.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ADDRESS, Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const YAML = `
policy:
  lists:
    - { name: ads, rules: ["||ads.example^"] }
    - { name: games, rules: ["||game.example^"] }
  default: { lists: [ads] }
  clients: [{ name: cellar, match: ["192.0.2.77"], schedule: [{ block: "||video.example^", days: mon-fri, from: "08:00", to: "12:30" }] }]
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: nxdomain }
ledger: { log: all }
admin: { listen: "127.0.0.1:0" }
`;
const BLOCKED = "ENOTFOUND";
/** Who asks in these stories. */
const HERE = "127.0.0.1";

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

beforeEach(async () => {
  // Whoever asks is a client.
  await edge.lookUp("www.example");
});

const clientPage = (screen: (typeof SCREENS)[number][1] = {}): Promise<Page> => open(browser, edge, screen, `clients?client=${HERE}`);

/** Fills the name and the devices of a new profile. */
async function newProfile(page: Page, name: string, members: string): Promise<void> {
  await page.getByRole("textbox", { name: "Name", exact: true }).fill(name);
  await page.getByRole("textbox", { name: "Devices, one a line" }).fill(members);
}

/** Removes a profile or a group, and says yes when asked. */
async function removeOne(page: Page, words: string): Promise<void> {
  await page.goto(`http://${edge.address("admin", "http")}/#/clients?${words}`);
  await page.getByRole("button", { name: "Remove …" }).click();
  await page.getByRole("group", { name: "Really remove it?" }).getByRole("button", { name: "Remove" }).click();
  await page.getByText(/ is removed\.$/).waitFor();
}

test.each(SCREENS)("who asked is listed, and its page is a click away (%s)", async (_, screen) => {
  await edge.lookUp("ads.example");
  const page = await open(browser, edge, screen, "clients");
  await page.getByRole("region", { name: "Clients" }).locator("a.client-name").first().click();
  await page.getByText(/Requests per /).waitFor();
  await page.getByRole("region", { name: "Most blocked" }).getByRole("link", { name: "Why ads.example" }).click();
  await page.getByText("Blocked:", { exact: false }).first().waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  expect(wide).toBe(false);
  await page.context().close();
});

test("the client of a row of the log leads to its page", async () => {
  await edge.lookUp("row.example");
  const page = await open(browser, edge, {}, "log?filter=row.example");
  await page.locator("tbody").getByRole("link", { name: HERE }).first().click();
  await page.getByRole("link", { name: "All clients" }).waitFor();
  expect(page.url()).toContain(`client=${HERE}`);
  await page.context().close();
});

test.each(SCREENS)("a client is paused, then without internet, and has both back (%s)", async (_, screen) => {
  const page = await clientPage(screen);
  await page.getByRole("button", { name: "Pause protection: 10 min" }).click();
  await page.getByText(/Everything is allowed for 127\.0\.0\.1 until \d\d:\d\d/).waitFor();
  expect(await edge.lookUp("ads.example")).toBe(ADDRESS);
  await page.getByRole("button", { name: "Protect again" }).click();
  await page.getByRole("button", { name: "No internet: Always" }).click();
  await page.getByText("Everything is blocked for 127.0.0.1 until you take that back.").waitFor();
  expect(await edge.lookUp("www.example")).toBe(BLOCKED);
  await page.getByRole("button", { name: "Give it back" }).click();
  await page.getByRole("button", { name: "No internet: 1 hour" }).waitFor();
  expect(await edge.lookUp("www.example")).toBe(ADDRESS);
  expect(await edge.lookUp("ads.example")).toBe(BLOCKED);
  await page.context().close();
});

test("a client gets a profile of its own, which is then its name, and goes back to everybody", async () => {
  const page = await clientPage();
  await page.getByRole("button", { name: "Put in a profile" }).click();
  await page.getByRole("combobox", { name: "Profile" }).selectOption("A profile of its own");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("my desk");
  await page.getByRole("button", { name: "Put in", exact: true }).click();
  await page.getByText("It is in my desk.").waitFor();
  await page.getByRole("heading", { name: "my desk" }).waitFor();
  await page.getByRole("button", { name: "Put in a profile" }).click();
  await page.getByRole("combobox", { name: "Profile" }).selectOption("That of everybody");
  await page.getByText("The profile my desk is about nobody else, and is removed.").waitFor();
  await page.getByRole("button", { name: "Put in", exact: true }).click();
  await page.getByText("It is treated as everybody.").waitFor();
  await page.context().close();
});

test.each(SCREENS)("a profile with lists of its own is made, holds, and is removed (%s)", async (_, screen) => {
  const page = await open(browser, edge, screen, "clients?new=profile");
  await newProfile(page, "desk", HERE);
  await page.getByRole("radio", { name: "Chosen" }).check();
  await page.getByRole("checkbox", { name: "ads" }).uncheck();
  await page.getByRole("checkbox", { name: "games" }).check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/^desk: Saved, and in force\./).waitFor();
  expect(await edge.lookUp("game.example")).toBe(BLOCKED);
  expect(await edge.lookUp("ads.example")).toBe(ADDRESS);
  await removeOne(page, "profile=desk");
  expect(await edge.lookUp("game.example")).toBe(ADDRESS);
  expect(await edge.lookUp("ads.example")).toBe(BLOCKED);
  await page.context().close();
});

test.each(SCREENS)("hours without internet hold by a group, for the profiles that have it (%s)", async (_, screen) => {
  const page = await open(browser, edge, screen, "clients?new=group");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("off");
  await page.getByRole("button", { name: "Add hours" }).click();
  // All day, so that the story holds at any hour.
  await page.getByLabel("From", { exact: true }).fill("00:00");
  await page.getByLabel("To", { exact: true }).fill("00:00");
  await page.getByRole("group", { name: "every day, all day" }).waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/^off: Saved, and in force\./).waitFor();
  expect(await edge.lookUp("www.example")).toBe(ADDRESS);
  await page.getByRole("link", { name: "New profile" }).click();
  await newProfile(page, "desk", HERE);
  await page.getByRole("checkbox", { name: "off" }).check();
  await page.getByText("from the group off").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/^desk: Saved, and in force\./).waitFor();
  expect(await edge.lookUp("www.example")).toBe(BLOCKED);
  await removeOne(page, "profile=desk");
  await removeOne(page, "group=off");
  expect(await edge.lookUp("www.example")).toBe(ADDRESS);
  await page.context().close();
});

test("hours are drawn on the week", async () => {
  const page = await open(browser, edge, {}, "clients?new=profile");
  const plot = page.getByRole("img", { name: /^The week/ });
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  if (!box) throw new Error("the week is not seen");
  const at = (day: number, hour: number): [number, number] => [box.x + (box.width * (hour + 0.5)) / 24, box.y + (box.height * (day + 0.5)) / 7];
  await page.mouse.move(...at(0, 8));
  await page.mouse.down();
  await page.mouse.move(...at(4, 12), { steps: 4 });
  await page.mouse.up();
  await page.getByRole("group", { name: "Mon to Fri, 08:00 to 13:00" }).waitFor();
  expect(await plot.getAttribute("aria-label")).toBe("The week. No internet: Mon to Fri, 08:00 to 13:00.");
  await page.context().close();
});

test("what cannot be is told, and nothing of what was typed is lost", async () => {
  const page = await open(browser, edge, {}, "clients?new=profile");
  await newProfile(page, "cellar", "192.0.2.77\nno address");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByRole("listitem").first().waitFor();
  expect(await page.getByRole("textbox", { name: "Devices, one a line" }).inputValue()).toBe("192.0.2.77\nno address");
  await page.context().close();
});

test("a profile of the configuration's file is shown, and not changed here", async () => {
  const page = await open(browser, edge, {}, "clients?profile=cellar");
  await page.getByText("It is set in the configuration's file, and is changed there.").waitFor();
  await page.getByText("Mon to Fri, 08:00 to 12:30").waitFor();
  expect(await page.getByRole("button", { name: "Save" }).count()).toBe(0);
  await page.context().close();
});

test("two who change a profile do not undo one another", async () => {
  const one = await open(browser, edge, {}, "clients?new=profile");
  await newProfile(one, "shared", "192.0.2.90");
  await one.getByRole("button", { name: "Save" }).click();
  await one.getByText(/^shared: Saved/).waitFor();
  await one.getByRole("link", { name: "shared" }).click();
  const other = await open(browser, edge, {}, "clients?profile=shared");
  await other.getByRole("textbox", { name: "Devices, one a line" }).fill("192.0.2.90\n192.0.2.91");
  await one.getByRole("radio", { name: "Chosen" }).check();
  await other.getByRole("button", { name: "Save" }).click();
  await other.getByText(/^Saved, and in force\./).waitFor();
  await one.getByRole("button", { name: "Save" }).click();
  await one.getByRole("button", { name: "Load again, and keep what I typed" }).click();
  await one.getByText(/somebody changed its devices/).waitFor();
  expect(await one.getByRole("radio", { name: "Chosen" }).isChecked()).toBe(true);
  expect(await one.getByRole("textbox", { name: "Devices, one a line" }).inputValue()).toBe("192.0.2.90\n192.0.2.91");
  await one.getByRole("button", { name: "Save" }).click();
  await one.getByText(/^Saved, and in force\./).waitFor();
  await removeOne(one, "profile=shared");
  for (const page of [one, other]) await page.context().close();
});
