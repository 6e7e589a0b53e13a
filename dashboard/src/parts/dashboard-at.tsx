import { printable } from "../format";
import { Sentence } from "./sentence";

/** A link leads nowhere but to a page. */
const isHttp = (url: string): boolean => /^https?:\/\/[^/]/.test(url) && URL.canParse(url);

/** True if the dashboard is reached elsewhere than where this page came from. */
export function isElsewhere(url: string): boolean {
  return isHttp(url) && new URL(url).origin !== location.origin;
}

/** Where the dashboard is from now on, as a way there: what was written is kept from there alone. */
export function DashboardAt({ url }: { url: string }) {
  if (!isElsewhere(url)) return null;
  return <Sentence of="welcome.writtenElsewhere" values={{ where: <a href={url}>{printable(url)}</a> }} />;
}
