// The origins that the proxy has connections to. Shown where it has any, or remembers one.

import { few } from "../few";
import { printable } from "../format";
import { t } from "../i18n";
import type { Origin } from "../model";
import { originFacts, originUse } from "../origins";
import { More, Panel } from "./panel";

export function Origins({ origins }: { origins: Origin[] }) {
  const { shown, more } = few(origins);
  return (
    <Panel id="origins-title" title={t("origins.title")}>
      <ul class="entries">
        {shown.map((origin) => (
          <Row origin={origin} key={origin.origin} />
        ))}
      </ul>
      <More more={more} />
    </Panel>
  );
}

function Row({ origin }: { origin: Origin }) {
  return (
    <li class="entry">
      <div class="entry-main">
        <span class="entry-name">
          <span class={`dot ${origin.open > 0 ? "dot-good" : "dot-open"}`} aria-hidden="true" />
          {printable(origin.origin)}
        </span>
        <span class="entry-figure">{originUse(origin)}</span>
      </div>
      <div class="entry-sub">
        {originFacts(origin).map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
      </div>
    </li>
  );
}
