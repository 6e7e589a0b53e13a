//! Options that Unbound has and Tidegate has not, and why.

/// The reason for which options of a clause are left out.
pub(super) fn clause(clause: &str) -> &'static str {
    match clause {
        "remote-control" => "tidegate ctl talks to the admin listener",
        "view" => {
            "views here are other upstreams for some clients (dns.views), and lists (policy.clients)"
        }
        "auth-zone" => {
            "zones are not served or transferred: write dns.local, or an upstream for it"
        }
        "cachedb" | "redis" => "the cache is kept in the state folder",
        "dnscrypt" => "DNSCrypt is not spoken",
        "python" | "dynlib" => "scripts are Luau: dns.script",
        "dnstap" => "the request log is the ledger",
        "ipset" => "sets of the firewall are filled by a pipeline: see pipelines.md",
        _ => "there is no such clause",
    }
}

/// Options that say nothing here; with a hyphen at the end those that begin so.
const IDLE: [&str; 40] = [
    "verbosity",
    "num-threads",
    "do-daemonize",
    "chroot",
    "directory",
    "pidfile",
    "logfile",
    "use-syslog",
    "log-",
    "statistics-",
    "extended-statistics",
    "do-ip4",
    "do-ip6",
    "do-udp",
    "do-tcp",
    "so-",
    "outgoing-range",
    "outgoing-num-tcp",
    "incoming-num-tcp",
    "num-queries-per-thread",
    "msg-buffer-size",
    "msg-cache-slabs",
    "rrset-cache-slabs",
    "infra-",
    "key-cache-",
    "neg-cache-size",
    "hide-",
    "harden-",
    "qname-minimisation",
    "use-caps-for-id",
    "aggressive-nsec",
    "minimal-responses",
    "rrset-roundrobin",
    "edns-buffer-size",
    "max-udp-size",
    "delay-close",
    "target-fetch-policy",
    "unwanted-reply",
    "deny-any",
    "identity",
];

/// The reason for which an option of the server is left out; none for what says nothing here.
pub(super) fn option(key: &str) -> Option<&'static str> {
    if IDLE.iter().any(|idle| key == *idle || (idle.ends_with('-') && key.starts_with(idle))) {
        return None;
    }
    Some(match key {
        "auto-trust-anchor-file"
        | "trust-anchor-file"
        | "trust-anchor"
        | "trusted-keys-file"
        | "val-permissive-mode"
        | "val-log-level"
        | "val-clean-additional"
        | "domain-insecure"
        | "trust-anchor-signaling"
        | "root-key-sentinel" => {
            "signatures are not checked here: the AD flag is passed on as trust_ad says"
        }
        "root-hints" | "module-config" | "prefer-ip6" | "prefer-ip4" | "outgoing-interface" => {
            "names are asked of other resolvers, not from the root on"
        }
        "username" => "write user at the top",
        "do-not-query-localhost" | "do-not-query-address" => "upstreams are asked that are written",
        "tls-cert-bundle" | "tls-system-cert" => "public authorities are known by themselves",
        "ratelimit" => "a domain's own servers are not asked",
        "define-tag" | "access-control-tag" | "local-zone-tag" | "access-control-view" => {
            "groups of clients are policy.clients and dns.views"
        }
        "dns64-prefix" | "dns64-synthall" => "addresses are not translated (DNS64)",
        _ => "there is no such setting",
    })
}
