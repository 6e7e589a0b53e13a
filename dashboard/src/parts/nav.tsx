// The way to the views: as many side by side as there is room for, the others behind "More". On a
// phone it is the bar at the bottom.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { fitting } from "../fitting";
import { t, type MessageKey } from "../i18n";
import { language } from "../language";
import { routeHash, type View } from "../route";
import { Icon, type IconName } from "./icons";
import { useMenu } from "./menu";

export interface Place {
  view: View;
  name: MessageKey;
  icon: IconName;
}

/** As in frame.css: below, the views are a bar at the bottom. */
const PHONE = matchMedia("(width < 720px)");
/** Fingers want room: so many beside "More" in the bar. */
const PHONE_PLACES = 5;

/** Counts what fits in the row now, and again when the row changes. */
function useFitting(places: readonly Place[]) {
  const row = useRef<HTMLElement>(null);
  const [fits, setFits] = useState(places.length);
  useLayoutEffect(() => {
    const nav = row.current;
    if (!nav) return undefined;
    const measure = (): void => {
      if (PHONE.matches) {
        setFits(places.length <= PHONE_PLACES + 1 ? places.length : PHONE_PLACES);
        return;
      }
      const gap = Number.parseFloat(getComputedStyle(nav).columnGap) || 0;
      const widths = [...nav.querySelectorAll<HTMLElement>(":scope > .nav-link")].map((link) => link.getBoundingClientRect().width);
      const more = nav.querySelector<HTMLElement>(":scope > .nav-more")?.getBoundingClientRect().width ?? 0;
      setFits(fitting(widths, nav.clientWidth, more, gap));
    };
    const watch = new ResizeObserver(measure);
    watch.observe(nav);
    PHONE.addEventListener("change", measure);
    void document.fonts.ready.then(measure);
    measure();
    return () => {
      watch.disconnect();
      PHONE.removeEventListener("change", measure);
    };
  }, [places.length, language.value]);
  return { row, fits };
}

export function Nav({ places, view }: { places: readonly Place[]; view: View }) {
  const { row, fits } = useFitting(places);
  const rest = places.slice(fits);
  return (
    <nav class="nav" aria-label={t("nav.views")} ref={row}>
      {places.map((place, n) => (
        <a
          key={place.view}
          class={n < fits ? "nav-link" : "nav-link nav-over"}
          href={routeHash(place.view)}
          aria-current={view === place.view ? "page" : undefined}
        >
          <Icon name={place.icon} />
          <span>{t(place.name)}</span>
        </a>
      ))}
      <More places={rest} view={view} />
    </nav>
  );
}

/** Stands in the row even where it has nothing, unseen: its width is part of the sum. */
function More({ places, view }: { places: readonly Place[]; view: View }) {
  const { open, box, opener } = useMenu();
  const isHere = places.some((place) => place.view === view);
  return (
    <div class={places.length > 0 ? "menu nav-more" : "menu nav-more nav-over"} ref={box}>
      <button
        ref={opener}
        type="button"
        class={isHere ? "nav-link nav-link-here" : "nav-link"}
        aria-expanded={open.value}
        aria-controls="more-views"
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <Icon name="more" />
        <span>{t("nav.more")}</span>
      </button>
      {open.value && (
        <ul class="menu-sheet" id="more-views">
          {places.map((place) => (
            <li key={place.view}>
              <a
                class="menu-item"
                href={routeHash(place.view)}
                aria-current={view === place.view ? "page" : undefined}
                onClick={() => {
                  open.value = false;
                }}
              >
                <Icon name={place.icon} />
                {t(place.name)}
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
