//! Directives that dnsmasq has and Tidegate has not, and why.

/// The reason for which a directive is left out.
pub(super) fn reason(key: &str) -> &'static str {
    const DHCP: [&str; 9] = [
        "dhcp",
        "enable-ra",
        "ra-param",
        "bootp",
        "pxe",
        "tftp",
        "enable-tftp",
        "leasefile",
        "quiet-",
    ];
    if DHCP.iter().any(|prefix| key.starts_with(prefix)) {
        return "there is no DHCP or TFTP server: keep dnsmasq for it, with port=0";
    }
    if key.starts_with("auth-") {
        return "zones of one's own are dns.local records, without transfers";
    }
    match key {
        "bogus-nxdomain" | "ignore-address" => {
            "answers are not compared with addresses; a pipeline can: see pipelines.md"
        }
        "ipset" | "nftset" | "connmark-allowlist" | "connmark-allowlist-enable" => {
            "sets of the firewall are filled by a pipeline: see pipelines.md"
        }
        "dnssec" | "trust-anchor" | "dnssec-check-unsigned" | "dnssec-no-timecheck" => {
            "signatures are not checked here: the AD flag of upstreams is passed on as trust_ad says"
        }
        "alias" => "answers of upstreams are not translated",
        "add-mac" | "add-cpe-id" | "umbrella" => {
            "upstreams are told nothing of clients but their network"
        }
        "dns-loop-detect" => "an upstream that turns out to be this server is told by EDE 23",
        "user" | "group" => "write user and group at the top",
        "log-facility" | "log-async" | "log-dhcp" | "log-debug" => "the log goes to standard error",
        "naptr-record" | "dns-rr" | "dynamic-host" | "interface-name" | "synth-domain" => {
            "local records are A, AAAA, CNAME and the like, with an address that is written"
        }
        "interface" | "except-interface" | "no-dhcp-interface" | "bind-dynamic" => {
            "listeners have addresses: write those of the interface"
        }
        "dumpfile" | "dumpmask" => "packets are not written to files",
        "script-arp" | "enable-dbus" | "enable-ubus" => "programs talk to /api",
        _ => "there is no such setting",
    }
}

/// True for what says nothing here: it is always so, or is about dnsmasq's own process.
pub(super) fn is_idle(key: &str) -> bool {
    const IDLE: [&str; 25] = [
        "bind-interfaces",
        "bogus-priv",
        "clear-on-reload",
        "cache-rr",
        "conntrack",
        "dns-forward-max",
        "domain-needed",
        "edns-packet-max",
        "filterwin2k",
        "keep-in-foreground",
        "local-ttl",
        "localise-queries",
        "local-service",
        "max-port-limit",
        "min-port",
        "max-port",
        "no-daemon",
        "no-hosts",
        "no-poll",
        "no-ping",
        "pid-file",
        "port-limit",
        "query-port",
        "rebind-localhost-ok",
        "read-ethers",
    ];
    IDLE.contains(&key)
}
