// Chromium for the stories, on a desktop and on a phone.

import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import type { Edge } from "./edge";

export const SCREENS: [string, BrowserContextOptions][] = [
  ["desktop, light", { viewport: { width: 1280, height: 900 }, colorScheme: "light" }],
  ["phone, dark", { viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true }],
];

export function startBrowser(): Promise<Browser> {
  // Debian's own; as root it has no sandbox.
  return chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
}

/** Opens a view of the dashboard, signed in; an error of a script fails the story. */
export async function open(browser: Browser, edge: Edge, screen: BrowserContextOptions, view: string): Promise<Page> {
  const context = await browser.newContext(screen);
  const page = await context.newPage();
  page.on("pageerror", (error) => {
    throw error;
  });
  await page.goto(await edge.page());
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.goto(`http://${edge.address("admin", "http")}/#/${view}`);
  return page;
}
