//! Words for the report: what directives of a Caddyfile become, and why some become nothing.

/// Our setting for a directive that was carried over.
pub(super) fn setting(name: &str) -> &'static str {
    match name {
        "reverse_proxy" | "to" | "lb_policy" => "gateway.pools",
        "health_uri" | "health_interval" => "gateway.pools.NAME.health",
        "root" | "file_server" => "gateway.routes[].root",
        "php_fastcgi" => "gateway.routes[].fastcgi",
        "try_files" => "gateway.routes[].fallback",
        "redir" => "gateway.routes[].redirect",
        "respond" | "error" => "gateway.routes[].answer",
        "abort" => "gateway.routes[].block",
        "basic_auth" | "basicauth" => "gateway.routes[].auth",
        "forward_auth" => "gateway.routes[].forward_auth",
        "encode" => "gateway.routes[].compress",
        "header" | "header_down" => "gateway.routes[].headers.response",
        "request_header" | "header_up" => "gateway.routes[].headers.request",
        "handle" | "route" => "gateway.routes[].path",
        "handle_path" => "gateway.routes[].strip_prefix",
        "rewrite" | "uri" => "gateway.routes[].rewrite",
        "request_body" => "gateway.routes[].body_max",
        "tls" => "gateway.tls",
        "trusted_proxies" => "gateway.trusted",
        "http_port" | "https_port" | "bind" | "default_bind" => "gateway.listen",
        _ if name.starts_with('@') => "gateway.routes",
        _ => "",
    }
}

/// Why a directive that nothing was said of is left out; none for those of which nothing needs to
/// be said.
pub(super) fn absent(name: &str) -> Option<&'static str> {
    Some(match name {
        "" | "import" => return None,
        "handle_errors" => "pages for errors need a site of the web door (errors)",
        _ => "no request gets to it, or it has no counterpart",
    })
}
