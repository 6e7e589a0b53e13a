// Forms for sites, for the gateway's pools and routes, and for its certificates.

import { useSignal } from "@preact/signals";
import type { Json } from "../config-model";
import { written } from "../desk";
import { t } from "../i18n";
import { ListField, PairField, TextField, type FormDesk } from "./config-fields";
import { Icon } from "./icons";
import { Panel } from "./panel";

type Mapping = { [key: string]: Json };

export function isMapping(value: Json | undefined): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listIn(value: Json | undefined, key: string): Json[] {
  const found = isMapping(value) ? value[key] : undefined;
  return Array.isArray(found) ? found : [];
}

export function Sites({ desk, sites }: { desk: FormDesk; sites: Json[] }) {
  return (
    <Panel id="sites-title" title={t("config.sites")}>
      <div class="form">
        {sites.map((site, at) => {
          const root = isMapping(site) && typeof site["root"] === "string" ? site["root"] : "";
          const name = t("config.site", { n: at + 1 });
          return (
            // oxlint-disable-next-line react/no-array-index-key -- a site has no name but its place
            <div key={at} class="form form-part">
              <TextField desk={desk} path={`web[${at}].root`} label={t("config.folderOf", { site: name })} value={root} />
              <ListField
                desk={desk}
                path={`web[${at}].hosts`}
                label={t("config.hostsOf", { site: name })}
                item={t("config.items.host")}
                example="www.example"
                items={listIn(site, "hosts")}
                unset={t("config.noHosts")}
              />
              <ListField
                desk={desk}
                path={`web[${at}].listen`}
                label={t("config.addressesOf", { site: name })}
                item={t("config.items.address")}
                example="http://192.168.1.2:80"
                items={listIn(site, "listen")}
                unset={t("config.noAddresses")}
              />
            </div>
          );
        })}
      </div>
    </Panel>
  );
}

export function Certificates({ desk, items }: { desk: FormDesk; items: Json[] }) {
  return (
    <Panel id="certificates-title" title={t("config.certificates")}>
      <div class="form">
        <PairField
          desk={desk}
          path="gateway.tls.certificates"
          label={t("config.certificateChoice")}
          item={t("config.items.certificate")}
          keys={["certificate", "key"]}
          examples={["www.example.pem", "www.example.key"]}
          items={items}
        />
      </div>
    </Panel>
  );
}

export function Pools({ desk, pools, routes }: { desk: FormDesk; pools: Mapping; routes: Json[] }) {
  const names = Object.keys(pools);
  const quoted = (name: string): string => (/[.[\]]/.test(name) ? `"${name}"` : name);
  return (
    <Panel id="pools-title" title={t("config.pools")}>
      <div class="form">
        {names.map((name) => (
          <ListField
            key={name}
            desk={desk}
            path={`gateway.pools.${quoted(name)}.servers`}
            label={t("config.serversOf", { pool: name })}
            item={t("config.items.server")}
            example="http://10.0.0.5:8080"
            items={listIn(pools[name], "servers")}
            inside="url"
            isNeeded
          />
        ))}
        <Routes desk={desk} names={names} routes={routes} />
      </div>
    </Panel>
  );
}

function Routes({ desk, names, routes }: { desk: FormDesk; names: string[]; routes: Json[] }) {
  const host = useSignal("");
  const pool = useSignal("");
  const off = desk.busy || desk.readOnly;
  const add = (): void => {
    const name = pool.value || names[0];
    const value = host.value.trim();
    if (value === "" || name === undefined) return;
    host.value = "";
    void desk.change([{ path: `gateway.routes[${routes.length}]`, value: `{ host: ${written(value)}, pool: ${written(name)} }` }]);
  };
  return (
    <fieldset class="field">
      <legend class="field-name">{t("config.routes")}</legend>
      <ul class="rows">
        {routes.map((route, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- a route has no name but its place
          <li key={at} class="row row-route">
            <code>{routeText(route)}</code>
            {isMapping(route) && typeof route["pool"] === "string" ? (
              <PoolChoice
                label={t("config.poolOfRoute", { n: at + 1 })}
                names={names}
                value={route["pool"]}
                disabled={off}
                onChoose={(name) => void desk.change([{ path: `gateway.routes[${at}].pool`, value: written(name) }])}
              />
            ) : (
              <span class="quiet">{t("config.noPool")}</span>
            )}
            <button
              type="button"
              class="button button-bare button-square"
              aria-label={t("config.removeRoute", { n: at + 1 })}
              disabled={off || routes.length === 1}
              onClick={() => void desk.change([{ path: `gateway.routes[${at}]`, value: null }])}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
        {!desk.readOnly && (
          <li class="row row-route">
            <input
              class="input input-mono"
              aria-label={t("config.hostOfAnother")}
              placeholder="app.example.net"
              spellcheck={false}
              disabled={off}
              value={host.value}
              onInput={(event) => {
                host.value = event.currentTarget.value;
              }}
            />
            <PoolChoice
              label={t("config.poolOfAnother")}
              names={names}
              value={pool.value || (names[0] ?? "")}
              disabled={off}
              onChoose={(name) => {
                pool.value = name;
              }}
            />
            <button type="button" class="button button-square" aria-label={t("config.addRoute")} disabled={off || host.value.trim() === ""} onClick={add}>
              <Icon name="plus" />
            </button>
          </li>
        )}
      </ul>
    </fieldset>
  );
}

function PoolChoice(props: { label: string; names: string[]; value: string; disabled: boolean; onChoose: (name: string) => void }) {
  return (
    <select class="input" aria-label={props.label} disabled={props.disabled} value={props.value} onChange={(event) => props.onChoose(event.currentTarget.value)}>
      {props.names.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

/** What a route is for, in few words. */
function routeText(route: Json): string {
  if (!isMapping(route)) return String(route);
  const words = ["host", "path"].map((key) => route[key]).filter((word) => typeof word === "string");
  return words.length > 0 ? words.join(" ") : t("config.everything");
}
