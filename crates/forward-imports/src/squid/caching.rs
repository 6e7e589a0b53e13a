//! The cache: its room, what is kept for how long, and what never is.

use super::acls::{AclMeaning, DestinationKind};
use super::{LaterLine, SquidLine, SquidReader};
use crate::draft::ImportDraft;
use crate::words;
use serde_json::{Value, json};

/// Rules of freshness of our cache, at most.
const FRESHNESS_MAX: usize = 100;

/// Lines about the cache.
#[derive(Default)]
pub(super) struct SquidCaching {
    is_off: bool,
    has_any: bool,
}

impl SquidCaching {
    pub(super) fn add(&mut self, line: &SquidLine<'_>, draft: &mut ImportDraft<'_>) {
        self.has_any = true;
        match line.key {
            "cache_mem" => self.size(line, "memory", 256 << 10, draft),
            "maximum_object_size_in_memory" => self.size(line, "memory_object", 0, draft),
            "cache_dir" => cache_dir(line, draft),
            "refresh_pattern" => refresh_pattern(line, draft),
            "offline_mode" if line.word(0) == "on" => {
                draft.sections.set_below("proxy", "cache", "stale", "offline");
                draft.report.carried(&line.place, line.said, "proxy.cache.stale");
            }
            "maximum_object_size" => {
                let why = "on disk an object may be as long as a fill of it fits";
                draft.report.left_out(&line.place, line.said, why);
            }
            _ => draft.report.carried(&line.place, line.said, "always so, or needless"),
        }
    }

    fn size(&self, line: &SquidLine<'_>, key: &str, least: u64, draft: &mut ImportDraft<'_>) {
        let number = line.word(0).parse::<f64>().ok().filter(|it| (0.0..1e15).contains(it));
        let unit: f64 = match line.word(1).to_ascii_uppercase().as_str() {
            "KB" => 1024.0,
            "MB" => 1_048_576.0,
            "GB" => 1_073_741_824.0,
            _ => 1.0,
        };
        let Some(number) = number else {
            draft.report.left_out(&line.place, line.said, "this is no size");
            return;
        };
        #[allow(clippy::cast_sign_loss, reason = "it was held against a range above zero")]
        let bytes = ((number * unit) as u64).clamp(least, 1 << 40);
        let size = format!("{}KiB", bytes >> 10);
        draft.sections.set_below("proxy", "cache", key, size);
        draft.report.carried(&line.place, line.said, &format!("proxy.cache.{key}"));
    }
}

/// `cache_dir ufs /var/spool/squid 100 16 256`: megabytes.
fn cache_dir(line: &SquidLine<'_>, draft: &mut ImportDraft<'_>) {
    let has_disk =
        draft.sections.get("proxy", "cache").is_some_and(|cache| cache.get("disk").is_some());
    let (kind, path) = (line.word(0), line.word(1));
    let megabytes = line.number(2).unwrap_or(0).clamp(16, 4 << 20);
    if kind == "null" || path.is_empty() {
        draft.report.carried(&line.place, line.said, "no disk is used");
    } else if has_disk {
        draft.report.left_out(&line.place, line.said, "one folder holds the cache");
    } else {
        let folder = format!("{}-tidegate", path.trim_end_matches('/'));
        let disk = json!({ "path": folder, "size": format!("{megabytes}MiB") });
        draft.sections.set_below("proxy", "cache", "disk", disk);
        let why =
            "a folder beside it, for the form is Tidegate's own and what is there is not read";
        draft.report.changed(&line.place, line.said, "proxy.cache.disk", why);
    }
}

/// `refresh_pattern [-i] EXPRESSION MINUTES PERCENT MINUTES [options]`.
fn refresh_pattern(line: &SquidLine<'_>, draft: &mut ImportDraft<'_>) {
    let words: Vec<&str> = line.words.iter().map(String::as_str).filter(|it| *it != "-i").collect();
    let [expression, min, percent, max, options @ ..] = &words[..] else {
        draft.report.left_out(&line.place, line.said, "an expression and three numbers are needed");
        return;
    };
    let numbers =
        (min.parse::<u64>(), percent.trim_end_matches('%').parse::<u64>(), max.parse::<u64>());
    let (Ok(min), Ok(percent), Ok(max)) = numbers else {
        draft.report.left_out(&line.place, line.said, "three numbers are needed");
        return;
    };
    if expression.starts_with("^ftp:") || expression.starts_with("^gopher:") {
        draft.report.left_out(&line.place, line.said, "ftp: and gopher: are not fetched");
        return;
    }
    let count = draft
        .sections
        .get("proxy", "cache")
        .and_then(|it| it.get("freshness").and_then(Value::as_array).map(Vec::len));
    if count.unwrap_or(0) >= FRESHNESS_MAX {
        draft.report.left_out(&line.place, line.said, "100 rules are the most");
        return;
    }
    let span =
        |minutes: u64| words::bounded(minutes.saturating_mul(60_000), 0, 3650 * 86_400_000).0;
    let mut rule = json!({
        "min": span(min.min(max)),
        "last_modified_percent": percent.min(100),
        "max": span(max),
    });
    if *expression != "." {
        rule["urls"] = json!([format!("/{}/", expression.replace('/', "\\/"))]);
    }
    let mut rules = draft
        .sections
        .get("proxy", "cache")
        .and_then(|it| it.get("freshness").and_then(Value::as_array).cloned())
        .unwrap_or_default();
    rules.push(rule);
    draft.sections.set_below("proxy", "cache", "freshness", rules);
    if options.is_empty() && percent <= 100 {
        draft.report.carried(&line.place, line.said, "proxy.cache.freshness");
    } else {
        let why = "what an origin says of its answers is obeyed (RFC 9111): options are left out";
        draft.report.changed(&line.place, line.said, "proxy.cache.freshness", why);
    }
}

