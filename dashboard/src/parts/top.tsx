import { count, percent, printable, share } from "../format";
import { t } from "../i18n";
import type { TopTable } from "../model";
import { Empty } from "./notice";

/** A ranking as horizontal bars; each line leads to more about it. */
export function Top(props: {
  title: string;
  table: TopTable | null;
  href: (text: string) => string;
  empty: string;
}) {
  const { table } = props;
  const most = table?.lines[0]?.count ?? 0;
  return (
    <section class="panel" aria-label={props.title}>
      <h2 class="panel-title">{props.title}</h2>
      {table && table.lines.length === 0 && <Empty title={props.empty} />}
      {table && table.lines.length > 0 && (
        <ol class="bars">
          {table.lines.map((line) => (
            <li key={line.text}>
              <a class="bar" href={props.href(line.text)} title={printable(line.text)}>
                <span class="bar-name">{printable(line.text) || <span class="quiet">{t("words.noName")}</span>}</span>
                <span class="bar-count">{count(line.count)}</span>
                <svg class="bar-track" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                  <rect class="bar-all" width={share(line.count, most) * 100} height="4" />
                  <rect class="bar-blocked" width={share(line.blocked, most) * 100} height="4" />
                </svg>
                {line.blocked > 0 && line.blocked < line.count && (
                  <span class="unseen">{t("overview.ofThemBlocked", { share: percent(share(line.blocked, line.count)) })}</span>
                )}
              </a>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
