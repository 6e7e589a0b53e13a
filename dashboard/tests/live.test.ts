import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { follow, type EventStream, type LiveState } from "../src/live";
import type { RequestRow } from "../src/model";

class Stream implements EventStream {
  readyState = 0;
  readonly told = new Map<string, (event: MessageEvent<string>) => void>();
  constructor(readonly url: string) {}
  addEventListener(type: string, told: (event: MessageEvent<string>) => void): void {
    this.told.set(type, told);
  }
  close(): void {
    this.readyState = 2;
  }
  send(type: string, data: unknown): void {
    this.told.get(type)?.(new MessageEvent(type, { data: typeof data === "string" ? data : JSON.stringify(data) }));
  }
  fail(readyState: number): void {
    this.readyState = readyState;
    this.send("error", "");
  }
}

let streams: Stream[];
let states: LiveState[];
let rows: RequestRow[][];
let missed: number[];

function begin(): () => void {
  return follow(
    () => `live?after=${streams.length}`,
    { onState: (state) => states.push(state), onRows: (came) => rows.push(came), onMissed: (count) => missed.push(count) },
    (url) => {
      const made = new Stream(url);
      streams.push(made);
      return made;
    },
  );
}

beforeEach(() => {
  vi.useFakeTimers();
  streams = [];
  states = [];
  rows = [];
  missed = [];
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a stream of rows", () => {
  it("tells rows together, and those that were missed", () => {
    begin();
    const [stream] = streams;
    stream?.send("open", "");
    for (const id of [1, 2, 3]) stream?.send("row", { id });
    stream?.send("row", "no JSON");
    stream?.send("missed", { count: 40 });
    expect(rows).toEqual([]);
    vi.advanceTimersByTime(1_000);
    expect(rows.map((some) => some.map((row) => row.id))).toEqual([[1, 2, 3]]);
    expect(missed).toEqual([40]);
    expect(states).toEqual(["connecting", "live"]);
  });

  it("keeps no more of a burst than it can tell", () => {
    begin();
    for (let id = 0; id < 700; id += 1) streams[0]?.send("row", { id });
    vi.advanceTimersByTime(1_000);
    expect(rows[0]).toHaveLength(500);
    expect(missed).toEqual([200]);
  });

  it("says that it was refused, and tries again after a minute", () => {
    begin();
    streams[0]?.fail(2);
    expect(states).toEqual(["connecting", "refused"]);
    vi.advanceTimersByTime(59_000);
    expect(streams).toHaveLength(1);
    vi.advanceTimersByTime(2_000);
    expect(streams.map((one) => one.url)).toEqual(["live?after=0", "live?after=1"]);
  });

  it("leaves a broken connection to the browser", () => {
    begin();
    streams[0]?.fail(0);
    vi.advanceTimersByTime(120_000);
    expect(streams).toHaveLength(1);
    expect(states).toEqual(["connecting", "connecting"]);
  });

  it("ends for good", () => {
    const end = begin();
    streams[0]?.fail(2);
    streams[0]?.send("row", { id: 1 });
    end();
    vi.advanceTimersByTime(120_000);
    expect(streams).toHaveLength(1);
    expect(streams[0]?.readyState).toBe(2);
    expect(rows).toEqual([]);
  });
});
