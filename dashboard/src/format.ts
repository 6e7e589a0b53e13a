// Numbers, times and texts for people, as the language writes them. Pure: the time of "now" is an argument.
// Texts from the network pass through `printable` before anyone sees them.

import { t } from "./i18n";
import { count, perLanguage } from "./language";

export { count };

const tenths = perLanguage((locale) => new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1, useGrouping: false }));
const upToTenths = perLanguage((locale) => new Intl.NumberFormat(locale, { maximumFractionDigits: 1, useGrouping: false }));

/** 1.44 → "1.4", 2 → "2.0". */
const tenth = (n: number): string => tenths().format(n);

/** 184203 → "184k": for axes and narrow places. */
export function short(n: number): string {
  if (Math.abs(n) < 1000) return upToTenths().format(n);
  const [value, unit] = Math.abs(n) < 999_500 ? [n / 1000, "k"] : [n / 1_000_000, "M"];
  return `${upToTenths().format(value < 10 ? value : Math.round(value))}${unit}`;
}

/** 0.1731 → "17.3 %". A share that is there never reads as nothing. */
export function percent(share: number): string {
  if (share > 0 && share < 0.001) return `< ${tenth(0.1)} %`;
  if (share < 1 && share > 0.999) return `> ${tenth(99.9)} %`;
  return share === 0 || share === 1 ? `${share * 100} %` : `${tenth(share * 100)} %`;
}

export function share(part: number, all: number): number {
  return all > 0 ? part / all : 0;
}

/** Microseconds with the unit that reads best: "38 µs", "1.4 ms", "2.1 s". */
export function micros(us: number): string {
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 999_500) return `${us < 9950 ? tenth(us / 1000) : Math.round(us / 1000)} ms`;
  return `${tenth(us / 1_000_000)} s`;
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${n < 10 * 1024 ? tenth(n / 1024) : Math.round(n / 1024)} KiB`;
  if (n < 1024 ** 3) return `${n < 10 * 1024 ** 2 ? tenth(n / 1024 ** 2) : Math.round(n / 1024 ** 2)} MiB`;
  return `${tenth(n / 1024 ** 3)} GiB`;
}

/** Seconds as "4 s", "12 min", "3 h 20 min", "5 d 2 h". */
export const span = (seconds: number): string => spanWith(seconds, (days) => t("units.days", { count: days }));

function spanWith(seconds: number, daysText: (days: number) => string): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return `${min} min`;
  const h = Math.floor(min / 60);
  if (h < 24) return min % 60 ? `${h} h ${min % 60} min` : `${h} h`;
  const days = daysText(Math.floor(h / 24));
  return h % 24 ? `${days} ${h % 24} h` : days;
}

/**
 * Where the API's sentences, which are English, count plain seconds and bytes: large ones with the unit that
 * reads best. No line breaks between a number and its unit.
 */
export function withUnits(text: string): string {
  return text
    .replace(/\b\d{3,} s\b/g, (it) => spanWith(Number.parseInt(it, 10), (days) => `${days} d`))
    .replace(/\b\d{4,} bytes\b/g, (it) => bytes(Number.parseInt(it, 10)))
    .replace(/(\d) (?=(?:s|min|h|d|days?|bytes|KiB|MiB|GiB)\b)/g, "$1\u00a0");
}

/** Seconds left as a clock: "4:07", "1:02:09". */
export function countdown(seconds: number): string {
  const s = Math.max(0, Math.ceil(seconds));
  const two = (n: number) => String(n).padStart(2, "0");
  const h = Math.floor(s / 3600);
  const min = Math.floor(s / 60) % 60;
  return h > 0 ? `${h}:${two(min)}:${two(s % 60)}` : `${min}:${two(s % 60)}`;
}

const dates = (options: Intl.DateTimeFormatOptions) => perLanguage((locale) => new Intl.DateTimeFormat(locale, options));
const clockFormat = dates({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minuteFormat = dates({ hour: "2-digit", minute: "2-digit" });
const dayFormat = dates({ day: "numeric", month: "short" });

export function clock(at: Date): string {
  return clockFormat().format(at);
}

export function minute(at: Date): string {
  return minuteFormat().format(at);
}

export function day(at: Date): string {
  return dayFormat().format(at);
}

/** The time of day; with the day in front if that is not `today` (`Date.toDateString`). */
export function moment(iso: string, today: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  return at.toDateString() === today ? clock(at) : `${day(at)} ${clock(at)}`;
}

/** A step of a chart as a unit: "minute", "10 minutes", "hour", "6 hours", "day". */
export function stepName(seconds: number): string {
  if (seconds === 86_400) return t("units.stepDay");
  return seconds % 3600 === 0
    ? t("units.stepHours", { count: seconds / 3600 })
    : t("units.stepMinutes", { count: Math.round(seconds / 60) });
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/**
 * Text from the network without what could mislead the eye or a terminal: control characters and
 * the marks that turn the direction of writing.
 */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the control characters are what this is about
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "\ufffd");
}

/** The API's phrases as sentences: "no such list" → "No such list." */
export function asSentence(phrase: string): string {
  const text = phrase.trim();
  if (text === "") return "";
  const first = /^[a-z]+(?![\w.:/-])/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?…]$/.test(first) ? first : `${first}.`;
}

/**
 * A URL in the parts that matter: what comes before the host, the host, and the rest. The root of
 * DNS, a name without a label, is written as a dot.
 */
export function subjectParts(subject: string): { before: string; host: string; after: string } {
  const text = printable(subject) || ".";
  const match = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)(.*)$/i.exec(text);
  if (!match) return { before: "", host: text, after: "" };
  return { before: match[1] ?? "", host: match[2] ?? "", after: match[3] ?? "" };
}
