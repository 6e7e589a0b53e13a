//! Variables of Polipo without a counterpart, and why.

/// Names, and the reason that they share.
const ABSENT: [(&[&str], &str); 17] = [
    (
        &[
            "chunkLowMark",
            "chunkCriticalMark",
            "objectHighMark",
            "publicObjectLowMark",
            "objectHashTableSize",
        ],
        "proxy.cache.memory is the one limit; what gives way follows from it",
    ),
    (&["bigBufferSize", "maxSideBuffering"], "heads and buffers have fixed bounds"),
    (
        &[
            "diskCacheFilePermissions",
            "diskCacheDirectoryPermissions",
            "diskCacheWriteoutOnClose",
            "diskCacheUnlinkTime",
            "diskCacheTruncateTime",
            "diskCacheTruncateSize",
            "maxDiskEntries",
            "maxDiskCacheEntrySize",
            "preciseExpiry",
            "idleTime",
            "maxObjectsWhenIdle",
            "maxWriteoutWhenIdle",
        ],
        "the cache on disk is written as it comes and keeps proxy.cache.disk.size by itself",
    ),
    (
        &["mindlesslyCacheVary", "dontTrustVaryETag"],
        "answers that vary are kept side by side, each for the requests that it fits, and are not \
         asked about at each request",
    ),
    (
        &["serverSlots", "serverSlots1", "serverExpireTime"],
        "an origin gets as many connections as it is asked things at once, up to \
         proxy.connections_per_origin",
    ),
    (
        &["serverIdleTimeout", "maxConnectionAge", "maxConnectionRequests"],
        "connections to origins are kept for 30 s",
    ),
    (
        &[
            "smallRequestTime",
            "replyUnpipelineSize",
            "replyUnpipelineTime",
            "pipelineAdditionalRequests",
            "maxPipelineTrain",
        ],
        "requests are not pipelined: HTTP/2 carries them side by side where origins have it",
    ),
    (
        &["pmmFirstSize", "pmmSize", "allowUnalignedRangeRequests"],
        "an answer is not fetched in pieces; the rest of one that broke off is",
    ),
    (
        &["expectContinue"],
        "Expect: 100-continue goes on to origins as clients send it: none is added, none refused",
    ),
    (
        &["proxyName", "displayName"],
        "it signs Via as tidegate, by which circles are noticed: a name of its own would tell origins \
         whose it is",
    ),
    (
        &["useTemporarySourceAddress"],
        "the system chooses: sysctl net.ipv6.conf.all.use_tempaddr=2 prefers temporary addresses",
    ),
    (&["clientTimeout"], "slow clients are held to a least rate"),
    (
        &[
            "dnsNameServer",
            "dnsNameServerPort",
            "dnsMaxTimeout",
            "dnsNegativeTtl",
            "dnsGethostbynameTtl",
            "dnsUseGethostbyname",
        ],
        "names are looked up through dns.upstreams, by IPv4 and IPv6 in a race",
    ),
    (
        &["forbiddenRedirectCode"],
        "people are sent to policy.block_page with 302; what programs ask for gets an answer of its \
         type",
    ),
    (&["laxHttpParser"], "heads that two programs could read differently are refused"),
    (
        &[
            "disableProxy",
            "disableLocalInterface",
            "disableConfiguration",
            "disableIndexing",
            "disableServersList",
            "localDocumentRoot",
        ],
        "control is at admin.listen, behind a token; files are served by the web door",
    ),
    (
        &[
            "daemonise",
            "pidFile",
            "logLevel",
            "logFile",
            "logFilePermissions",
            "logSyslog",
            "logFacility",
            "scrubLogs",
        ],
        "a service manager runs it and keeps what it says; ledger has the log of requests",
    ),
];

/// Why the variable `name` is not carried over; none if Polipo has no such variable.
pub(super) fn reason(name: &str) -> Option<&'static str> {
    ABSENT.iter().find(|(names, _)| names.contains(&name)).map(|(_, reason)| *reason)
}

/// Every variable that is not carried over.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ABSENT.iter().flat_map(|(names, _)| *names).copied()
}

#[cfg(test)]
mod tests {
    use super::super::CARRIED;
    use super::*;

    #[test]
    fn every_variable_of_polipo_has_one_fate() {
        let mut names: Vec<&str> = names().collect();
        names.extend(CARRIED);
        // Those of `polipo -v` in version 1.1.1, and one that its builds with IPv6 privacy have.
        assert_eq!(names.len(), 99);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 99);
        assert!(CARRIED.iter().all(|name| reason(name).is_none()));
    }
}