impl SquidReader {
    pub(super) fn finish_caching(&mut self, draft: &mut ImportDraft<'_>) {
        let later = std::mem::take(&mut self.later);
        for line in &later {
            match line.key.as_str() {
                "cache" | "no_cache" => self.never(line, draft),
                "request_header_access" | "reply_header_access" | "header_access" => {
                    headers(line, draft);
                }
                "tcp_outgoing_address" => outgoing(line, draft),
                _ => {}
            }
        }
        if self.caching.is_off {
            draft.sections.take("proxy", "cache");
        } else if draft.sections.get("proxy", "cache").is_none() {
            // Squid keeps 256 MB in memory where nothing is said.
            draft.sections.set_below("proxy", "cache", "memory", "256MiB");
        }
    }

    /// `cache deny ACL`.
    fn never(&mut self, line: &LaterLine, draft: &mut ImportDraft<'_>) {
        let is_deny = line.words.first().is_some_and(|it| it == "deny");
        let acls = line.words.get(1..).unwrap_or_default();
        if is_deny && acls == ["all"] {
            self.caching.is_off = true;
            draft.report.carried(&line.place, &line.said, "proxy.cache");
            return;
        }
        let mut urls = Vec::new();
        for acl in acls {
            match self.acls.meaning(acl) {
                AclMeaning::Destinations(DestinationKind::Domains) => {
                    urls.extend(self.acls.domains(acl).into_iter().map(|(rule, _)| {
                        if rule.starts_with("||") { rule } else { format!("||{rule}^") }
                    }));
                }
                AclMeaning::Destinations(
                    DestinationKind::UrlExpressions | DestinationKind::PathExpressions,
                ) => {
                    let values = self.acls.get(acl).map(|it| it.values.as_slice());
                    urls.extend(
                        values
                            .unwrap_or_default()
                            .iter()
                            .map(|it| format!("/{}/", it.text.replace('/', "\\/"))),
                    );
                }
                _ => {}
            }
        }
        if !is_deny || urls.is_empty() || acls.len() > 1 {
            let why = "what is never kept is named by hosts and URLs";
            draft.report.left_out(&line.place, &line.said, why);
            return;
        }
        let known = draft.sections.get("proxy", "cache").and_then(|it| it.get("never"));
        let mut never = known.and_then(Value::as_array).cloned().unwrap_or_default();
        never.extend(urls.into_iter().map(Value::from));
        draft.sections.set_below("proxy", "cache", "never", never);
        draft.report.carried(&line.place, &line.said, "proxy.cache.never");
    }
}

/// Fields that are taken out of messages.
fn headers(line: &LaterLine, draft: &mut ImportDraft<'_>) {
    let [name, action, acl] = &line.words[..] else {
        draft.report.left_out(&line.place, &line.said, "a field is taken out for everybody");
        return;
    };
    let kept = ["All", "Other"];
    if action == "deny" && acl == "all" && !kept.contains(&name.as_str()) {
        match name.to_ascii_lowercase().as_str() {
            "via" => draft.sections.set("proxy", "via", "off"),
            "x-forwarded-for" => draft.sections.set("proxy", "x_forwarded_for", "off"),
            "referer" => draft.sections.set("proxy", "referer", "drop"),
            _ => draft.sections.push("proxy", "censor", name.as_str()),
        }
        draft.report.carried(&line.place, &line.said, "proxy.censor");
    } else if action == "allow" {
        draft.report.carried(&line.place, &line.said, "fields pass that are not taken out");
    } else {
        let why = "fields are taken out by name, for everybody";
        draft.report.left_out(&line.place, &line.said, why);
    }
}

/// The address that connections leave from.
fn outgoing(line: &LaterLine, draft: &mut ImportDraft<'_>) {
    let address = line.words.first().and_then(|it| it.parse::<std::net::IpAddr>().ok());
    let rest = line.words.get(1..).unwrap_or_default();
    match address {
        Some(ip) if rest.is_empty() || rest == ["all"] => {
            draft.sections.push("proxy", "source", ip.to_string());
            draft.report.carried(&line.place, &line.said, "proxy.source");
        }
        _ => {
            let why = "connections leave from the same address for all clients";
            draft.report.left_out(&line.place, &line.said, why);
        }
    }
}
