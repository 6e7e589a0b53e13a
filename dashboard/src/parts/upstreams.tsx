import { count, micros, percent, plural, share } from "../format";
import type { Upstream } from "../model";
import { Empty } from "./notice";

/** The resolvers that are asked, with how they do. */
export function Upstreams({ upstreams }: { upstreams: Upstream[] | null }) {
  return (
    <section class="panel" aria-labelledby="upstreams-title">
      <div class="panel-head">
        <h2 class="panel-title" id="upstreams-title">
          Upstreams
        </h2>
      </div>
      {upstreams?.length === 0 && (
        <Empty title="No upstream resolver">
          Name one under <code>dns.upstreams</code>, for example <code>"https://dns.quad9.net/dns-query"</code>.
        </Empty>
      )}
      {upstreams && upstreams.length > 0 && (
        <ul class="entries">
          {upstreams.map((upstream) => (
            <li class="entry" key={upstream.group + upstream.name + upstream.address}>
              <div class="entry-main">
                <span class="entry-name">
                  <span class={`dot ${upstream.healthy ? "dot-good" : "dot-bad"}`} aria-hidden="true" />
                  {upstream.name}
                  {upstream.group && <span class="tag">{upstream.group}</span>}
                  {!upstream.healthy && <span class="tag tag-land">not answering</span>}
                </span>
                <span class="entry-figure">
                  {upstream.latency_us === null ? "not asked yet" : micros(upstream.latency_us)}
                </span>
              </div>
              <div class="entry-sub">
                <span class="entry-from">{upstream.address}</span>
                <span>{plural(upstream.queries, "query", "queries")}</span>
                {upstream.failures > 0 && (
                  <span>
                    {count(upstream.failures)} failed ({percent(share(upstream.failures, upstream.queries))})
                  </span>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
