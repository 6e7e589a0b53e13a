//! The host in an authority, and in the URL of a page: text in, text out.
//!
//! Nothing is decided and no name is checked: whoever asks reads the text as a name or not at all.
//! Called by the HTTP doors for `Host`, `Referer` and `Origin`.

/// The host of an authority, without its port.
pub fn host(authority: &str) -> &str {
    // An IPv6 address stands in brackets, and no name holds one.
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|it| it.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// The host of an absolute URL, without its port; none where nothing stands there.
pub fn host_of_url(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    Some(host(authority)).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_without_its_port() {
        assert_eq!(host("a.example:8080"), "a.example");
        assert_eq!(host("a.example"), "a.example");
        assert_eq!(host("[::1]:80"), "[::1]");
        assert_eq!(host("[::1]"), "[::1]");
        assert_eq!(host(""), "");
    }

    #[test]
    fn a_url_has_one_between_scheme_and_path() {
        assert_eq!(host_of_url("https://news.example:8/a?b"), Some("news.example"));
        assert_eq!(host_of_url("http://news.example?b=://c"), Some("news.example"));
        assert_eq!(host_of_url("null"), None);
        assert_eq!(host_of_url("https:///a"), None);
    }
}
