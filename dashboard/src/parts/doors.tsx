import { count, micros, percent, share } from "../format";
import { DOOR_TEXT } from "../explain";
import { DOORS, type Status, type Totals } from "../model";
import { routeHash } from "../route";

/** The five doors: where each listens, what came in, how long it took. */
export function Doors({ status, totals }: { status: Status; totals: Totals | null }) {
  return (
    <section class="panel" aria-labelledby="doors-title">
      <h2 class="panel-title" id="doors-title">
        Doors
      </h2>
      <table class="table doors">
        <thead>
          <tr>
            <th scope="col">Door</th>
            <th scope="col">Listens on</th>
            <th scope="col" class="number">
              Requests
            </th>
            <th scope="col" class="number">
              Blocked
            </th>
            <th scope="col" class="number">
              Median
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
        Counts are for the range chosen above. Times are since the start: half, and 99 of 100 requests, took no longer.
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
  const words = DOOR_TEXT[door];
  return (
    <tr class={listeners.length > 0 ? "" : "off"}>
      <th scope="row">
        <a href={routeHash("log", { door })}>{words?.name}</a>
        <span class="quiet"> {words?.does}</span>
      </th>
      <td class="places">
        {listeners.length > 0
          ? listeners.map((listener) => <code key={listener.url}>{listener.url}</code>)
          : "not in the configuration"}
      </td>
      <td class="number" data-name="Requests">
        {count(all)}
      </td>
      <td class="number" data-name="Blocked">
        {count(counts?.blocked ?? 0)}
        <span class="quiet share">{counts && counts.blocked > 0 && percent(share(counts.blocked, all))}</span>
      </td>
      <td class="number" data-name="Median">
        {latency ? micros(latency.median_us) : "–"}
      </td>
      <td class="number" data-name="99 %">
        {latency ? micros(latency.p99_us) : "–"}
      </td>
    </tr>
  );
}
