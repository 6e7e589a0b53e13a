// What all views share: the session, the place in the dashboard, the status, the theme.

import { computed, effect, signal } from "@preact/signals";
import { api, Fault, faultOf, onSignedOut } from "./api";
import { RANGES, type Range, type Status } from "./model";
import { parseRoute, routeHash, tokenInHash, type View } from "./route";

export type Session = "unknown" | "in" | "out";
export type Theme = "system" | "light" | "dark";

export const session = signal<Session>("unknown");
export const loginFault = signal<Fault | null>(null);
export const route = signal(parseRoute(location.hash));
export const status = signal<Status | null>(null);
/** The last status call's failure; null while Tidegate answers. */
export const statusFault = signal<Fault | null>(null);
/** What was done on a page of the clients that was left; shown where one came to. */
export const told = signal<string | null>(null);
/** Now, to the second: for everything that counts down or says "today". */
export const now = signal(new Date());
/** Today as `Date.toDateString` has it: what shows it is drawn anew once a day, not every second. */
export const today = computed(() => now.value.toDateString());

function stored(key: string): string | null {
  try {
    return localStorage.getItem(`tidegate.${key}`);
  } catch {
    return null;
  }
}

function store(key: string, value: string): void {
  try {
    localStorage.setItem(`tidegate.${key}`, value);
  } catch {
    // Without storage the choice holds until the page is closed.
  }
}

const themeStored = stored("theme");
export const theme = signal<Theme>(themeStored === "light" || themeStored === "dark" ? themeStored : "system");
const rangeStored = stored("range");
export const range = signal<Range>(RANGES.find((known) => known === rangeStored) ?? "24h");

effect(() => {
  const root = document.documentElement;
  if (theme.value === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = theme.value;
  store("theme", theme.value);
});
effect(() => store("range", range.value));

/** Goes to a view; the address changes and the back button leads back. */
export function go(view: View, words: Record<string, string> = {}): void {
  location.hash = routeHash(view, words);
}

/** Changes the words of the address in place: typing in a filter leaves no trail. */
export function amend(words: Record<string, string>): void {
  history.replaceState(null, "", routeHash(route.value.view, words));
  route.value = parseRoute(location.hash);
}

export async function refreshStatus(signal?: AbortSignal): Promise<void> {
  try {
    status.value = await api.status(signal);
    now.value = new Date();
    statusFault.value = null;
    session.value = "in";
  } catch (thrown) {
    const fault = faultOf(thrown);
    if (fault && fault.kind !== "signed-out") statusFault.value = fault;
  }
}

export async function signIn(token: string): Promise<void> {
  try {
    await api.login(token);
    loginFault.value = null;
    session.value = "in";
    await refreshStatus();
  } catch (thrown) {
    loginFault.value = faultOf(thrown);
    session.value = "out";
  }
}

export async function signOut(): Promise<void> {
  try {
    await api.logout();
  } catch (thrown) {
    statusFault.value = faultOf(thrown);
    return;
  }
  loginFault.value = null;
  session.value = "out";
}

/**
 * Until when everything passes; null if protection is on. Tidegate says so, not this machine's
 * clock, which may be another.
 */
export const pausedUntil = computed(() => {
  const until = status.value?.paused_until;
  return until ? new Date(until) : null;
});

/** Takes up the session: the token of the address if it has one, else the cookie. */
export async function begin(): Promise<void> {
  onSignedOut(() => {
    session.value = "out";
  });
  globalThis.addEventListener("hashchange", () => {
    const token = tokenInHash(location.hash);
    if (token) void takeToken(token);
    else route.value = parseRoute(location.hash);
  });
  setInterval(() => {
    if (!document.hidden) now.value = new Date();
  }, 1000);
  noteStaleLink();
  const token = tokenInHash(location.hash);
  if (token) await takeToken(token);
  else await refreshStatus();
}

/** Where Tidegate sends a link whose token is not its own (any more). */
const STALE_LINK = "#stale-link";

function noteStaleLink(): void {
  if (location.hash !== STALE_LINK) return;
  history.replaceState(null, "", routeHash("overview"));
  loginFault.value = new Fault(
    "signed-out",
    "The token in that link is not this Tidegate's.",
    "Open the address that tidegate run printed last, or paste the text of admin.token.",
  );
}

async function takeToken(token: string): Promise<void> {
  // The token must not stay in the address, where it would be bookmarked or shown to others.
  history.replaceState(null, "", routeHash("overview"));
  route.value = parseRoute(location.hash);
  await signIn(token);
}
