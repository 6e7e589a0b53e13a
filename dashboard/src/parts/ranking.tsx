// A ranking of the statistics: share bars, of which each leads to the series of that one alone.

import { count, percent, printable, share, short } from "../format";
import { t } from "../i18n";
import type { Ranking } from "../statistics-model";
import { Icon } from "./icons";
import { Empty } from "./notice";


export function RankingPanel(props: {
  ranking: Ranking;
  chosen: string | null;
  name: (key: string) => string;
  href: (key: string | null) => string;
  file: string;
}) {
  const { ranking, chosen, name, href, file } = props;
  const { by, lines, others, more } = ranking;
  const title = t(`statistics.titles.${by}`);
  const requests = (line: { passed: number; blocked: number }): number => line.passed + line.blocked;
  const all = lines.reduce((sum, line) => sum + requests(line), requests(others));
  const most = lines[0] ? requests(lines[0]) : 0;
  const marked = (line: { blocked: number; failed: number }): number => (by === "upstream" ? line.failed : line.blocked);
  return (
    <section class="panel" aria-labelledby={`ranking-${by}`}>
      <div class="panel-head">
        <h2 class="panel-title" id={`ranking-${by}`}>
          {title}
        </h2>
        {lines.length > 0 && (
          <a class="button button-bare button-square" href={file} download aria-label={t("statistics.asCsv", { title })} title={t("statistics.asCsv", { title })}>
            <Icon name="download" />
          </a>
        )}
      </div>
      {lines.length === 0 && <Empty title={t(`statistics.empty.${by}`)} />}
      {lines.length > 0 && (
        <ol class="bars">
          {lines.map((line) => {
            const text = name(line.key);
            const is = line.key === chosen;
            const part = marked(line);
            return (
              <li key={line.key}>
                <a class="bar ranked" href={href(is ? null : line.key)} aria-current={is ? "true" : undefined} title={printable(line.key)}>
                  <span class="bar-name">{text}</span>
                  <span class="bar-count">
                    <span class="unseen">{count(requests(line))}</span>
                    <span aria-hidden="true">{short(requests(line))}</span> <span class="bar-share">{percent(share(requests(line), all))}</span>
                  </span>
                  <svg class="bar-track" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="bar-all" width={share(requests(line), most) * 100} height="4" />
                    <rect class="bar-blocked" width={share(part, most) * 100} height="4" />
                  </svg>
                  {part > 0 && part < requests(line) && (
                    <span class="unseen">
                      {t(by === "upstream" ? "statistics.ofThemFailed" : "overview.ofThemBlocked", { share: percent(share(part, requests(line))) })}
                    </span>
                  )}
                </a>
              </li>
            );
          })}
        </ol>
      )}
      {requests(others) > 0 && (
        <p class="panel-note">
          {more > 0 ? t("statistics.others", { count: more, requests: requests(others) }) : t("statistics.allOthers", { requests: requests(others) })}
        </p>
      )}
    </section>
  );
}
