//! Directives that become one setting, that say nothing here, or that are left out.

use super::{SquidLine, SquidReader};
use crate::draft::ImportDraft;
use serde_json::json;

impl SquidReader {
    /// A directive that is about no other.
    pub(super) fn simple(&self, line: &SquidLine<'_>, draft: &mut ImportDraft<'_>) {
        let is_on = line.word(0) == "on";
        match line.key {
            "via" => {
                draft.sections.set("proxy", "via", if is_on { "on" } else { "off" });
                draft.report.carried(&line.place, line.said, "proxy.via");
            }
            "forwarded_for" => {
                let word = if is_on { "on" } else { "off" };
                draft.sections.set("proxy", "x_forwarded_for", word);
                draft.report.carried(&line.place, line.said, "proxy.x_forwarded_for");
            }
            "read_timeout" => {
                if let Some(seconds) = seconds(line) {
                    let held = seconds.clamp(1, 3600);
                    draft.sections.set("proxy", "response_timeout", format!("{held}s"));
                    draft.report.carried(&line.place, line.said, "proxy.response_timeout");
                }
            }
            "url_rewrite_program" | "redirect_program" => {
                let program: Vec<&str> = line.words.iter().map(|it| it.trim_matches('"')).collect();
                draft.sections.set_below("proxy", "redirector", "program", json!(program));
                draft.report.carried(&line.place, line.said, "proxy.redirector.program");
            }
            "url_rewrite_children" | "redirect_children" => {
                let children = line.number(0).unwrap_or(2).clamp(1, 64);
                draft.sections.set_below("proxy", "redirector", "processes", children);
                let parts = line.words.iter().find_map(|it| it.strip_prefix("concurrency="));
                if let Some(channels) = parts.and_then(|it| it.parse::<u64>().ok()) {
                    let channels = channels.min(1024);
                    draft.sections.set_below("proxy", "redirector", "concurrency", channels);
                }
                draft.report.carried(&line.place, line.said, "proxy.redirector.processes");
            }
            "dns_v4_first" if is_on => {
                draft.report.left_out(
                    &line.place,
                    line.said,
                    "both families are connected to in a race",
                );
            }
            "dns_nameservers" => {
                let why = "names are looked up by dns.upstreams, where a section dns is written";
                draft.report.left_out(&line.place, line.said, why);
            }
            key if is_idle(key) => {
                draft.report.carried(&line.place, line.said, "always so, or needless");
            }
            key => draft.report.left_out(&line.place, line.said, reason(key)),
        }
    }
}

/// Seconds of a span: `15 minutes`.
fn seconds(line: &SquidLine<'_>) -> Option<u64> {
    let unit = match line.word(1).trim_end_matches('s') {
        "" | "second" => 1,
        "minute" => 60,
        "hour" => 3_600,
        "day" => 86_400,
        _ => return None,
    };
    line.number(0)?.checked_mul(unit)
}

/// True for what says nothing here.
fn is_idle(key: &str) -> bool {
    const IDLE: [&str; 47] = [
        "access_log",
        "buffered_logs",
        "cache_access_log",
        "cache_effective_group",
        "cache_effective_user",
        "cache_log",
        "cache_mgr",
        "cache_replacement_policy",
        "cache_store_log",
        "cache_swap_high",
        "cache_swap_low",
        "check_hostnames",
        "client_db",
        "client_persistent_connections",
        "connect_timeout",
        "coredump_dir",
        "dns_timeout",
        "error_default_language",
        "forward_timeout",
        "fqdncache_size",
        "half_closed_clients",
        "hierarchy_stoplist",
        "httpd_suppress_version_string",
        "icp_port",
        "ignore_expect_100",
        "ipcache_high",
        "ipcache_low",
        "ipcache_size",
        "logfile_rotate",
        "max_filedescriptors",
        "memory_cache_mode",
        "memory_pools",
        "memory_pools_limit",
        "memory_replacement_policy",
        "persistent_request_timeout",
        "pid_filename",
        "pipeline_prefetch",
        "pinger_enable",
        "quick_abort_max",
        "quick_abort_min",
        "quick_abort_pct",
        "request_timeout",
        "server_persistent_connections",
        "shutdown_lifetime",
        "unique_hostname",
        "visible_hostname",
        "workers",
    ];
    IDLE.contains(&key) || key.starts_with("positive_dns") || key.starts_with("negative_dns")
}

/// The reason for which a directive is left out.
fn reason(key: &str) -> &'static str {
    const PREFIXES: [(&str, &str); 13] = [
        ("ssl", "TLS is not opened: names are looked at in the first bytes (connect_sni)"),
        ("sslproxy", "servers' certificates are checked by the client itself"),
        ("tls", "servers' certificates are checked by the client itself"),
        ("icap", "bodies are not sent to other programs"),
        ("ecap", "bodies are not sent to other programs"),
        ("adaptation", "bodies are not sent to other programs"),
        ("icp", "caches do not ask one another"),
        ("htcp", "caches do not ask one another"),
        ("snmp", "metrics are at /metrics of the admin listener"),
        ("error", "pages are Tidegate's own; policy.block_page is yours"),
        ("ftp", "ftp: is not fetched"),
        ("wccp", "packets come by the packet filter: listen at redirect:// or tproxy://"),
        ("external_acl", "no program is asked; proxy.script may decide"),
    ];
    match key {
        "deny_info" => "policy.block_page is the page for what is blocked",
        "logformat" | "log_mime_hdrs" | "strip_query_terms" => {
            "requests are in the ledger and in /api/log"
        }
        "reply_body_max_size" | "request_body_max_size" => "bodies pass in any length",
        "http_reply_access" => {
            "answers pass when their request does: proxy.script may look at them"
        }
        "http_access2" | "adapted_http_access" => "one set of rules is held against a request",
        "tcp_outgoing_tos" | "qos_flows" | "clientside_tos" => "packets are not marked",
        "store_id_program" | "storeurl_rewrite_program" | "store_id_access" => {
            "an answer is kept under the URL that was asked for"
        }
        "url_rewrite_access" | "redirector_access" => "the program is asked about every URL",
        "range_offset_limit" => "of a range only that range is fetched",
        "client_lifetime" => "connections live as long as they are used",
        "cachemgr_passwd" => "the dashboard asks for the token in the state folder",
        "reload_into_ims" | "vary_ignore_expire" => "RFC 9111 is obeyed",
        "max_stale" => "write proxy.cache.stale",
        _ => {
            let known = PREFIXES.iter().find(|(prefix, _)| key.starts_with(prefix));
            known.map_or("there is no such setting", |(_, why)| *why)
        }
    }
}
