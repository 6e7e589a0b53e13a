// What the log is asked for: the words of its address read and written, and what of them is in
// force. Pure: the time of "now" is an argument.

import type { RequestsQuery } from "./model";

/** The words of the log's address, in the order in which they are shown. */
export const LOG_WORDS = [
  "filter", "door", "action", "client", "name", "kind", "list", "source", "status", "from", "to", "slower_than_us", "faster_than_us",
] as const satisfies readonly (keyof RequestsQuery)[];
export type LogWord = (typeof LOG_WORDS)[number];

/** Words that are numbers, with the largest that Tidegate takes. */
const NUMBERS: Partial<Record<LogWord, number>> = { from: 1e15, to: 1e15, slower_than_us: 4_294_967_295, faster_than_us: 4_294_967_295 };

export const NOTHING_ASKED = Object.fromEntries(LOG_WORDS.map((word) => [word, ""])) as Record<LogWord, string>;

/** What the address asks for; a number that is none is left out, as Tidegate would refuse it. */
export function readLogWords(words: Readonly<Record<string, string>>): RequestsQuery {
  const read = (word: LogWord): string => {
    const text = (words[word] ?? "").trim();
    const most = NUMBERS[word];
    return most !== undefined && !(/^\d{1,16}$/.test(text) && Number(text) <= most) ? "" : text;
  };
  return Object.fromEntries(LOG_WORDS.map((word) => [word, read(word)])) as unknown as RequestsQuery;
}

/** The words alone that say something, for an address. */
export function logWords(query: Partial<RequestsQuery>): Record<string, string> {
  return Object.fromEntries(LOG_WORDS.flatMap((word) => (query[word] ? [[word, query[word]]] : [])));
}

export function isNarrowed(query: RequestsQuery): boolean {
  return LOG_WORDS.some((word) => query[word] !== "");
}

/** What has no field of its own beside the search, and so is shown as a chip: each can be taken back alone. */
export type ChipWord = Exclude<LogWord, "filter" | "door" | "action" | "from" | "to" | "slower_than_us" | "faster_than_us"> | "time" | "took";

export const CHIPS: readonly { chip: ChipWord; words: readonly LogWord[] }[] = [
  { chip: "client", words: ["client"] },
  { chip: "name", words: ["name"] },
  { chip: "kind", words: ["kind"] },
  { chip: "list", words: ["list"] },
  { chip: "source", words: ["source"] },
  { chip: "status", words: ["status"] },
  { chip: "time", words: ["from", "to"] },
  { chip: "took", words: ["slower_than_us", "faster_than_us"] },
];

/** The chips in force. */
export function chipsOf(query: RequestsQuery): ChipWord[] {
  return CHIPS.filter(({ words }) => words.some((word) => query[word] !== "")).map(({ chip }) => chip);
}

/** The query without what one chip says. */
export function without(query: RequestsQuery, chip: ChipWord): RequestsQuery {
  const words = CHIPS.find((known) => known.chip === chip)?.words ?? [];
  return { ...query, ...Object.fromEntries(words.map((word) => [word, ""])) };
}

/** True if rows that come now can be among those asked for. */
export function isOpenEnded(query: RequestsQuery, now: number): boolean {
  return query.to === "" || Number(query.to) > now;
}

export const LOG_SPANS = ["quarter", "hour", "today", "yesterday", "week"] as const;
export type LogSpan = (typeof LOG_SPANS)[number];

/** From when to when a span is; what is not over yet has no end. Midnight is the browser's. */
export function logSpan(span: LogSpan, now: Date): { from: string; to: string } {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  const back = (ms: number) => ({ from: String(now.getTime() - ms), to: "" });
  switch (span) {
    case "quarter":
      return back(900_000);
    case "hour":
      return back(3_600_000);
    case "today":
      return { from: String(midnight.getTime()), to: "" };
    case "yesterday": {
      const before = new Date(midnight.getFullYear(), midnight.getMonth(), midnight.getDate() - 1);
      return { from: String(before.getTime()), to: String(midnight.getTime()) };
    }
    case "week":
      return back(604_800_000);
  }
}

const two = (n: number): string => String(n).padStart(2, "0");

/** Milliseconds since 1970 as the value of a field of date and time, in the browser's zone; empty for none. */
export function localTime(ms: string): string {
  const at = new Date(Number(ms));
  if (ms === "" || Number.isNaN(at.getTime())) return "";
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** The other way; empty for what is no time. */
export function msOf(local: string): string {
  const at = local === "" ? Number.NaN : new Date(local).getTime();
  return Number.isNaN(at) ? "" : String(at);
}

/** Milliseconds as they are typed, as microseconds; empty for what is no such number. */
export function microsTyped(text: string): string {
  const ms = Number(text.trim().replace(",", "."));
  return text.trim() === "" || !Number.isFinite(ms) || ms < 0 || ms > 4_294_967 ? "" : String(Math.round(ms * 1000));
}

/** Microseconds as milliseconds to be typed over. */
export function millisShown(us: string): string {
  return us === "" ? "" : String(Number(us) / 1000);
}
