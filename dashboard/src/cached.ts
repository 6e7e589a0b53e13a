// A stored response in words. Pure.

import { bytes, span } from "./format";
import type { CachedResponse } from "./model";

/** Where its body is: "12 KiB in memory and on disk". */
export function cachedPlaces(response: CachedResponse): string {
  const { memory_bytes, front_bytes, disk_bytes } = response;
  if (memory_bytes !== null && disk_bytes !== null) return `${bytes(memory_bytes)} in memory and on disk`;
  if (memory_bytes !== null) return `${bytes(memory_bytes)} in memory`;
  const front = front_bytes === null ? "" : `, the first ${bytes(front_bytes)} in memory too`;
  if (disk_bytes !== null) return `${bytes(disk_bytes)} on disk${front}`;
  return front_bytes === null ? "no body" : `the first ${bytes(front_bytes)} in memory`;
}

/** How old it is, and for how long it is fresh: "4 min old, fresh for 56 min". */
export function cachedState(response: CachedResponse): string {
  const age = `${span(response.age_s)} old`;
  if (response.fresh_s >= 0) return `${age}, fresh for ${span(response.fresh_s)}`;
  return `${age}, stale for ${span(-response.fresh_s)}`;
}
