// On the overview, while nothing is set up yet: the way to the first steps. And while something written
// waits to be confirmed, the place to do that.

import { api } from "../api";
import { t } from "../i18n";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { may } from "../state";
import { WaitingNotice } from "./waiting-notice";

const ASKED_EVERY_MS = 10_000;
const WAITING_EVERY_MS = 2_500;

/** What was applied elsewhere and waits, with its countdown. */
export function WaitingChange() {
  const asked = usePolled("waiting change", WAITING_EVERY_MS, (signal) => api.firstRun("", signal));
  return asked.data?.waiting ? <WaitingNotice waiting={asked.data.waiting} onConfirmed={asked.refresh} /> : null;
}

export function FirstRunNotice() {
  return may("administrator") ? <Asked /> : null;
}

function Asked() {
  const asked = usePolled("first run", ASKED_EVERY_MS, (signal) => api.firstRun("", signal));
  const { data } = asked;
  if (data?.waiting) return <WaitingNotice waiting={data.waiting} onConfirmed={asked.refresh} />;
  if (!data?.needed) return null;
  return (
    <section class="panel first-run" aria-labelledby="first-run-title">
      <div>
        <h2 id="first-run-title">{t("welcome.offer")}</h2>
        <p>{t("welcome.offerText")}</p>
      </div>
      <a class="button button-main" href={routeHash("welcome")}>
        {t("welcome.begin")}
      </a>
    </section>
  );
}
