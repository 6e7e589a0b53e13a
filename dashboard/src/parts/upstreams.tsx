import { percent, share } from "../format";
import { t } from "../i18n";
import type { Upstream } from "../model";
import { Empty } from "./notice";
import { Pace } from "./pace";
import { Panel } from "./panel";
import { Sentence } from "./sentence";

/** The resolvers that are asked, with how they do. */
export function Upstreams({ upstreams }: { upstreams: Upstream[] | null }) {
  return (
    <Panel id="upstreams-title" title={t("overview.upstreams")}>
      {upstreams?.length === 0 && (
        <Empty title={t("overview.noUpstream")}>
          <Sentence of="overview.noUpstreamText" />
        </Empty>
      )}
      {upstreams && upstreams.length > 0 && (
        <ul class="entries">
          {upstreams.map((upstream) => (
            <Resolver upstream={upstream} key={upstream.group + upstream.name + upstream.address} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Resolver({ upstream }: { upstream: Upstream }) {
  const { queries, failures, latency_us } = upstream;
  const answers = upstream.healthy && (queries === 0 || failures < queries);
  return (
    <li class="entry">
      <div class="entry-main">
        <span class="entry-name">
          <span class={`dot ${answers ? "dot-good" : "dot-bad"}`} aria-hidden="true" />
          {upstream.name}
          {upstream.group && <span class="tag">{upstream.group}</span>}
          {!answers && <span class="tag tag-land">{t("overview.notAnswering")}</span>}
        </span>
        {latency_us !== null && <Pace us={latency_us} />}
      </div>
      <div class="entry-sub">
        {upstream.address !== upstream.name && <span class="entry-from">{upstream.address}</span>}
        <span>{queries === 0 ? t("words.notAsked") : t("overview.queries", { count: queries })}</span>
        {failures > 0 && (
          <span>
            {t("overview.failed", { failures, share: percent(share(failures, queries)) })}
          </span>
        )}
      </div>
    </li>
  );
}
