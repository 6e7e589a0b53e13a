//! Words for the report: what lines of HAProxy become, and why some become nothing.

/// Our setting for a line that was carried over.
pub(super) fn setting(name: &str) -> &'static str {
    match name {
        "bind" => "gateway.listen",
        "acl" | "use_backend" | "default_backend" | "http-request" | "redirect" | "block" => {
            "gateway.routes"
        }
        "frontend" => "gateway.routes[].listen",
        "backend" | "listen" | "server" | "server-template" | "default-server" => "gateway.pools",
        "balance" => "gateway.pools.NAME.balance",
        "cookie" => "gateway.pools.NAME.sticky",
        "retries" => "gateway.pools.NAME.retry",
        "timeout" => "gateway.client, gateway.pools.NAME.timeouts",
        "http-check" | "option" => "gateway.pools.NAME.health",
        "http-response" => "gateway.routes[].headers.response",
        "compression" => "gateway.routes[].compress",
        "maxconn" => "gateway.connections",
        "user" | "group" | "userlist" => "gateway.routes[].auth",
        _ => "",
    }
}

/// Why a line that nothing was said of is left out; none for those of which nothing needs to be
/// said.
pub(super) fn absent(name: &str) -> Option<&'static str> {
    Some(match name {
        "" | "defaults" | "mode" | "option" | "no" | "timeout" | "balance" | "server" => {
            return matches!(name, "option").then_some("it is so anyway, or has no counterpart");
        }
        "global" | "daemon" | "user" | "group" | "chroot" | "pidfile" | "nbproc" | "nbthread"
        | "cpu-map" | "ulimit-n" | "uid" | "gid" => "the service manager's affair",
        "log" | "log-format" | "log-tag" | "log-send-hostname" | "capture" | "unique-id-format"
        | "unique-id-header" | "error-log-format" => "the ledger has every request",
        "stats" => "the metrics page and the dashboard have them",
        "errorfile" | "errorfiles" | "errorloc" | "errorloc302" | "errorloc303" | "http-error"
        | "http-errors" => "pages for errors need a site of the web door (errors)",
        "stick-table" | "stick" | "peers" | "peer" => {
            "tables are not kept or shared: see sticky of pools and limit of routes"
        }
        "maxconn" | "maxconnrate" | "rate-limit" | "backlog" => "see gateway.connections",
        "tcp-request" | "tcp-response" => "connections are not looked at but by caps",
        "resolvers" | "nameserver" | "resolve_retries" | "hold" | "accepted_payload_size" => {
            "Tidegate's own resolver is asked"
        }
        "cache" | "total-max-size" | "max-object-size" | "max-age" => "write cache: true at routes",
        "lua-load" | "lua-prepend-path" | "filter" => "see scripts",
        "mailers" | "mailer" | "email-alert" | "program" | "command" => "see the metrics page",
        "acl" => "no rule asks for it",
        "backend" | "listen" => "nothing leads to it",
        "hash-type" => "hashes are consistent",
        _ if name.starts_with("ssl-")
            || name.starts_with("tune.")
            || name == "ca-base"
            || name == "crt-base" =>
        {
            "TLS 1.2 and 1.3 with the ciphers that are safe today, buffers of fixed bounds"
        }
        _ => "it has no counterpart",
    })
}
