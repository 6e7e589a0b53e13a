//! Places of servers: a host and a port, as people and clusters write them.

/// Longest host name.
const HOST_BYTES_MAX: usize = 255;

/// Place of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerPlace {
    /// Name or address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl ServerPlace {
    /// Reads `HOST:PORT`; none of what is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse::<u16>().ok().filter(|port| *port > 0)?;
        Self::new(host.trim_start_matches('[').trim_end_matches(']'), port)
    }

    /// A place; none where the host is no name and no address.
    pub(crate) fn new(host: &str, port: u16) -> Option<Self> {
        let is_host = |it: char| it.is_ascii_alphanumeric() || ".-_:".contains(it);
        let is_named = (1..=HOST_BYTES_MAX).contains(&host.len()) && host.chars().all(is_host);
        (is_named && port > 0).then(|| Self { host: host.to_owned(), port })
    }
}
