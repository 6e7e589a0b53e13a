// The origins that the proxy has connections to. Shown where it has any, or remembers one.

import { count, printable } from "../format";
import type { Origin } from "../model";
import { originFacts, originsShown, originUse } from "../origins";

export function Origins({ origins }: { origins: Origin[] }) {
  const { shown, more } = originsShown(origins);
  return (
    <section class="panel" aria-labelledby="origins-title">
      <div class="panel-head">
        <h2 class="panel-title" id="origins-title">
          Origins of the proxy
        </h2>
      </div>
      <ul class="entries">
        {shown.map((origin) => (
          <Row origin={origin} key={origin.origin} />
        ))}
      </ul>
      {more > 0 && <p class="panel-note">and {count(more)} more</p>}
    </section>
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
