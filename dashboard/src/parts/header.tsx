import { theme, type Theme } from "../state";
import { routeHash, type View } from "../route";
import { Icon, Mark, type IconName } from "./icons";
import { Protection } from "./protection";

const PLACES: { view: View; name: string; icon: IconName }[] = [
  { view: "overview", name: "Overview", icon: "overview" },
  { view: "log", name: "Requests", icon: "log" },
  { view: "clients", name: "Clients", icon: "clients" },
  { view: "why", name: "Why", icon: "why" },
  { view: "lists", name: "Lists", icon: "lists" },
  { view: "cache", name: "Cache", icon: "cache" },
  { view: "setup", name: "Set up", icon: "setup" },
];

const THEMES: { theme: Theme; name: string; icon: IconName }[] = [
  { theme: "system", name: "as the system has it", icon: "system" },
  { theme: "light", name: "light", icon: "sun" },
  { theme: "dark", name: "dark", icon: "moon" },
];

/** One button that goes round: system, light, dark. */
export function ThemeButton() {
  const at = THEMES.findIndex((known) => known.theme === theme.value);
  const current = THEMES[at] ?? THEMES[0];
  const next = THEMES[(at + 1) % THEMES.length] ?? THEMES[0];
  if (!current || !next) return null;
  const label = `Colours: ${current.name}. Change to ${next.name}`;
  return (
    <button
      type="button"
      class="button button-bare button-square"
      aria-label={label}
      title={label}
      onClick={() => {
        theme.value = next.theme;
      }}
    >
      <Icon name={current.icon} />
    </button>
  );
}

export function Header({ view }: { view: View }) {
  return (
    <header class="header">
      <div class="header-row">
        <a class="brand" href={routeHash("overview")} aria-label="Tidegate, overview">
          <Mark />
          <span class="brand-name">Tidegate</span>
        </a>
        <nav class="nav" aria-label="Views">
          {PLACES.map((place) => (
            <a
              key={place.view}
              class="nav-link"
              href={routeHash(place.view)}
              aria-current={view === place.view ? "page" : undefined}
            >
              <Icon name={place.icon} />
              <span>{place.name}</span>
            </a>
          ))}
        </nav>
        <div class="header-tools">
          <Protection />
          <ThemeButton />
        </div>
      </div>
      <div class="neatline" aria-hidden="true" />
    </header>
  );
}
