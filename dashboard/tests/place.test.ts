import { describe, expect, it } from "vitest";
import { hostPort, parsePlace, reachOf } from "../src/address";
import { withQuery } from "../src/api";
import { parseRoute, routeHash, tokenInHash } from "../src/route";

describe("a listener", () => {
  it("is a URL with the port of its scheme", () => {
    expect(parsePlace("udp://127.0.0.1:5353")).toEqual({ scheme: "udp", host: "127.0.0.1", port: 5353, path: "" });
    expect(parsePlace("https://[::1]/dns-query")).toEqual({ scheme: "https", host: "::1", port: 443, path: "/dns-query" });
    expect(parsePlace("soup")).toBeNull();
  });

  it("is reached where the page was, if it listens everywhere", () => {
    const everywhere = [{ door: "dns", url: "udp://0.0.0.0:53" }];
    expect(reachOf(everywhere, "dns", "udp", "192.168.1.2")).toEqual({ host: "192.168.1.2", port: 53, onlyHere: false });
    const both = [{ door: "dns", url: "udp://127.0.0.1:5353" }, { door: "dns", url: "udp://192.168.1.2:53" }];
    expect(reachOf(both, "dns", "udp", "127.0.0.1")?.host).toBe("192.168.1.2");
    expect(reachOf(both.slice(0, 1), "dns", "udp", "192.168.1.2")?.onlyHere).toBe(true);
    expect(reachOf(both, "proxy", "http", "127.0.0.1")).toBeNull();
    expect(hostPort({ host: "fd00::1", port: 3128 })).toBe("[fd00::1]:3128");
  });
});

describe("the address of a view", () => {
  it("comes back as it was written", () => {
    const words = { filter: "a&b=c #1", door: "dns", action: "" };
    expect(parseRoute(routeHash("log", words))).toEqual({ view: "log", words: { filter: "a&b=c #1", door: "dns" } });
  });

  it("is the overview if it is unknown", () => {
    expect(parseRoute("")).toEqual({ view: "overview", words: {} });
    expect(parseRoute("#/cellar")).toEqual({ view: "overview", words: {} });
  });

  it("may bring the token", () => {
    expect(tokenInHash("#token=abc-123")).toBe("abc-123");
    expect(tokenInHash("#/log?filter=token=1")).toBeNull();
  });
});

describe("a call", () => {
  it("leaves out empty words and escapes the rest", () => {
    expect(withQuery("api/requests", { filter: "a b&c", door: "", before: null, limit: 50 })).toBe(
      "api/requests?filter=a+b%26c&limit=50",
    );
  });
});
