// The admin API's JSON about pages that were visited, and what was sent to blocked hosts. Times as in
// `model.ts`.

import type { RequestRow, Rule } from "./model";

/** A visit among which one chooses. */
export interface VisitLine {
  at: string;
  until: string;
  requests: number;
  blocked: number;
}

/** A host that a visit loaded something from, or was kept from. */
export interface VisitHost {
  host: string;
  site: string;
  /** Since the visit began. */
  first_after_ms: number;
  requests: number;
  blocked: number;
  bytes: number;
  doors: string[];
  /** What decided about it; null where nothing did. */
  rule: Rule | null;
}

/** What a page tried to send to a blocked host. */
export interface SentBody {
  at: string;
  client: string;
  method: string;
  url: string;
  content_type: string;
  bytes: number;
  /** The beginning without secrets; null where it is no text. */
  text: string | null;
  shown_bytes: number;
}

export interface Visit extends VisitLine {
  bytes: number;
  hosts: VisitHost[];
  rows: RequestRow[];
  /** Rows that are left out. */
  more: number;
  sent: SentBody[];
}

export interface PageVisits {
  client: string;
  site: string;
  visits: VisitLine[];
  visit: Visit | null;
  /** False where only time and device tie the requests together. */
  by_referer: boolean;
}
