import { t } from "../i18n";
import type { Role } from "../roles";
import { routeHash, type View } from "../route";
import { may, status } from "../state";
import { AccountMenu } from "./account-menu";
import { Icon, Mark } from "./icons";
import { Nav, type Place } from "./nav";
import { Protection } from "./protection";

/** `role` is who alone is shown the way, and `needs` what has to be there. */
const ALL_PLACES: readonly (Place & { role?: Role; needs?: "fleet" })[] = [
  { view: "overview", name: "nav.overview", icon: "overview" },
  { view: "statistics", name: "nav.statistics", icon: "statistics" },
  { view: "log", name: "nav.log", icon: "log" },
  { view: "clients", name: "nav.clients", icon: "clients" },
  { view: "bypass", name: "nav.bypass", icon: "bypass" },
  { view: "fleet", name: "nav.fleet", icon: "fleet", needs: "fleet" },
  { view: "why", name: "nav.why", icon: "why" },
  { view: "lists", name: "nav.lists", icon: "lists" },
  { view: "cache", name: "nav.cache", icon: "cache" },
  { view: "configuration", name: "nav.configuration", icon: "configuration", role: "administrator" },
  { view: "people", name: "nav.people", icon: "people", role: "administrator" },
  { view: "setup", name: "nav.setup", icon: "setup" },
];

/** The views that there are in this Tidegate. */
export const places = () => ALL_PLACES.filter(({ needs }) => needs === undefined || typeof status.value?.fleet === "string");

interface HeaderProps {
  view: View;
  onPalette: () => void;
  onKeys: () => void;
}

export function Header({ view, onPalette, onKeys }: HeaderProps) {
  return (
    <header class="header">
      <div class="header-row">
        <a class="brand" href={routeHash("overview")} aria-label={t("frame.brand")}>
          <Mark />
          <span class="brand-name">Tidegate</span>
        </a>
        <Nav places={places().filter(({ role }) => role === undefined || may(role))} view={view} />
        <div class="header-tools">
          <Protection />
          <button
            type="button"
            class="button button-bare button-square"
            aria-label={t("palette.title")}
            aria-keyshortcuts="Control+K Meta+K"
            title={t("palette.titleWithKey")}
            onClick={onPalette}
          >
            <Icon name="search" />
          </button>
          <AccountMenu onKeys={onKeys} />
        </div>
      </div>
      <div class="neatline" aria-hidden="true" />
    </header>
  );
}
