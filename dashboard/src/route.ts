// Where in the dashboard one is: the part of the address after `#`. A filter is part of the address,
// so that a view of the log can be bookmarked and the back button works.

export const VIEWS = [
  "overview",
  "statistics",
  "log",
  "clients",
  "bypass",
  "page",
  "fleet",
  "why",
  "lists",
  "cache",
  "configuration",
  "people",
  "account",
  "setup",
  "welcome",
] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  view: View;
  words: Readonly<Record<string, string>>;
}

function isView(text: string): text is View {
  return (VIEWS as readonly string[]).includes(text);
}

/** Reads `#/log?filter=ads`; anything else is the overview. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const view = isView(path) ? path : "overview";
  return { view, words: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a view; empty words are left out. */
export function routeHash(view: View, words: Record<string, string> = {}): string {
  const query = new URLSearchParams(Object.entries(words).filter(([, value]) => value !== ""));
  const text = query.toString();
  return text ? `#/${view}?${text}` : `#/${view}`;
}

/** The token in `#token=…`, as the address has it that `tidegate run` prints. */
export function tokenInHash(hash: string): string | null {
  if (!/^#\/?token=/.test(hash)) return null;
  return new URLSearchParams(hash.replace(/^#\/?/, "")).get("token");
}
