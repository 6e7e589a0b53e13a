//! Privoxy's patterns: a host with wildcards, and an expression of the path.

use crate::words;

/// A rule of ours that matches what the pattern does; none for what is no pattern of URLs.
pub(super) fn rule(pattern: &str) -> Option<String> {
    if pattern.contains(':') && pattern.to_ascii_uppercase().contains("TAG:")
        || pattern.starts_with("PCRE-HOST-PATTERN:")
    {
        return None;
    }
    let (host, path) = match pattern.find('/') {
        Some(at) => (&pattern[..at], &pattern[at + 1..]),
        None => (pattern, ""),
    };
    let path = path.trim();
    if path.is_empty()
        && let Some(rule) = plain(host)
    {
        return Some(rule);
    }
    if host.is_empty() && path.is_empty() {
        return None;
    }
    let host = host_expression(host)?;
    let path = path.strip_prefix('^').unwrap_or(path).replace('/', "\\/");
    Some(format!("/^[a-z]+:\\/\\/{host}(:[0-9]+)?\\/{path}/"))
}

/// A host without wildcards: with all below it, or alone.
fn plain(host: &str) -> Option<String> {
    match host.strip_prefix('.') {
        Some(domain) if !domain.ends_with('.') => words::name(domain).map(|it| format!("||{it}^")),
        None if !host.ends_with('.') => words::name(host),
        _ => None,
    }
}

/// A host as an expression.
fn host_expression(host: &str) -> Option<String> {
    if host.is_empty() {
        return Some("[^\\/]*".into());
    }
    let mut out = String::new();
    let (inside, opens) = match host.strip_prefix('.') {
        Some(rest) => (rest, true),
        None => (host, false),
    };
    if opens {
        out.push_str("([^\\/]*\\.)?");
    }
    let closed = inside.strip_suffix('.').unwrap_or(inside);
    for c in closed.chars() {
        match c {
            '*' => out.push_str("[^.\\/]*"),
            '?' => out.push_str("[^.\\/]"),
            '.' => out.push_str("\\."),
            '[' | ']' | '-' | '_' => out.push(c),
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ => return None,
        }
    }
    if closed.len() < inside.len() {
        out.push_str("(\\.[^\\/:]*)?");
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_rules() {
        let due = [
            (".ads.example", Some("||ads.example^")),
            ("ads.example/", Some("ads.example")),
            ("ads*.", Some("/^[a-z]+:\\/\\/ads[^.\\/]*(\\.[^\\/:]*)?(:[0-9]+)?\\//")),
            (
                ".x.example/banner/",
                Some("/^[a-z]+:\\/\\/([^\\/]*\\.)?x\\.example(:[0-9]+)?\\/banner\\//"),
            ),
            ("/(.*/)?ads/", Some("/^[a-z]+:\\/\\/[^\\/]*(:[0-9]+)?\\/(.*\\/)?ads\\//")),
            ("/", None),
            ("TAG:^image", None),
        ];
        for (pattern, rule_due) in due {
            assert_eq!(rule(pattern).as_deref(), rule_due, "{pattern}");
        }
    }
}
