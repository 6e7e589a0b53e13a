// Verdicts in words: the sentence of an explanation, what the causes and sources mean, and the
// command that says the same on a terminal. Pure; called by the log's drawer and the "why" view.

export { doorName } from "./doors";


import { printable } from "./format";
import { t } from "./i18n";
import type { Cause, Rule } from "./model";

/** A sentence in pieces, so that the rule and the list can be set apart. */
export interface VerdictWords {
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
export function sentence(decided: Decided): VerdictWords {
  const verdict = decided.action === "block" ? t("why.blocked") : t("why.passed");
  if (decided.rule) {
    return { verdict, reason: decided.action === "block" ? t("why.byRule") : t("why.allowedByRule"), rule: decided.rule };
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
      return t("why.causes.none");
    case "paused":
      return t("why.causes.paused");
    case "by_hand":
      return t("why.causes.byHand");
    case "not_asked":
      return t("why.causes.notAsked");
    case "unlisted":
      return t("why.causes.unlisted");
    case "other_blocker":
      return t("why.causes.otherBlocker");
    case "rule":
      return t("why.causes.rule");
    default:
      return printable(cause);
  }
}

const SOURCES = ["policy", "local", "cache", "stale", "upstream", "origin", "file", "tunnel", "refused", "failed"] as const;

/** Where an answer came from, in words. */
export function sourceText(source: string): string {
  const known = SOURCES.find((one) => one === source);
  return known ? t(`why.sources.${known}`) : printable(source);
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

/** The kinds as rules and commands call them. */
export const KINDS = {
  records: ["A", "AAAA", "HTTPS", "CNAME", "MX", "TXT", "SRV", "PTR"],
  parts: [
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
