//! Names that settings of ours take: of fields, cookies, hosts, and addresses of servers.

use http_semantics::hop_by_hop::FRAMING_FIELDS;

/// True for a field that a rule may set.
pub fn is_field(name: &str, value: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty()
        && name.chars().all(is_token)
        && !FRAMING_FIELDS.contains(&name.to_ascii_lowercase().as_str())
        && !value.chars().any(char::is_control)
}

/// True for the name of a cookie.
pub fn is_cookie(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|it| it.is_ascii_alphanumeric() || "-_.".contains(it))
}

/// True for a host with or without a port, or the path of a socket.
pub fn is_address(text: &str) -> bool {
    if let Some(path) = text.strip_prefix("unix:") {
        return path.starts_with('/') && !path.contains([' ', '\t', '\n']);
    }
    let is_known = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    if text.is_empty() || !text.chars().all(is_known) || text.contains("..") {
        return false;
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (text, "80"),
    };
    let is_v6 = host.starts_with('[') && host.ends_with(']');
    let is_plain = !host.contains([':', '[', ']', '_']) && !host.starts_with(['.', '-']);
    let host_is_fine = if is_v6 {
        host[1..host.len() - 1].parse::<std::net::Ipv6Addr>().is_ok()
    } else {
        is_plain && !host.is_empty() && host.len() < 254 && host.split('.').all(|it| it.len() < 64)
    };
    host_is_fine && port.parse::<u16>().is_ok_and(|it| it > 0)
}

/// True for the name of a host.
pub fn is_host(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() < 64
            && label.chars().all(|it| it.is_ascii_alphanumeric() || it == '-' || it == '_')
    };
    name.len() < 254 && name.split('.').all(is_label)
}
