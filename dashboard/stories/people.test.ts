// People sign in by name, may what their role says, have a second step, sessions and tokens; and
// the audit log tells all of it.

import { createHmac } from "node:crypto";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Edge } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const YAML = `
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"], blocked: nxdomain }
admin: { listen: "127.0.0.1:0" }
`;
// Ten wrong passwords, codes and tokens a minute are answered: all stories together send fewer.
const PASSWORD = "low-tide-at-dawn";
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const STEP_MS = 30_000;

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

const base = (): string => `http://${edge.address("admin", "http")}/`;

/** The code of a secret in a step of 30 seconds: RFC 6238 with SHA-1 and six digits. */
function codeOf(secret: string, step: number): string {
  const bits = [...secret].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const sum = createHmac("sha1", key).update(counter).digest();
  const at = (sum.at(-1) ?? 0) & 15;
  return String((sum.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

const stepNow = (): number => Math.floor(Date.now() / STEP_MS);

/** The page of somebody who is not signed in yet. */
async function stranger(screen: BrowserContextOptions): Promise<Page> {
  const page = await (await browser.newContext(screen)).newPage();
  page.on("pageerror", (error) => {
    throw error;
  });
  await page.goto(base());
  return page;
}

async function typeIn(page: Page, user: string, password = PASSWORD): Promise<void> {
  await page.getByLabel("User name").fill(user);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

async function signIn(screen: BrowserContextOptions, user: string): Promise<Page> {
  const page = await stranger(screen);
  await typeIn(page, user);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return page;
}

const go = (page: Page, view: string): Promise<unknown> => page.goto(`${base()}#/${view}`);

async function addUser(page: Page, name: string, role: string): Promise<void> {
  await go(page, "people");
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  await page.getByRole("radio", { name: role }).check();
  await page.getByRole("textbox", { name: "Password" }).fill(PASSWORD);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText(`${name} is added.`).waitFor();
}

async function makeRole(page: Page, user: string, role: string): Promise<void> {
  await go(page, `people?user=${user}`);
  await page.getByRole("radio", { name: role }).check();
  await page.getByRole("button", { name: `Make ${user} ${role.toLowerCase()}` }).click();
  await page.getByRole("region", { name: "Role" }).locator(".tag", { hasText: role }).waitFor();
}

async function removeUser(page: Page, user: string): Promise<void> {
  await go(page, `people?user=${user}`);
  await page.getByRole("button", { name: `Remove ${user}` }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("navigation", { name: "Of the people" }).waitFor();
}

test.each(SCREENS)("the first user is added by who has the token (%s)", async (_, screen) => {
  const page = await open(browser, edge, screen, "people");
  // The second screen finds nobody again.
  await page.getByText("Only the token opens this Tidegate").waitFor();
  expect(await page.getByRole("radio", { name: "Administrator" }).isChecked()).toBe(true);
  await addUser(page, "anna", "Administrator");
  const anna = await signIn(screen, "anna");
  await anna.getByRole("button", { name: "Account: anna" }).click();
  await anna.getByText("Administrator", { exact: true }).waitFor();
  await anna.getByRole("button", { name: "Sign out" }).click();
  await anna.getByLabel("User name").waitFor();
  await anna.context().close();
  await removeUser(page, "anna");
  await page.getByText("Only the token opens this Tidegate").waitFor();
  await page.context().close();
});

test.each(SCREENS)("a viewer looks on, an operator pauses, and neither sees the people (%s)", async (_, screen) => {
  const admin = await open(browser, edge, screen, "people");
  await addUser(admin, "mia", "Viewer");
  const mia = await signIn(screen, "mia");
  await mia.getByRole("button", { name: "Account: mia" }).waitFor();
  expect(await mia.getByRole("button", { name: "Pause" }).count()).toBe(0);
  expect(await mia.getByRole("link", { name: "People" }).count()).toBe(0);
  await go(mia, "lists");
  await mia.getByText("You are signed in as viewer").waitFor();
  expect(await mia.getByRole("button", { name: "Switch off mine" }).count()).toBe(0);
  expect(await mia.getByRole("button", { name: "Save" }).count()).toBe(0);
  await go(mia, "people");
  await mia.getByText(/an administrator can see/).waitFor();
  // What is not offered is not let through either.
  const asked = await mia.evaluate(() => fetch("api/pause", { method: "POST", headers: { "content-type": "application/json" }, body: '{"seconds":60}' }).then((it) => it.status));
  expect(asked).toBe(403);

  await makeRole(admin, "mia", "Operator");
  // Another role ends the sessions.
  await mia.reload();
  await mia.getByLabel("User name").waitFor();
  await typeIn(mia, "mia");
  await mia.getByRole("button", { name: "Pause" }).click();
  await mia.getByRole("button", { name: "for 5 minutes" }).click();
  await mia.getByText("Protection is paused.").waitFor();
  await mia.getByRole("button", { name: "Resume" }).click();
  await mia.getByRole("button", { name: "Pause" }).waitFor();
  await removeUser(admin, "mia");
  for (const page of [admin, mia]) await page.context().close();
});

test.each(SCREENS)("two steps: a code of the authenticator, then a recovery code (%s)", async (_, screen) => {
  const admin = await open(browser, edge, screen, "people");
  await addUser(admin, "tom", "Operator");
  const tom = await signIn(screen, "tom");
  await go(tom, "account");
  const panel = tom.getByRole("region", { name: "Two-step sign-in" });
  await panel.getByRole("button", { name: "Set up …" }).click();
  await panel.getByLabel("Your password").fill(PASSWORD);
  await panel.getByRole("button", { name: "Go on" }).click();
  const picture = panel.getByRole("img", { name: "QR code for the authenticator" });
  await picture.waitFor();
  expect(await picture.evaluate((it: HTMLImageElement) => it.decode().then(() => it.naturalWidth > 0))).toBe(true);
  const secret = ((await panel.locator(".copyable-text").textContent()) ?? "").replaceAll(" ", "");
  const used = stepNow();
  await panel.getByLabel(/The code that it shows/).fill(codeOf(secret, used));
  await panel.getByRole("button", { name: "Switch on" }).click();
  await panel.getByText("Two-step sign-in is on.").waitFor();
  const recovery = await panel.locator(".codes code").allTextContents();
  expect(new Set(recovery).size).toBe(8);
  await panel.getByRole("button", { name: "I have kept them" }).click();

  const again = await stranger(screen);
  await typeIn(again, "tom");
  await again.getByLabel("Code").fill("000000");
  await again.getByRole("button", { name: "Sign in", exact: true }).click();
  await again.getByRole("alert").waitFor();
  // A code signs in once: the next step's is taken, which a clock may be ahead by.
  await again.getByLabel("Code").fill(codeOf(secret, Math.max(stepNow(), used + 1)));
  await again.getByRole("button", { name: "Sign in", exact: true }).click();
  await again.getByRole("heading", { name: "Overview" }).waitFor();

  const lost = await stranger(screen);
  await typeIn(lost, "tom");
  await lost.getByRole("button", { name: "Use a recovery code" }).click();
  await lost.getByLabel("Recovery code").fill(recovery[0]?.toUpperCase() ?? "");
  await lost.getByRole("button", { name: "Sign in", exact: true }).click();
  await lost.getByRole("heading", { name: "Overview" }).waitFor();
  const twice = await stranger(screen);
  await typeIn(twice, "tom");
  await twice.getByRole("button", { name: "Use a recovery code" }).click();
  await twice.getByLabel("Recovery code").fill(recovery[0] ?? "");
  await twice.getByRole("button", { name: "Sign in", exact: true }).click();
  await twice.getByRole("alert").waitFor();

  // Who lost it all is let in by an administrator.
  await go(admin, "people?user=tom");
  await admin.getByRole("button", { name: /^Switch two-step sign-in off/ }).click();
  await admin.getByRole("button", { name: "Switch it off" }).click();
  await admin.getByText("Two-step sign-in is off.").waitFor();
  await typeIn(await restarted(twice), "tom");
  await twice.getByRole("heading", { name: "Overview" }).waitFor();
  await removeUser(admin, "tom");
  for (const page of [admin, tom, again, lost, twice]) await page.context().close();
});

async function restarted(page: Page): Promise<Page> {
  await page.reload();
  return page;
}

test.each(SCREENS)("a session is ended, and a token is made, used and removed (%s)", async (_, screen) => {
  const admin = await open(browser, edge, screen, "people");
  await addUser(admin, "ida", "Operator");
  const [one, other] = [await signIn(screen, "ida"), await signIn(screen, "ida")];
  await go(one, "account");
  const sessions = one.getByRole("region", { name: "Signed in" });
  await expect.poll(() => sessions.getByRole("listitem").count()).toBe(2);
  expect(await sessions.getByText(/^Chrome \d+/).count()).toBe(2);
  await sessions.getByRole("button", { name: /^End the session/ }).click();
  await expect.poll(() => sessions.getByRole("listitem").count()).toBe(1);
  await other.reload();
  await other.getByLabel("User name").waitFor();

  const tokens = one.getByRole("region", { name: "Tokens" });
  await tokens.getByRole("button", { name: "Make a token …" }).click();
  await tokens.getByLabel("Name").fill("<b>prober</b>");
  expect(await tokens.getByLabel("It may").locator("option").count()).toBe(3);
  await tokens.getByLabel("It may").selectOption("viewer");
  await tokens.getByRole("button", { name: "Make it" }).click();
  await tokens.getByText("is made.").waitFor();
  const token = ((await tokens.locator(".copyable-text").textContent()) ?? "").trim();
  const ask = async (): Promise<number> => (await fetch(`${base()}api/status`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect(await ask()).toBe(200);
  await tokens.getByRole("button", { name: "I have it" }).click();
  expect(await tokens.getByText(token).count()).toBe(0);
  // A name is text, whatever is in it.
  await tokens.getByRole("button", { name: "Remove the token <b>prober</b>" }).click();
  await tokens.getByRole("button", { name: "Remove", exact: true }).click();
  await tokens.getByText("None yet.").waitFor();
  expect(await ask()).toBe(401);
  await removeUser(admin, "ida");
  for (const page of [admin, one, other]) await page.context().close();
});

describe("audit log", () => {
  // A Tidegate of its own: of failed sign-ins ten a minute are written down, and those before were many.
  beforeAll(async () => {
    await edge.stop();
    edge = await Edge.start(YAML);
  });

  test.each(SCREENS)("the audit log tells what was done, by whom, and what failed (%s)", async (_, screen) => {
    const admin = await open(browser, edge, screen, "people?show=audit");
    await addUser(admin, "uma", "Operator");
    const uma = await signIn(screen, "uma");
    await uma.getByRole("button", { name: "Pause" }).click();
    await uma.getByRole("button", { name: "for 5 minutes" }).click();
    await uma.getByRole("button", { name: "Resume" }).click();
    await uma.getByRole("button", { name: "Pause" }).waitFor();
    const wrong = await stranger(screen);
    await typeIn(wrong, "uma", "<i>wrong</i> password");
    await wrong.getByRole("alert").waitFor();

    await go(admin, "people?show=audit");
    const log = admin.getByRole("region", { name: "Audit log" });
    for (const told of ["admin.token added the user uma as operator", "uma signed in", "uma paused protection for 5 minutes", "uma resumed protection"]) {
      await log.getByText(told).first().waitFor();
    }
    const failed = log.locator("summary", { hasText: "Somebody tried to sign in as uma" }).first();
    await failed.getByText("failed").waitFor();
    await failed.click();
    await log.getByText(/wrong\.$/).first().waitFor();
    expect(await log.getByText("<i>wrong</i> password").count()).toBe(0);
    await admin.getByRole("searchbox").fill("pause");
    await expect.poll(() => log.getByText("signed in").count()).toBe(0);
    await log.getByText("uma paused protection").first().waitFor();
    await removeUser(admin, "uma");
    for (const page of [admin, uma, wrong]) await page.context().close();
  });
});

test("the palette goes there and does it, and offers only what the role may", async () => {
  const admin = await open(browser, edge, {}, "people");
  await addUser(admin, "pia", "Viewer");
  const pia = await signIn({}, "pia");
  await pia.keyboard.press("Control+k");
  const line = pia.getByRole("combobox");
  await line.fill("pause");
  expect(await pia.getByRole("option", { name: /Pause protection/ }).count()).toBe(0);
  await line.fill("ads.example");
  await pia.keyboard.press("Enter");
  await pia.getByRole("heading", { name: "Why is it blocked, or not?" }).waitFor();
  await pia.getByText("||ads.example^").first().waitFor();
  await pia.locator("body").press("?");
  await pia.getByRole("dialog", { name: "Keyboard" }).waitFor();
  await pia.keyboard.press("Escape");

  await admin.keyboard.press("Control+k");
  await admin.getByRole("combobox").fill("pause 5");
  await admin.keyboard.press("Enter");
  await admin.getByText("Protection is paused.").waitFor();
  await admin.keyboard.press("Control+k");
  await admin.getByRole("combobox").fill("resume");
  await admin.keyboard.press("Enter");
  await admin.getByRole("button", { name: "Pause" }).waitFor();
  await removeUser(admin, "pia");
  for (const page of [admin, pia]) await page.context().close();
});
