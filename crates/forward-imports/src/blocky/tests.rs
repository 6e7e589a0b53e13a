//! Files as blocky's users write them, and what they become.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
use super::*;
use crate::testing::OneFolder;

const SAMPLE: &str = "upstreams:
  groups:
    default: [tcp-tls:dns.example:853, https://dns.example/dns-query, 9.9.9.9]
    192.168.7.0/24: [tcp+udp:192.168.7.1]
    laptop*: [1.1.1.1]
  strategy: strict
  timeout: 2s
bootstrapDns: [tcp+udp:9.9.9.9]
customDNS:
  customTTL: 1h
  mapping: { printer.lan: 192.168.1.20, nas.lan: '192.168.1.9,fd00::9' }
  zone: |
    www.lan. 3600 CNAME nas.lan.
  rewrite: { home: lan }
conditional:
  mapping: { fritz.box: 192.168.1.1, .: 192.168.1.1 }
blocking:
  denylists:
    ads:
      - https://lists.example/ads.txt
      - |
        # own
        bad.example
        *.worse.example
    kids: [https://lists.example/kids.txt]
  allowlists:
    ads: [/etc/blocky/allow.txt]
  clientGroupsBlock:
    default: [ads]
    192.168.1.64/26: [ads, kids]
    tablet: [kids]
  blockType: nxDomain
  blockTTL: 1m
  loading: { refreshPeriod: 4h }
caching: { minTime: 5m, maxTime: 30m, prefetching: true }
filtering: { queryTypes: [AAAA] }
ports: { dns: 192.168.1.2:53, tls: 853, http: 4000 }
certFile: server.crt
keyFile: server.key
queryLog: { type: csv, target: /logs, logRetentionDays: 7 }
prometheus: { enable: true }
";

#[test]
fn groups_names_and_upstreams_are_carried_over() {
    let around = OneFolder::of(&[("config.yml", SAMPLE)]);
    let made = from_blocky(&["config.yml".into()], &around).unwrap();
    for due in [
        "tls://dns.example:853",
        "\"udp://9.9.9.9\"",
        "{ clients: [\"192.168.7.0/24\"], name: \"192.168.7.0/24\"",
        "strategy: \"ordered\"",
        "||nas.lan^ AAAA fd00::9",
        "www.lan nas.lan",
        "{ address: \"udp://192.168.1.1\", domains: [\"fritz.box\"] }",
        "refresh: \"4h\"",
        "rules: [\"bad.example\", \"*.worse.example\"]",
        "{ kind: \"allow\", name: \"ads allow.txt\", path: \"/etc/blocky/allow.txt\" }",
        "match: [\"192.168.1.64/26\"]",
        "default: { lists: [\"ads ads.txt\", \"ads, own rules\", \"ads allow.txt\"] }",
        "blocked: \"nxdomain\"",
        "min_ttl: \"5m\"",
        "udp://192.168.1.2:53",
        "tls://0.0.0.0:853",
        "keep: \"7d\"",
    ] {
        assert!(made.yaml.contains(due), "{due}\n{}", made.commented());
    }
    let table = made.table();
    for due in ["laptop*", "tablet", "/metrics", "home: lan", "names without a dot"] {
        assert!(table.contains(due), "{due}\n{table}");
    }
}

#[test]
fn another_programs_file_is_refused() {
    let around = OneFolder::of(&[("a.yml", "services: { a: 1 }\n")]);
    assert!(from_blocky(&["a.yml".into()], &around).is_err());
}
