//! Settings that AdGuard Home has and Tidegate has not, and why.

/// The reason for which a setting is left out, by its dotted path.
pub(super) fn reason(path: &str) -> Option<&'static str> {
    const REASONS: [(&str, &str); 36] = [
        (
            "http",
            "the dashboard listens at admin.listen, only on this machine unless you say otherwise",
        ),
        ("users", "the dashboard asks for the token in the state folder"),
        ("auth_attempts", "the dashboard asks for a token of 256 bits"),
        ("block_auth_min", "the dashboard asks for a token of 256 bits"),
        ("http_proxy", "lists are fetched directly"),
        ("language", "the dashboard follows the browser"),
        ("theme", "the dashboard follows the browser"),
        ("debug_pprof", "there is no profiler"),
        ("bind_host", "the dashboard listens at admin.listen"),
        ("bind_port", "the dashboard listens at admin.listen"),
        ("web_session_ttl", "the dashboard asks for a token"),
        ("dhcp", "there is no DHCP server: leave it to the router, or to dnsmasq with port=0"),
        ("clients.runtime_sources", "names of clients are not looked up"),
        ("log", "the log goes to standard error, and to the journal"),
        ("os", "write user and group at the top"),
        ("schema_version", "only AdGuard Home counts its schemas"),
        ("verbose", "there are no levels of the log by this name"),
        ("statistics", "counters are always kept; ledger.keep bounds rows and top tables"),
        ("querylog.ignored", "no name is left out of the log"),
        ("querylog.dir_path", "the log is ledger.sqlite in the state folder"),
        ("querylog.size_memory", "rows are written in batches of their own size"),
        ("querylog.file_enabled", "ledger.log: none keeps nothing"),
        ("dns.max_goroutines", "questions that wait are bounded by themselves"),
        (
            "dns.bogus_nxdomain",
            "answers are not compared with addresses; a pipeline can: see pipelines.md",
        ),
        ("dns.ipset", "sets of the firewall are filled by a pipeline: see pipelines.md"),
        ("dns.ipset_file", "sets of the firewall are filled by a pipeline: see pipelines.md"),
        ("dns.use_dns64", "addresses are not translated (DNS64)"),
        ("dns.dns64_prefixes", "addresses are not translated (DNS64)"),
        ("dns.enable_dnssec", "the AD flag of upstreams is passed on as trust_ad says"),
        ("dns.hostsfile_enabled", "/etc/hosts is not read: write its names under dns.local"),
        (
            "dns.use_private_ptr_resolvers",
            "write dns.private_reverse: the resolver that knows your hosts",
        ),
        ("dns.bootstrap_prefer_ipv6", "both families are tried"),
        ("dns.private_networks", "private are the networks of RFC 1918 and RFC 4193"),
        ("dns.serve_http3", "DNS over HTTPS is served over HTTP/1.1 and 2"),
        ("dns.use_http3_upstreams", "DNS over HTTPS is asked over HTTP/1.1 and 2"),
        ("dns.pending_requests", "equal questions always wait together"),
    ];
    let below = |prefix: &str| {
        path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let more = || {
        path.contains("safebrowsing")
            .then_some("AdGuard's look-up service is not asked: subscribe to a list of bad hosts")
            .or_else(|| {
                path.contains("parental")
                    .then_some("AdGuard's look-up service is not asked: subscribe to a list")
            })
            .or_else(|| path.ends_with("cache_time").then_some("there is no such cache"))
    };
    REASONS.iter().find(|(prefix, _)| below(prefix)).map(|(_, why)| *why).or_else(more)
}
