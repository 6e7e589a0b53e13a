// Forms for what people change weekly. Each change is made where the setting is written, comments
// kept, and stands on the desk like one that was typed; the form says in which file and line.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { faultOf, type Fault } from "../api";
import type { Json, SettingEdit, WrittenValue } from "../config-model";
import { checked, drafts, edit, known, nameOf, read, schema } from "../desk";
import { t } from "../i18n";
import { routeHash } from "../route";
import { schemasAt } from "../schema-walk";
import { go } from "../state";
import { Problems } from "./config-files";
import { Icon } from "./icons";
import { ListField, RecordField, ChoiceField, type FormDesk } from "./config-fields";
import { Certificates, isMapping, Pools, Sites } from "./config-sites";
import { Notice } from "./notice";
import { Panel } from "./panel";
import { Sentence } from "./sentence";

const DOORS = [
  { key: "dns", name: "doors.dns.name", example: "udp://192.168.1.2:53" },
  { key: "pixel", name: "config.pixelServer", example: "http://192.168.1.2:80" },
  { key: "proxy", name: "doors.proxy.name", example: "http://192.168.1.2:3128" },
  { key: "gateway", name: "doors.gateway.name", example: "https://192.168.1.2:443" },
] as const;

const PATHS = ["dns", "dns.upstreams", "dns.strategy", "dns.blocked", "dns.local", "gateway.pools", "gateway.routes", "gateway.tls.certificates", "gateway", "web", ...DOORS.map((door) => `${door.key}.listen`)];

function itemsOf(desk: FormDesk, path: string): Json[] {
  const value = desk.value(path)?.value;
  return Array.isArray(value) ? value : [];
}

export function ConfigForms() {
  const values = useSignal<WrittenValue[] | null>(null);
  const fault = useSignal<Fault | null>(null);
  const busy = useSignal(false);
  const last = useSignal<WrittenValue[]>([]);
  const load = async (): Promise<void> => {
    try {
      values.value = await read(PATHS);
      fault.value = null;
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
  };
  useEffect(() => void load(), [drafts.value, known.value]);
  const change = async (changes: SettingEdit[]): Promise<void> => {
    busy.value = true;
    try {
      last.value = await edit(changes);
      fault.value = null;
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
    busy.value = false;
  };
  const desk: FormDesk = {
    value: (path) => values.value?.find((one) => one.path === path),
    change,
    busy: busy.value,
    readOnly: (known.value?.fixed ?? null) !== null,
  };
  const hasDns = isMapping(desk.value("dns")?.value);
  const doors = DOORS.filter((door) => itemsOf(desk, `${door.key}.listen`).length > 0);
  const pools = desk.value("gateway.pools")?.value;
  const sites = itemsOf(desk, "web");
  return (
    <div class="forms">
      {fault.value && (
        <Notice tone="fault" fault={fault.value}>
          {(fault.value.files.places ?? []).map((one) => (
            <p key={one.message}>
              {t("config.problemAt", { file: nameOf(one.file), line: String(one.line), message: one.message })}
            </p>
          ))}
        </Notice>
      )}
      <Changed places={last.value} />
      <Problems
        complaints={checked.value?.complaints ?? []}
        here=""
        onOpen={({ file, line }) => go("configuration", { tab: "files", file, line: String(line) })}
      />
      {values.value && (
        <div class="columns columns-2">
          <div class="stack">
            {hasDns && <Upstreams desk={desk} />}
            {hasDns && <Blocking desk={desk} />}
            {isMapping(pools) && <Pools desk={desk} pools={pools} routes={itemsOf(desk, "gateway.routes")} />}
          </div>
          <div class="stack">
            {hasDns && <LocalNames desk={desk} />}
            {doors.length > 0 && (
              <Panel id="listen-title" title={t("config.listen")}>
                <div class="form">
                  {doors.map((door) => (
                    <ListField
                      key={door.key}
                      desk={desk}
                      path={`${door.key}.listen`}
                      label={t(door.name)}
                      item={t("config.items.address")}
                      example={door.example}
                      items={itemsOf(desk, `${door.key}.listen`)}
                      isNeeded
                    />
                  ))}
                </div>
              </Panel>
            )}
            {sites.length > 0 && <Sites desk={desk} sites={sites} />}
            {isMapping(desk.value("gateway")?.value) && <Certificates desk={desk} items={itemsOf(desk, "gateway.tls.certificates")} />}
          </div>
        </div>
      )}
      {values.value && !hasDns && doors.length === 0 && sites.length === 0 && (
        <p class="quiet">{t("config.noForms")}</p>
      )}
    </div>
  );
}

/** Where the last change stands. */
function Changed({ places }: { places: WrittenValue[] }) {
  const place = places[0];
  if (!place || drafts.value[place.file] === undefined) return null;
  const words = { tab: "files", file: place.file, line: String(place.line) };
  return (
    <p class="changed" role="status">
      <Icon name="done" />{" "}
      <Sentence
        of="config.changedIn"
        values={{ setting: <code>{place.path}</code>, file: nameOf(place.file), line: String(place.line) }}
        parts={{ link: (content) => <a href={routeHash("configuration", words)}>{content}</a> }}
      />
    </p>
  );
}

/** The words that a setting knows, with what each does. */
function choices(path: string[]): { value: string; text: string }[] {
  const root = schema.value;
  if (!root) return [];
  const found = schemasAt(root, path).filter((one) => typeof one.const === "string");
  return found.map((one) => ({ value: String(one.const), text: one.description ?? "" }));
}

function Upstreams({ desk }: { desk: FormDesk }) {
  return (
    <Panel id="upstreams-title" title={t("config.upstreams")}>
      <div class="form">
        <ListField
          desk={desk}
          path="dns.upstreams"
          label={t("config.whomDnsAsks")}
          item={t("config.items.upstream")}
          example="tls://1.1.1.1"
          items={itemsOf(desk, "dns.upstreams")}
          inside="address"
          unset={t("config.noUpstreams")}
        />
        <ChoiceField desk={desk} path="dns.strategy" label={t("config.whichOne")} standard="race" choices={choices(["dns", "strategy"])} />
      </div>
    </Panel>
  );
}

function Blocking({ desk }: { desk: FormDesk }) {
  return (
    <Panel id="blocking-title" title={t("config.blockedNames")}>
      <div class="form">
        <ChoiceField desk={desk} path="dns.blocked" label={t("config.whatDnsAnswers")} standard="auto" choices={choices(["dns", "blocked"])} />
      </div>
    </Panel>
  );
}

function LocalNames({ desk }: { desk: FormDesk }) {
  return (
    <Panel id="local-title" title={t("config.localNames")}>
      <div class="form">
        <RecordField desk={desk} path="dns.local" items={itemsOf(desk, "dns.local")} />
      </div>
    </Panel>
  );
}
