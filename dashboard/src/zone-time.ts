// Moments as the clock of a zone shows them. A day of the statistics begins at the midnight of Tidegate's
// zone, which need not be the browser's. Pure.

import { t } from "./i18n";
import { perLanguage } from "./language";

export type StepLength = "minute" | "hour" | "day" | "month";

type Part = "minute" | "day" | "date" | "month" | "year";

const OPTIONS: Record<Part, Intl.DateTimeFormatOptions> = {
  minute: { hour: "2-digit", minute: "2-digit" },
  day: { day: "numeric", month: "short" },
  date: { weekday: "short", day: "numeric", month: "short", year: "numeric" },
  month: { month: "long", year: "numeric" },
  year: { month: "short", year: "numeric" },
};

/** The zone of a name, if browsers know it; else their own. */
export function knownZone(name: string | null): string | undefined {
  if (name === null || name === "local") return undefined;
  try {
    const format = new Intl.DateTimeFormat("en-GB", { timeZone: name });
    return format.resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

export interface ZoneClock {
  zone: string | undefined;
  show: (part: Part, at: Date) => string;
}

export function clockOf(zone: string | undefined): ZoneClock {
  const formats = new Map<Part, () => Intl.DateTimeFormat>();
  const show = (part: Part, at: Date): string => {
    const format = formats.get(part) ?? perLanguage((locale) => new Intl.DateTimeFormat(locale, { ...OPTIONS[part], ...(zone ? { timeZone: zone } : {}) }));
    formats.set(part, format);
    return format().format(at);
  };
  return { zone, show };
}

/** A step in words: "28 Nov, 14:00 to 15:00", "Sat, 28 Nov 2026", "November 2026". */
export function spanText(clock: ZoneClock, step: StepLength, at: Date, until: Date): string {
  switch (step) {
    case "month":
      return clock.show("month", at);
    case "day":
      return clock.show("date", at);
    case "hour":
    case "minute":
      return t("units.fromTo", { day: clock.show("day", at), from: clock.show("minute", at), until: clock.show("minute", until) });
  }
}
