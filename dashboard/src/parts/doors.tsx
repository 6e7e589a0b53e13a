import { count, micros, percent, share } from "../format";
import { doorName } from "../doors";
import { t } from "../i18n";
import { DOORS, type Status, type Totals } from "../model";
import { routeHash } from "../route";

/** The five doors: where each listens, what came in, how long it took. */
export function Doors({ status, totals }: { status: Status; totals: Totals | null }) {
  return (
    <section class="panel" aria-labelledby="doors-title">
      <h2 class="panel-title" id="doors-title">
        {t("overview.doors")}
      </h2>
      <table class="table doors">
        <thead>
          <tr>
            <th scope="col">{t("words.door")}</th>
            <th scope="col">{t("overview.listensOn")}</th>
            <th scope="col" class="number">
              {t("words.requests")}
            </th>
            <th scope="col" class="number">
              {t("words.blocked")}
            </th>
            <th scope="col" class="number">
              {t("overview.median")}
            </th>
            <th scope="col" class="number">
              99 %
            </th>
          </tr>
        </thead>
        <tbody>
          {DOORS.map((door) => (
            <DoorLine key={door} door={door} status={status} totals={totals} />
          ))}
        </tbody>
      </table>
      <p class="panel-note">
        {t("overview.doorsNote")}
      </p>
    </section>
  );
}

function DoorLine(props: { door: (typeof DOORS)[number]; status: Status; totals: Totals | null }) {
  const { door, status, totals } = props;
  const listeners = status.listeners.filter((listener) => listener.door === door);
  const latency = status.latency.find((known) => known.door === door);
  const counts = totals?.by_door.find((known) => known.door === door);
  const all = counts ? counts.passed + counts.blocked : 0;

  return (
    <tr class={listeners.length > 0 ? "" : "off"}>
      <th scope="row">
        <a href={routeHash("log", { door })}>{doorName(door)}</a>
        <span class="quiet"> {t(`doors.${door}.does`)}</span>
      </th>
      <td class="places">
        {listeners.length > 0
          ? listeners.map((listener) => <code key={listener.url}>{listener.url}</code>)
          : t("overview.notConfigured")}
      </td>
      <td class="number" data-name={t("words.requests")}>
        {count(all)}
      </td>
      <td class="number" data-name={t("words.blocked")}>
        {count(counts?.blocked ?? 0)}
        <span class="quiet share">{counts && counts.blocked > 0 && percent(share(counts.blocked, all))}</span>
      </td>
      <td class="number" data-name={t("overview.median")}>
        {latency ? micros(latency.median_us) : "–"}
      </td>
      <td class="number" data-name="99 %">
        {latency ? micros(latency.p99_us) : "–"}
      </td>
    </tr>
  );
}
