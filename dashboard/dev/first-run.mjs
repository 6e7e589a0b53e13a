// The first run for the mock: what the wizard is told, and a change that waits to be confirmed.

import { userCount } from "./users.mjs";
import { TRUST } from "./data.mjs";

// MOCK=empty: nothing is set up, and ports are held. MOCK=fixed: the configuration may not be written.
const MODE = process.env.MOCK ?? "";
const CONFIRM_MS = 60_000;
let waiting = null;
let before = null;
let setting = { address: "192.168.1.2", upstreams: ["https://dns.quad9.net/dns-query"], lists: ["starter"], written: MODE !== "empty" && MODE !== "fixed" };
const began = Date.now();

function takeBack() {
  if (waiting !== null && waiting < Date.now()) {
    setting = before;
    waiting = null;
  }
}

const port = (number, protocol, door, state, holder = null, remedy = null) => ({ port: number, protocol, door, state, holder, remedy });

function ports() {
  if (setting.written) return [port(53, "udp", "dns", "ours"), port(53, "tcp", "dns", "ours"), port(80, "tcp", "pixel", "ours"), port(443, "tcp", "pixel", "ours")];
  return [
    port(53, "udp", "dns", "held", "systemd-resolved (432)", "sudo systemctl disable --now systemd-resolved"),
    port(53, "tcp", "dns", "held", "systemd-resolved (432)", "sudo systemctl disable --now systemd-resolved"),
    port(80, "tcp", "pixel", "forbidden", null, "sudo setcap cap_net_bind_service=+ep /usr/bin/tidegate"),
    port(443, "tcp", "pixel", "free"),
  ];
}

export function firstRun() {
  takeBack();
  const asks = MODE === "open" || Date.now() - began > 45_000;
  return {
    needed: !setting.written, config: "/etc/tidegate/tidegate.yaml", can_write: MODE !== "fixed",
    why_not: MODE === "fixed" ? "the configuration is written by hand: write `config_edits: on` below `admin` and restart" : null,
    addresses: [
      { address: "192.168.1.2", interface: "eth0", kind: "private" },
      { address: "fd00::2", interface: "eth0", kind: "private" },
      { address: "127.0.0.1", interface: "lo", kind: "loopback" },
    ],
    ports: ports(),
    pixel: { address: "192.168.1.2", gated: true, remedy: "ip addr add 192.0.2.1/32 dev lo" },
    upstreams: [
      { name: "Quad9", url: "https://dns.quad9.net/dns-query", note: "Switzerland; blocks malware; keeps no addresses", current: setting.upstreams.includes("https://dns.quad9.net/dns-query") },
      { name: "Cloudflare", url: "https://cloudflare-dns.com/dns-query", note: "fast nearly everywhere; logs for 25 hours", current: setting.upstreams.includes("https://cloudflare-dns.com/dns-query") },
      { name: "dns0.eu", url: "https://dns0.eu/", note: "Europe; keeps no addresses", current: setting.upstreams.includes("https://dns0.eu/") },
    ],
    lists: [{ name: "starter", on: setting.lists.includes("starter") }, { name: "hagezi-light", on: setting.lists.includes("hagezi-light") }, { name: "bypass", on: setting.lists.includes("bypass") }],
    people: userCount(),
    this_device: { client: "192.168.1.24", asks_dns: asks, asked_at: asks ? new Date(Date.now() - 1_500).toISOString() : null, trust: MODE === "empty" ? "unknown" : TRUST[0].trust },
    check_url: "/mark.svg?check",
    waiting: waiting === null ? null : { until: new Date(waiting).toISOString() },
  };
}

export function writeFirstRun({ address, doors, upstreams, lists }) {
  if (MODE === "fixed") return [409, { error: "the configuration may not be written from here", remedy: "write `config_edits: on` below `admin` and restart" }];
  if (upstreams.length === 0) return [422, { error: "the configuration was not taken; all is as before", remedy: "mend what the complaints ask for", complaints: ["tidegate.yaml:4:3: dns.upstreams: there is none; name one"] }];
  before = setting;
  setting = { address, upstreams, lists, doors, written: true };
  waiting = Date.now() + CONFIRM_MS;
  return [200, { ok: true, complaints: [], confirm_within_s: 60, dashboard: "http://127.0.0.1:9054/" }];
}

export function confirmFirstRun() {
  takeBack();
  if (waiting === null) return [409, { error: "nothing waits to be confirmed", remedy: "the earlier configuration is back: write it again" }];
  waiting = null;
  return [204, null];
}
