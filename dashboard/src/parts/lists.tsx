import { useSignal } from "@preact/signals";
import { api, faultOf, type Fault } from "../api";
import { t } from "../i18n";
import type { List, Reloaded } from "../model";
import { routeHash } from "../route";
import { may, refreshStatus } from "../state";
import { Icon } from "./icons";
import { ListEntry } from "./list-entry";
import { Empty, Notice } from "./notice";
import { Panel } from "./panel";
import { Sentence } from "./sentence";

/** The lists in force, and the button that reads them anew. */
export function Lists({ lists, onReloaded }: { lists: List[] | null; onReloaded: () => void }) {
  const busy = useSignal(false);
  const done = useSignal<Reloaded | null>(null);
  const fault = useSignal<Fault | null>(null);
  const reload = async (): Promise<void> => {
    busy.value = true;
    try {
      done.value = await api.reload();
      fault.value = null;
      onReloaded();
      await refreshStatus();
    } catch (thrown) {
      done.value = null;
      fault.value = faultOf(thrown);
    }
    busy.value = false;
  };
  return (
    <Panel
      id="lists-title"
      title={t("lists.title")}
      aside={
        may("operator") && (
          <button type="button" class="button" disabled={busy.value} onClick={() => void reload()}>
            <Icon name="reload" />
            {t(busy.value ? "lists.reading" : "lists.reload")}
          </button>
        )
      }
    >
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      {done.value && (
        <Notice tone="good">
          <p>
            {t("lists.reloaded", {
              lists: t("lists.lists", { count: done.value.lists }),
              rules: t("lists.rules", { count: done.value.rules }),
              ms: done.value.took_ms,
            })}
          </p>
          {done.value.warnings.length > 0 && (
            <ul class="complaints">
              {done.value.warnings.map((warning) => (
                <li key={warning}>{warning}</li>
              ))}
            </ul>
          )}
        </Notice>
      )}
      {lists?.length === 0 && (
        <Empty title={t("lists.none")}>
          {may("operator") && (
            <Sentence of="lists.noneAdd" parts={{ link: (content) => <a href={routeHash("lists")}>{content}</a> }} />
          )}
        </Empty>
      )}
      {lists && lists.length > 0 && (
        <ul class="entries">
          {lists.map((list) => (
            <ListEntry key={list.name} list={list} />
          ))}
        </ul>
      )}
    </Panel>
  );
}
