// Verdicts in words: the sentence of an explanation, what the causes and sources mean, and the
// command that says the same on a terminal. Pure; called by the log's drawer and the "why" view.

import { DOOR_WORDS } from "./doors";
import { printable } from "./format";
import type { Cause, Rule } from "./model";

/** A sentence in pieces, so that the rule and the list can be set apart. */
export interface Sentence {
  verdict: string;
  reason: string;
  rule: Rule | null;
}

interface Decided {
  action: string;
  cause: Cause | string;
  rule: Rule | null;
  /** The API's own sentence, "passes: …", where there is one. */
  summary?: string;
}

/** "Blocked: rule `||ads.example^` on line 12 of list starter", in pieces. */
export function sentence(decided: Decided): Sentence {
  const verdict = decided.action === "block" ? "Blocked" : "Passed";
  if (decided.rule) {
    return { verdict, reason: decided.action === "block" ? "rule" : "allowed by rule", rule: decided.rule };
  }
  // A pause and a leave for one name have the same cause: only the summary tells them apart.
  if ((decided.cause === "paused" || decided.cause === "by_hand") && decided.summary) {
    return { verdict, reason: `${printable(decided.summary.replace(/^(passes|blocked): /, ""))}.`, rule: null };
  }
  return { verdict, reason: causeText(decided.cause), rule: null };
}

export function causeText(cause: string): string {
  switch (cause) {
    case "none":
      return "no rule on any list blocks it.";
    case "paused":
      return "protection was paused, or the name let through.";
    case "by_hand":
      return "somebody blocked it by hand.";
    case "not_asked":
      return "the policy was not asked for this request.";
    case "unlisted":
      return "no rule lets it pass, and this client may have only what is listed.";
    case "other_blocker":
      return "no rule names it; another blocker of this network sent it here.";
    case "rule":
      return "a rule that is no longer on the lists.";
    default:
      return printable(cause);
  }
}

const SOURCES: Record<string, string> = {
  policy: "made here, by the policy",
  local: "a local record",
  cache: "the cache",
  stale: "the cache, past its time, while a fresh answer is fetched",
  upstream: "an upstream resolver",
  origin: "the origin server",
  file: "a file",
  tunnel: "a tunnel to the origin",
  refused: "the door, which refused it",
  failed: "nowhere: the answer could not be had",
};

/** Where an answer came from, in words. */
export function sourceText(source: string): string {
  return SOURCES[source] ?? printable(source);
}

export const DOOR_TEXT: Record<string, { name: string; does: string }> = {
  ...DOOR_WORDS,
  admin: { name: "Admin", does: "this page" },
};

export function doorName(door: string): string {
  return DOOR_TEXT[door]?.name ?? printable(door);
}

/** One word for a POSIX shell. Names come from strangers: nothing in them may reach the shell. */
export function shellWord(text: string): string {
  const safe = printable(text);
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'\\''`)}'`;
}

/** The command that explains the same request on a terminal. */
export function whyCommand(
  ask: { target: string; client?: string; kind?: string; door?: string; page?: string | null },
  state = "",
): string {
  const words = ["tidegate", "why"];
  // By its state folder the running Tidegate is found from any folder of its machine.
  if (state) words.push("--state", shellWord(state));
  for (const key of ["client", "kind", "door", "page"] as const) {
    const value = ask[key];
    if (value) words.push(`--${key}`, shellWord(value));
  }
  // A name may begin with a hyphen and must not be taken for an option.
  if (ask.target.startsWith("-")) words.push("--");
  words.push(shellWord(ask.target));
  return words.join(" ");
}

export const KINDS = {
  "DNS record types": ["A", "AAAA", "HTTPS", "CNAME", "MX", "TXT", "SRV", "PTR"],
  "Parts of a page": [
    "document",
    "subdocument",
    "script",
    "stylesheet",
    "image",
    "font",
    "media",
    "fetch",
    "ping",
    "websocket",
    "tunnel",
    "object",
    "other",
  ],
} as const;

/**
 * What to ask about for a row: a tunnel is logged as `host:443`, which is asked about by its name; the
 * root of DNS is logged as nothing, and asked about as a dot.
 */
export function targetOf(subject: string): string {
  const tunnel = /^([^/:]+):\d+$/.exec(subject) ?? /^\[([0-9a-f:.]+)\]:\d+$/i.exec(subject);
  return tunnel?.[1] ?? (subject || ".");
}
