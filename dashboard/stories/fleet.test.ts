// A fleet of two machines by bundles in a folder: one of them refuses what is published, and the
// other's dashboard says which and why.

import { createHash } from "node:crypto";
import { appendFile, chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { faults } from "./axe";
import { Edge, tidegate } from "./edge";
import { open, SCREENS, startBrowser } from "./pages";

const NAMES = ["harbour", "pier"];

let folder: string;
let edges: Edge[];
let taken: Server;
let browser: Browser;

const fleet = (word: string, ...more: string[]): Promise<string> =>
  tidegate(["fleet", word, join(folder, "home"), "--key", join(folder, "fleet.key"), ...more]);

/** Writes a file of the fleet's folder. */
const write = (name: string, text: string): Promise<void> => writeFile(join(folder, "home", name), text);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidegate-fleet-"));
  await chmod(folder, 0o755);
  const bundles = join(folder, "bundles");
  await fleet("init", "--bundles", bundles);
  await mkdir(join(folder, "home", "overlays"));
  await write("tidegate.yaml", 'policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }\n');
  const key = /ed25519:[^"]+/.exec(await readFile(join(folder, "home", "fleet.yaml"), "utf8"))?.[0] ?? "";
  edges = [];
  for (const name of NAMES) {
    const token = await tidegate(["fleet", "invite", join(folder, "home"), "--edge", name, "--label", `site=${name}`]);
    const own = (more: string): string =>
      `admin: { listen: "127.0.0.1:0" }\nfleet: { name: ${name}, bundles: "${bundles}", keys: ["${key}"], poll: 1s${more} }\n`;
    // Programs are taken by who is started as the user that it runs as.
    const edge = await (name === "pier" ? Edge.startAsItself(own(", programs: true")) : Edge.start(own("")));
    await edge.command(["fleet", "join", token.trim()]);
    edges.push(edge);
  }
  await fleet("admit");
  await fleet("publish", "--why", "The first");
  taken = createServer();
  await new Promise<void>((bound) => taken.listen(0, "127.0.0.1", bound));
  browser = await startBrowser();
});

afterAll(async () => {
  await browser.close();
  for (const edge of edges) await edge.stop();
  taken.close();
  await rm(folder, { recursive: true, force: true });
});

/** The machine whose dashboard is looked at. */
function harbour(): Edge {
  const [edge] = edges;
  if (!edge) throw new Error("no machine was started");
  return edge;
}

test("machines that have what is published say so", async () => {
  const page = await open(browser, harbour(), {}, "overview");
  const complaints: string[] = [];
  page.on("console", (line) => {
    if (line.type() === "error") complaints.push(line.text());
  });
  await page.goto(`http://${harbour().address("admin", "http")}/#/fleet`);
  await page.getByRole("heading", { name: "Revision 1" }).waitFor();
  await page.getByText("2 of 2 have it in force").waitFor();
  await page.getByRole("row", { name: /^pier/ }).getByText("in force").waitFor();
  // What only a database knows is not there.
  expect(await page.getByRole("columnheader", { name: "A minute" }).count()).toBe(0);
  expect(complaints).toEqual([]);
  await page.context().close();
});

test.each(SCREENS)("a revision that one machine refuses is shown with its complaint (%s)", async (_, screen) => {
  const { port } = taken.address() as AddressInfo;
  await write("overlays/edge=pier.yaml", `web: [{ listen: ["http://127.0.0.1:${port}"], root: "${folder}/home" }]\n`);
  await fleet("publish", "--why", "A site at the pier");
  const page = await open(browser, harbour(), screen, "fleet");
  const published = page.getByRole("region", { name: /^Revision \d+/ });
  await published.getByText("A site at the pier").waitFor();
  await published.getByText("1 of 2 has it in force, 1 refuses it").waitFor();
  await published.getByText(/^harbour, this machine, runs revision \d+\.$/).waitFor();
  const machines = page.getByRole("region", { name: "Machines" });
  await machines.getByRole("row", { name: /^pier/ }).getByText(/^refuses \d+$/).waitFor();
  await machines.getByText(`cannot listen on 127.0.0.1:${port}`).waitFor();
  const history = page.getByRole("region", { name: "Revisions" });
  await history.getByRole("listitem").filter({ hasText: "A site at the pier" }).filter({ hasText: "in force here" }).waitFor();
  await history.getByText("The first").waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  expect(await faults(page)).toEqual([]);

  // It is mended, and the page says so by itself.
  await write("overlays/edge=pier.yaml", "ledger: { log: none }\n");
  await fleet("publish", "--why", "No site at the pier");
  await published.getByText("2 of 2 have it in force").waitFor();
  expect(await machines.getByText("cannot listen on").count()).toBe(0);
  await page.context().close();
});

test.each(SCREENS)("a program that does not come up is named by its digest, with its fault (%s)", async (_, screen) => {
  const broken = join(folder, "broken");
  await copyFile("/bin/false", broken);
  await appendFile(broken, "tidegate-program version=9.9.9;");
  const digest = createHash("sha256").update(await readFile(broken)).digest("hex").slice(0, 8);
  await fleet("publish", "--why", "Another program", "--program", broken);
  const page = await open(browser, harbour(), screen, "fleet");
  const machines = page.getByRole("region", { name: "Machines" });
  await machines.getByRole("row", { name: /^pier/ }).getByText(/^refuses \d+$/).waitFor();
  await machines.getByText(`Program ${digest} was given up.`).waitFor();
  await machines.getByText("the revision's program did not come up").waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  expect(await faults(page)).toEqual([]);

  await fleet("publish", "--why", "Without it", "--without-program");
  await page.getByText("2 of 2 have it in force").waitFor();
  expect(await machines.getByText("was given up").count()).toBe(0);
  await page.context().close();
});
