import { percent, printable, share } from "../format";
import { t } from "../i18n";
import type { Pool, PoolName, PoolServer } from "../model";
import { lookUpFailure, lookUps } from "../names";
import { today } from "../state";
import { Notice } from "./notice";
import { Pace } from "./pace";
import { Panel } from "./panel";

/** What a server's state is called, where there is more to say than that it serves. */
const STATE_TEXT = {
  up: null,
  trial: "pools.states.trial",
  resting: "pools.states.resting",
  down: "pools.states.down",
  draining: "pools.states.draining",
} as const satisfies Record<PoolServer["state"], string | null>;

/** A pool of the gateway, with how its servers do, and the names that they are found by. */
export function PoolPanel({ pool }: { pool: Pool }) {
  const waiting = pool.waiting_high + pool.waiting_normal + pool.waiting_low;
  const busy = waiting > 0 ? t("pools.waiting", { waiting }) : t("units.requests", { count: pool.requests });
  return (
    <Panel id={`pool-${pool.name}`} title={t("pools.title", { name: pool.name })} aside={<span class="entry-figure">{busy}</span>}>
      <ul class="entries">
        {pool.names.map((name) => (
          <Name name={name} key={name.url} />
        ))}
        {pool.servers.map((server) => (
          <Server server={server} key={server.url} />
        ))}
      </ul>
    </Panel>
  );
}

function Name({ name }: { name: PoolName }) {
  const failure = lookUpFailure(name);
  return (
    <li class="entry">
      <div class="entry-main">
        <span class="entry-name">{printable(name.url)}</span>
        <span class="entry-figure">{t("pools.servers", { count: name.servers })}</span>
      </div>
      <div class="entry-sub">
        {lookUps(name, today.value).map((said) => (
          <span key={said}>{said}</span>
        ))}
      </div>
      {failure && (
        <Notice tone="land">
          <p>{failure}</p>
        </Notice>
      )}
    </li>
  );
}

function Server({ server }: { server: PoolServer }) {
  const serves = server.state === "up" || server.state === "trial";
  const state = STATE_TEXT[server.state];
  const asked = server.answers + server.failures;
  return (
    <li class="entry">
      <div class="entry-main">
        <span class="entry-name">
          <span class={`dot ${serves ? "dot-good" : "dot-bad"}`} aria-hidden="true" />
          {server.url}
          {server.backup && <span class="tag">{t("pools.backup")}</span>}
          {state && <span class="tag tag-land">{t(state)}</span>}
        </span>
        {server.latency_us > 0 && <Pace us={server.latency_us} />}
      </div>
      <div class="entry-sub">
        <span>{asked === 0 ? t("words.notAsked") : t("pools.answers", { count: server.answers })}</span>
        {server.weight !== 1 && <span>{t("pools.weight", { weight: server.weight })}</span>}
        {server.pending > 0 && <span>{t("pools.underWay", { pending: server.pending })}</span>}
        {server.failures > 0 && (
          <span>
            {t("overview.failed", { failures: server.failures, share: percent(share(server.failures, asked)) })}
          </span>
        )}
      </div>
    </li>
  );
}
