// What all views share: the session, the place in the dashboard, the status, the theme.

import { computed, effect, signal } from "@preact/signals";
import { api, Fault, faultOf, onDenied, onSignedOut } from "./api";
import { speak, t, type MessageKey } from "./i18n";
import { isLanguage, language, languageOf, type LanguageChoice } from "./language";
import { RANGES, type Range, type Status } from "./model";
import { covers, type Role } from "./roles";
import { parseRoute, routeHash, tokenInHash, type View } from "./route";
import type { Credentials, Me } from "./user-model";

export type Session = "unknown" | "in" | "out";
export type Theme = "system" | "light" | "dark";

export const session = signal<Session>("unknown");
/** Who is signed in, and may what. */
export const me = signal<Me | null>(null);
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

const languageStored = stored("language");
export const languageChoice = signal<LanguageChoice>(isLanguage(languageStored) ? languageStored : "browser");
/** Why the words of the language that was chosen did not come; null while they are there. */
export const languageFault = signal<Fault | null>(null);

/** Takes up the chosen language; what is shown stays as it is until its words are there. */
export async function speakChosen(): Promise<void> {
  const choice = languageChoice.value;
  try {
    await speak(choice === "browser" ? languageOf(navigator.languages) : choice);
    languageFault.value = null;
  } catch {
    languageFault.value = new Fault("unreachable", t("language.missing"), t("language.missingRemedy"));
  }
}

/** Chooses a language, in this browser. */
export function chooseLanguage(choice: LanguageChoice): void {
  languageChoice.value = choice;
  store("language", choice);
  void speakChosen();
}

effect(() => {
  document.documentElement.lang = language.value;
});

/** Keys that need neither Ctrl nor another one, such as `?`: they can be switched off. */
export const singleKeys = signal(stored("keys") !== "off");
effect(() => store("keys", singleKeys.value ? "on" : "off"));

/** True if who is signed in may what `role` may. What they may not is not offered. */
export function may(role: Role): boolean {
  return me.value !== null && covers(me.value.role, role);
}

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
    // Before the first view is drawn: it offers what the role may.
    if (me.value === null) me.value = await api.me(signal);
    status.value = await api.status(signal);
    now.value = new Date();
    statusFault.value = null;
    session.value = "in";
  } catch (thrown) {
    const fault = faultOf(thrown);
    if (fault && fault.kind !== "signed-out") statusFault.value = fault;
  }
}

/** Who is signed in, asked again after it was changed. */
export async function refreshMe(): Promise<void> {
  try {
    me.value = await api.me();
  } catch {
    // The status call says what is wrong, every few seconds.
  }
}

export async function signIn(credentials: Credentials): Promise<void> {
  try {
    await api.login(credentials);
    loginFault.value = null;
    me.value = null;
    await refreshStatus();
    session.value = "in";
    requestAnimationFrame(focusView);
  } catch (thrown) {
    loginFault.value = faultOf(thrown);
    session.value = "out";
  }
}

/** The form that had the focus is gone: the view takes it, unless it has given it away already. */
function focusView(): void {
  if (document.activeElement === null || document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
}

export async function signOut(): Promise<void> {
  try {
    await api.logout();
  } catch (thrown) {
    statusFault.value = faultOf(thrown);
    return;
  }
  loginFault.value = null;
  leave();
}

/** Nobody is signed in: what one person saw is not for the next. */
function leave(): void {
  session.value = "out";
  me.value = null;
  status.value = null;
  told.value = null;
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
  onSignedOut(leave);
  onDenied(() => void refreshMe());
  globalThis.addEventListener("hashchange", () => {
    const token = tokenInHash(location.hash);
    if (token) void takeToken(token);
    else route.value = parseRoute(location.hash);
  });
  setInterval(() => {
    if (!document.hidden) now.value = new Date();
  }, 1000);
  globalThis.addEventListener("languagechange", () => void speakChosen());
  noteFailedSignIn();
  const token = tokenInHash(location.hash);
  if (token) await takeToken(token);
  else await refreshStatus();
}

/** Where Tidegate sends those whose way in failed, with what to tell them. */
const FAILED_WAYS: Readonly<Record<string, [message: MessageKey, remedy: MessageKey]>> = {
  "#stale-link": ["login.staleLink", "login.staleLinkRemedy"],
  "#sign-on-failed": ["login.signOnFailed", "login.signOnFailedRemedy"],
};

function noteFailedSignIn(): void {
  const way = FAILED_WAYS[location.hash];
  if (!way) return;
  history.replaceState(null, "", routeHash("overview"));
  loginFault.value = new Fault("signed-out", t(way[0]), t(way[1]));
}

async function takeToken(token: string): Promise<void> {
  // The token must not stay in the address, where it would be bookmarked or shown to others.
  history.replaceState(null, "", routeHash("overview"));
  route.value = parseRoute(location.hash);
  await signIn({ token });
}
