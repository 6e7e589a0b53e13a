import { printable } from "../format";
import { t } from "../i18n";
import { routeHash } from "../route";

interface PageLinkProps {
  client: string;
  /** A host will do: its site is meant. */
  site: string;
  /** A time within the visit; the newest one if there is none. */
  at?: string;
  onClick?: () => void;
}

/** The way to what the visit of a site loaded. */
export function PageLink({ client, site, at, onClick }: PageLinkProps) {
  const words = { client, site, ...(at === undefined ? {} : { at: String(Date.parse(at)) }) };
  return (
    <p class="page-link">
      <a href={routeHash("page", words)} {...(onClick ? { onClick } : {})}>
        {t("page.around", { site: printable(site) })}
      </a>
    </p>
  );
}
