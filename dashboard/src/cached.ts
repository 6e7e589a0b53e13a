// A stored response in words. Pure.

import { bytes, span } from "./format";
import { t } from "./i18n";
import type { CachedResponse } from "./model";

/** Where its body is: "12 KiB in memory and on disk". */
export function cachedPlaces(response: CachedResponse): string {
  const { memory_bytes, front_bytes, disk_bytes } = response;
  if (memory_bytes !== null && disk_bytes !== null) return t("cache.places.both", { size: bytes(memory_bytes) });
  if (memory_bytes !== null) return t("cache.places.memory", { size: bytes(memory_bytes) });
  const front = front_bytes === null ? null : bytes(front_bytes);
  if (disk_bytes === null) return front === null ? t("cache.places.none") : t("cache.places.front", { front });
  const size = bytes(disk_bytes);
  return front === null ? t("cache.places.disk", { size }) : t("cache.places.diskFront", { size, front });
}

/** How old it is, and for how long it is fresh: "4 min old, fresh for 56 min". */
export function cachedState(response: CachedResponse): string {
  const age = span(response.age_s);
  if (response.fresh_s >= 0) return t("cache.fresh", { age, span: span(response.fresh_s) });
  return t("cache.stale", { age, span: span(-response.fresh_s) });
}
