import type { Role } from "../roles";
import { routeHash, type View } from "../route";
import { may } from "../state";
import { AccountMenu } from "./account-menu";
import { Icon, Mark } from "./icons";
import { Nav, type Place } from "./nav";
import { Protection } from "./protection";

/** `role` is who alone is shown the way. */
export const PLACES: readonly (Place & { role?: Role })[] = [
  { view: "overview", name: "Overview", icon: "overview" },
  { view: "statistics", name: "Statistics", icon: "statistics" },
  { view: "log", name: "Requests", icon: "log" },
  { view: "clients", name: "Clients", icon: "clients" },
  { view: "why", name: "Why", icon: "why" },
  { view: "lists", name: "Lists", icon: "lists" },
  { view: "cache", name: "Cache", icon: "cache" },
  { view: "configuration", name: "Configuration", icon: "configuration", role: "administrator" },
  { view: "people", name: "People", icon: "people", role: "administrator" },
  { view: "setup", name: "Set up", icon: "setup" },
];

interface HeaderProps {
  view: View;
  onPalette: () => void;
  onKeys: () => void;
}

export function Header({ view, onPalette, onKeys }: HeaderProps) {
  return (
    <header class="header">
      <div class="header-row">
        <a class="brand" href={routeHash("overview")} aria-label="Tidegate, overview">
          <Mark />
          <span class="brand-name">Tidegate</span>
        </a>
        <Nav places={PLACES.filter(({ role }) => role === undefined || may(role))} view={view} />
        <div class="header-tools">
          <Protection />
          <button
            type="button"
            class="button button-bare button-square"
            aria-label="Go to or do anything"
            aria-keyshortcuts="Control+K Meta+K"
            title="Go to or do anything (Ctrl K)"
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
