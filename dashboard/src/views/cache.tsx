// What the caches of proxy and gateway have stored: sites with their sizes, and the URLs of one.

import { useSignal } from "@preact/signals";
import { api, faultOf, type Fault } from "../api";
import { cachedPlaces, cachedState } from "../cached";
import { doorWithin } from "../doors";
import { bytes, printable } from "../format";
import { t } from "../i18n";
import type { CachedUrl, CachePage, CacheQuery } from "../model";
import { Empty, Notice } from "../parts/notice";
import { Panel } from "../parts/panel";
import { Sentence } from "../parts/sentence";
import { usePolled } from "../poll";
import { routeHash } from "../route";
import { go, may, route } from "../state";

const CACHE_EVERY_MS = 10_000;

function asked(): CacheQuery {
  const { words } = route.value;
  return {
    site: words["site"] ?? "",
    prefix: words["prefix"] ?? "",
    door: words["door"] ?? "",
    after: words["after"] ?? "",
  };
}

export function CacheView() {
  const query = asked();
  const key = JSON.stringify(query);
  const stored = usePolled(`cache ${key}`, CACHE_EVERY_MS, (signal) => api.cache(query, signal));
  const whole = query.site === "" && query.prefix === "";
  return (
    <>
      <div class="view-head">
        <h1>{whole ? t("cache.title") : printable(query.site || query.prefix)}</h1>
      </div>
      <Search key={`q ${key}`} />
      {!whole && (
        <p class="cache-back">
          <a href={routeHash("cache")}>{t("cache.allSites")}</a>
        </p>
      )}
      {stored.fault && <Notice tone="fault" fault={stored.fault} />}
      {stored.data && stored.data.caches.length === 0 && (
        <Empty title={t("cache.none")}>
          <Sentence of="cache.noneText" />
        </Empty>
      )}
      {stored.data?.caches.map((page) => (
        <Stored key={page.door} page={page} query={query} onPurged={stored.refresh} />
      ))}
    </>
  );
}

/** A host or the beginning of a URL: the scheme tells them apart. */
function Search() {
  const wanted = useSignal(asked().site || asked().prefix);
  const submit = (event: Event): void => {
    event.preventDefault();
    const text = wanted.value.trim();
    const words: Record<string, string> = text.includes("://") ? { prefix: text } : { site: text };
    go("cache", words);
  };
  return (
    <form class="question cache-search panel" onSubmit={submit}>
      <label class="field field-main">
        <span class="field-name">{t("cache.search")}</span>
        <input
          class="input input-mono"
          type="text"
          inputMode="url"
          placeholder="deb.example"
          autocapitalize="none"
          autocomplete="off"
          spellcheck={false}
          value={wanted.value}
          onInput={(event) => {
            wanted.value = event.currentTarget.value;
          }}
        />
      </label>
      <button type="submit" class="button button-main">
        {t("words.show")}
      </button>
    </form>
  );
}

function Stored({ page, query, onPurged }: { page: CachePage; query: CacheQuery; onPurged: () => void }) {
  const next = page.next_after;
  const nothing = page.sites.length === 0 && page.urls.length === 0;
  return (
    <Panel id={`cache-${page.door}`} title={t("cache.of", { door: doorWithin(page.door) })}>
      {!page.complete && <p class="panel-note">{t("cache.large")}</p>}
      {nothing && <p class="panel-note">{query.after ? t("cache.nothingBeyond") : t("cache.nothing")}</p>}
      {page.sites.length > 0 && <Sites page={page} />}
      {page.urls.length > 0 && (
        <ul class="entries">
          {page.urls.map((url) => (
            <Row key={url.url} url={url} door={page.door} onPurged={onPurged} />
          ))}
        </ul>
      )}
      {next && (
        <p class="panel-note">
          <a href={routeHash("cache", { ...query, door: page.door, after: next })}>{t("words.next")}</a>
        </p>
      )}
    </Panel>
  );
}

function Sites({ page }: { page: CachePage }) {
  return (
    <table class="table doors cached">
      <thead>
        <tr>
          <th scope="col">{t("cache.site")}</th>
          <th scope="col" class="number">
            {t("cache.inMemory")}
          </th>
          <th scope="col" class="number">
            {t("cache.onDisk")}
          </th>
        </tr>
      </thead>
      <tbody>
        {page.sites.map((site) => (
          <tr key={site.site}>
            <th scope="row">
              <a href={routeHash("cache", { site: site.site, door: page.door })}>{printable(site.site)}</a>
            </th>
            <td class="number" data-name={t("cache.inMemory")}>
              <Amount objects={site.memory_objects} size={site.memory_bytes} />
            </td>
            <td class="number" data-name={t("cache.onDisk")}>
              <Amount objects={site.disk_objects} size={site.disk_bytes} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Amount({ objects, size }: { objects: number; size: number }) {
  if (objects === 0) return <span class="quiet">{t("words.none")}</span>;
  return (
    <>
      {bytes(size)} <span class="quiet">{t("cache.inCount", { count: objects })}</span>
    </>
  );
}

function Row({ url, door, onPurged }: { url: CachedUrl; door: string; onPurged: () => void }) {
  const fault = useSignal<Fault | null>(null);
  const purge = async (): Promise<void> => {
    try {
      await api.purgeStored({ what: "url", value: url.url, door });
      fault.value = null;
      onPurged();
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
  };
  return (
    <li class="entry">
      <div class="entry-main cached-main">
        <span class="entry-name cached-url">{printable(url.url)}</span>
        {may("operator") && (
          <button type="button" class="button button-bare" onClick={() => void purge()}>
            {t("cache.purge")}
          </button>
        )}
      </div>
      {url.responses.map((response, n) => (
        // oxlint-disable-next-line react/no-array-index-key -- variants have no name of their own
        <div class="entry-sub" key={n}>
          <span>{response.status}</span>
          <span>{cachedPlaces(response)}</span>
          <span>{cachedState(response)}</span>
        </div>
      ))}
      {fault.value && <Notice tone="fault" fault={fault.value} />}
    </li>
  );
}
