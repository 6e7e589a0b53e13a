//! The five doors, and what kind of thing is asked for at one.

use std::fmt;
use std::str::FromStr;

/// Where a request came in. The numbers stand in the ledger's files: a number never changes its
/// door, and a new door gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Door {
    /// The policy DNS forwarder.
    Dns = 0,
    /// The server that answers in place of blocked hosts.
    Pixel = 1,
    /// The forward proxy.
    Proxy = 2,
    /// The web server.
    Web = 3,
    /// The reverse proxy.
    Gateway = 4,
}

/// Tells what is asked for: the words of the Fetch standard's destinations, of EasyList's types,
/// and a DNS look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// A DNS question of this type (1 is A, 28 AAAA, 65 HTTPS).
    Lookup(u16),
    /// A page a person opens.
    Document,
    /// A frame inside a page.
    Subdocument,
    /// A script or a worker.
    Script,
    /// A style sheet.
    Stylesheet,
    /// An image.
    Image,
    /// A font.
    Font,
    /// Audio, video or a text track.
    Media,
    /// A plug-in's content.
    Object,
    /// What a script fetches: XMLHttpRequest, fetch, EventSource.
    Fetch,
    /// A beacon, a ping, a report.
    Ping,
    /// A WebSocket.
    Websocket,
    /// A CONNECT tunnel whose content is not seen.
    Tunnel,
    /// Anything else, or unknown.
    Other,
}

/// A word that is not one of those expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord(pub String);

impl Door {
    /// All five, in the order in which they are always listed.
    pub const ALL: [Self; 5] = [Self::Dns, Self::Pixel, Self::Proxy, Self::Web, Self::Gateway];

    /// Returns its name in configuration, metrics and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Pixel => "pixel",
            Self::Proxy => "proxy",
            Self::Web => "web",
            Self::Gateway => "gateway",
        }
    }
}

/// The names of the kinds that are one word; a look-up is its record type instead.
const KINDS: &[(&str, RequestKind)] = &[
    ("document", RequestKind::Document),
    ("subdocument", RequestKind::Subdocument),
    ("script", RequestKind::Script),
    ("stylesheet", RequestKind::Stylesheet),
    ("image", RequestKind::Image),
    ("font", RequestKind::Font),
    ("media", RequestKind::Media),
    ("object", RequestKind::Object),
    ("fetch", RequestKind::Fetch),
    ("ping", RequestKind::Ping),
    ("websocket", RequestKind::Websocket),
    ("tunnel", RequestKind::Tunnel),
    ("other", RequestKind::Other),
];

/// Record types by name (IANA DNS parameters); others print as `TYPE123` (RFC 3597 §5).
const RECORD_TYPES: &[(&str, u16)] = &[
    ("A", 1),
    ("NS", 2),
    ("CNAME", 5),
    ("SOA", 6),
    ("PTR", 12),
    ("HINFO", 13),
    ("MX", 15),
    ("TXT", 16),
    ("AAAA", 28),
    ("SRV", 33),
    ("NAPTR", 35),
    ("DS", 43),
    ("SSHFP", 44),
    ("RRSIG", 46),
    ("NSEC", 47),
    ("DNSKEY", 48),
    ("TLSA", 52),
    ("SVCB", 64),
    ("HTTPS", 65),
    ("AXFR", 252),
    ("ANY", 255),
    ("CAA", 257),
];

impl RequestKind {
    /// A record type by its name (`A`, `https`) or RFC 3597 form (`TYPE65`).
    pub fn record_type(word: &str) -> Option<u16> {
        let upper = word.to_ascii_uppercase();
        RECORD_TYPES
            .iter()
            .find(|(name, _)| *name == upper)
            .map(|(_, code)| *code)
            .or_else(|| upper.strip_prefix("TYPE").and_then(|digits| digits.parse().ok()))
    }
}

impl fmt::Display for RequestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Lookup(code) = self {
            return match RECORD_TYPES.iter().find(|(_, known)| known == code) {
                Some((name, _)) => f.write_str(name),
                None => write!(f, "TYPE{code}"),
            };
        }
        let word = KINDS.iter().find(|(_, kind)| kind == self).map_or("other", |(name, _)| name);
        f.write_str(word)
    }
}

impl FromStr for RequestKind {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        KINDS
            .iter()
            .find(|(name, _)| *name == word)
            .map(|(_, kind)| *kind)
            .or_else(|| Self::record_type(word).map(Self::Lookup))
            .ok_or_else(|| UnknownWord(word.into()))
    }
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Door {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|door| door.as_str() == word)
            .ok_or_else(|| UnknownWord(word.into()))
    }
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not known here", self.0)
    }
}

impl std::error::Error for UnknownWord {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_prints_the_word_it_is_read_from() {
        for (word, kind) in KINDS {
            assert_eq!(word.parse(), Ok(*kind));
            assert_eq!(kind.to_string(), *word);
        }
        assert_eq!("AAAA".parse(), Ok(RequestKind::Lookup(28)));
        assert_eq!("TYPE731".parse(), Ok(RequestKind::Lookup(731)));
        assert_eq!(RequestKind::Lookup(65).to_string(), "HTTPS");
        assert_eq!(RequestKind::Lookup(731).to_string(), "TYPE731");
        assert!("soup".parse::<RequestKind>().is_err());
    }
}
