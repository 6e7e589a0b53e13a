//! Words for the report: what directives of nginx become, and why some become nothing.

/// Our setting for a directive that was carried over.
pub(super) fn setting(name: &str) -> &'static str {
    match name {
        "listen" => "gateway.listen",
        "server_name" => "gateway.routes[].host",
        "location" => "gateway.routes[].path",
        "upstream" | "server" | "ip_hash" | "least_conn" | "hash" | "random" => "gateway.pools",
        "keepalive" | "keepalive_timeout" | "keepalive_requests" => "gateway.pools.NAME.keep_alive",
        "proxy_pass" | "grpc_pass" => "gateway.routes[].pool",
        "fastcgi_pass" | "fastcgi_param" | "fastcgi_index" | "fastcgi_read_timeout" => {
            "gateway.routes[].fastcgi"
        }
        "root" | "alias" => "gateway.routes[].root",
        "index" => "gateway.routes[].index",
        "autoindex" => "gateway.routes[].listing",
        "try_files" => "gateway.routes[].fallback",
        "return" => "gateway.routes[].redirect, answer",
        "rewrite" => "gateway.routes[].redirect, rewrite",
        "proxy_set_header" | "grpc_set_header" => "gateway.routes[].headers.request",
        "add_header" | "expires" | "proxy_hide_header" => "gateway.routes[].headers.response",
        "client_max_body_size" => "gateway.body_max",
        "client_header_timeout" | "client_body_timeout" => "gateway.client",
        "allow" | "deny" => "gateway.routes[].clients",
        "auth_basic" | "auth_basic_user_file" => "gateway.routes[].auth",
        "limit_req" | "limit_req_zone" => "gateway.routes[].limit",
        "limit_conn" | "limit_conn_zone" => "gateway.routes[].requests",
        "gzip" | "gzip_comp_level" | "gzip_min_length" => "gateway.routes[].compress",
        "proxy_cache" | "proxy_cache_path" => "gateway.routes[].cache",
        "ssl_certificate" | "ssl_certificate_key" => "gateway.tls.certificates",
        "ssl_verify_client" | "ssl_client_certificate" => "gateway.tls.client_ca",
        "proxy_read_timeout" => "gateway.routes[].response_timeout",
        "proxy_connect_timeout" => "gateway.pools.NAME.timeouts",
        "proxy_next_upstream" | "proxy_next_upstream_tries" => "gateway.pools.NAME.retry",
        "set_real_ip_from" => "gateway.trusted",
        _ => "",
    }
}

/// Why a directive that nothing was said of is left out; none for those of which nothing needs to
/// be said.
pub(super) fn absent(name: &str) -> Option<&'static str> {
    Some(match name {
        "" | "include" | "set" | "break" | "if" | "map" | "geo" | "http" | "types" => {
            return if matches!(name, "map" | "geo") { Some("no route asks for it") } else { None };
        }
        "user"
        | "worker_processes"
        | "pid"
        | "daemon"
        | "worker_rlimit_nofile"
        | "worker_cpu_affinity"
        | "pcre_jit"
        | "thread_pool"
        | "lock_file" => "the service manager's affair",
        "events" | "worker_connections" | "multi_accept" | "use" | "accept_mutex" => {
            "see gateway.connections"
        }
        "load_module" => "there are no modules",
        "access_log" | "log_format" | "error_log" | "log_not_found" | "log_subrequest" => {
            "the ledger has every request; an access log is a site's of the web door"
        }
        "sendfile"
        | "tcp_nopush"
        | "tcp_nodelay"
        | "aio"
        | "directio"
        | "output_buffers"
        | "postpone_output"
        | "sendfile_max_chunk"
        | "read_ahead"
        | "open_file_cache"
        | "open_file_cache_valid"
        | "open_file_cache_min_uses"
        | "open_file_cache_errors" => "files are read and sent by the doors' own means",
        "server_tokens" | "more_clear_headers" | "more_set_headers" => {
            "Tidegate does not name itself"
        }
        "default_type" | "charset" | "source_charset" | "override_charset" | "charset_types" => {
            "types follow the names of files"
        }
        "stream" | "mail" | "rtmp" => "the gateway speaks HTTP alone",
        "http2" | "http2_push" | "http2_push_preload" | "http2_max_concurrent_streams" => {
            "HTTP/2 is always spoken over TLS"
        }
        "http3" | "quic_retry" | "ssl_early_data" => "there is no HTTP/3 yet",
        "error_page" => "pages for errors need a site of the web door (errors)",
        "sub_filter" | "sub_filter_once" | "sub_filter_types" | "addition_types"
        | "xslt_stylesheet" | "ssi" | "image_filter" => "answers are not rewritten: see scripts",
        "limit_rate" | "limit_rate_after" => "answers have no bandwidth of their own",
        "mirror" | "mirror_request_body" => "requests are not doubled",
        "proxy_cookie_path" | "proxy_cookie_domain" => "see rewrite_cookies",
        "brotli" | "brotli_comp_level" | "brotli_types" | "zstd" => "see compress",
        "location" => "no request gets to it",
        "upstream" => "nothing leads to it",
        _ => return Some(more_absent(name)),
    })
}

fn more_absent(name: &str) -> &'static str {
    match name {
        "server_names_hash_bucket_size"
        | "server_names_hash_max_size"
        | "types_hash_max_size"
        | "types_hash_bucket_size"
        | "variables_hash_max_size"
        | "variables_hash_bucket_size"
        | "map_hash_bucket_size"
        | "map_hash_max_size"
        | "client_body_buffer_size"
        | "client_header_buffer_size"
        | "large_client_header_buffers"
        | "client_body_temp_path"
        | "proxy_temp_path"
        | "fastcgi_temp_path"
        | "uwsgi_temp_path"
        | "scgi_temp_path"
        | "fastcgi_buffers"
        | "fastcgi_buffer_size"
        | "fastcgi_busy_buffers_size"
        | "env"
        | "worker_shutdown_timeout"
        | "connection_pool_size"
        | "request_pool_size"
        | "reset_timedout_connection"
        | "ignore_invalid_headers"
        | "proxy_headers_hash_max_size"
        | "proxy_headers_hash_bucket_size"
        | "underscores_in_headers" => "buffers have fixed bounds",
        _ => "it has no counterpart",
    }
}
