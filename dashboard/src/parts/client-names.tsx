// Names that one client asked for, as bars: each leads to its rows in the log, and to why.

import type { NameCount } from "../client-model";
import { targetOf } from "../explain";
import { count, printable, share } from "../format";
import { t } from "../i18n";
import type { Action } from "../model";
import { routeHash } from "../route";
import { Empty } from "./notice";
import { Panel } from "./panel";

interface ClientNamesProps {
  title: string;
  names: NameCount[];
  client: string;
  action: Action;
  empty: string;
}

export function ClientNames({ title, names, client, action, empty }: ClientNamesProps) {
  const most = names[0]?.count ?? 0;
  return (
    <Panel id={`client-${action}-title`} title={title}>
      {names.length === 0 && <Empty title={empty} />}
      <ol class="bars">
        {names.map(({ text: name, count: times }) => (
          <li key={name} class="bar-row">
            <a class="bar" href={routeHash("log", { filter: name, action })} title={printable(name)}>
              <span class="bar-name">{printable(name) || <span class="quiet">{t("words.noName")}</span>}</span>
              <span class="bar-count">{count(times)}</span>
              <svg class="bar-track" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                <rect class={action === "block" ? "bar-blocked" : "bar-all"} width={share(times, most) * 100} height="4" />
              </svg>
            </a>
            <a class="bar-why" href={routeHash("why", { target: targetOf(name), client })} aria-label={t("clients.whyName", { name: printable(name) })}>
              {t("nav.why")}
            </a>
            {name.includes(".") && (
              <a class="bar-why" href={routeHash("page", { client, site: targetOf(name) })} aria-label={t("page.linkTo", { site: printable(name) })}>
                {t("nav.page")}
              </a>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
}
