//! The filter of the request log: which rows are wanted.
//!
//! Words are parsed once into it; the store holds it against blocks and rows. Made by the admin
//! API, used by questions for rows.

use crate::report::{LogRow, RowCause};
use crate::row_facts::RowFacts;
use crate::store::write::{host_of, lower};
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use vocab::{Action, Door, RequestKind, Source};

/// Names of DNS response codes (IANA, DNS parameters).
const DNS_CODES: [(u16, &str); 13] = [
    (0, "NOERROR"),
    (1, "FORMERR"),
    (2, "SERVFAIL"),
    (3, "NXDOMAIN"),
    (4, "NOTIMP"),
    (5, "REFUSED"),
    (6, "YXDOMAIN"),
    (7, "YXRRSET"),
    (8, "NXRRSET"),
    (9, "NOTAUTH"),
    (10, "NOTZONE"),
    (16, "BADVERS"),
    (23, "BADCOOKIE"),
];
/// Smallest status of HTTP: a smaller number is a response code of DNS.
const HTTP_STATUS_MIN: u16 = 100;
const HTTP_STATUS_MAX: u16 = 999;

/// Which rows are wanted. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowFilter {
    /// Part of the subject or of the client's address, in any case; empty for all.
    pub text: String,
    /// Only this door.
    pub door: Option<Door>,
    /// Only this action.
    pub action: Option<Action>,
    /// Only this client, by the address that is stored.
    pub client: Option<IpAddr>,
    /// Only this host and what is under it, in lower case.
    pub name: Option<String>,
    /// Only this kind.
    pub kind: Option<RequestKind>,
    /// Only rows that a rule of this list decided.
    pub list: Option<String>,
    /// Only answers that came from here.
    pub source: Option<Source>,
    /// Only rows with one of these; empty for all.
    pub statuses: Vec<StatusPattern>,
    /// Only rows of this moment or later, in milliseconds since 1970.
    pub from_ms: Option<u64>,
    /// Only rows of an earlier moment than this.
    pub to_ms: Option<u64>,
    /// Only rows that took longer, in microseconds.
    pub slower_than_us: Option<u32>,
    /// Only rows that took less time.
    pub faster_than_us: Option<u32>,
    /// Only rows older than the one with this number.
    pub before: Option<u64>,
    /// Only rows newer than the one with this number.
    pub after: Option<u64>,
}

/// One status or a hundred of them: `404`, `4xx`, `NXDOMAIN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusPattern {
    /// Response code of DNS.
    Dns(u16),
    /// Status of HTTP.
    Http(u16),
    /// All of HTTP that begin with this digit.
    HttpClass(u16),
}

/// A word that is no status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownStatus;

/// Values of a row that a filter is held against, whatever block it stands in.
pub(crate) struct RowMeasures {
    pub(crate) facts: RowFacts,
    pub(crate) at_ms: u64,
    pub(crate) duration_us: u32,
}

impl RowFilter {
    /// True for a row that it finds, but for its text, which is not looked at.
    pub fn fits_but_text(&self, row: &LogRow) -> bool {
        let list = match &row.cause {
            RowCause::Rule { list, .. } => Some(list.as_str()),
            RowCause::NoRule
            | RowCause::Paused
            | RowCause::NotAsked
            | RowCause::Unlisted
            | RowCause::OtherBlocker
            | RowCause::ByHand => None,
        };
        self.client.is_none_or(|client| row.client == client)
            && self.list.as_deref().is_none_or(|wanted| list == Some(wanted))
            && self.before.is_none_or(|before| row.id < before)
            && self.after.is_none_or(|after| row.id > after)
            && self.name.as_deref().is_none_or(|name| is_under(&row.host(), name))
            && self.fits_words(row.door, row.action, row.kind, row.source)
            && self.fits_status(row.door, row.status)
            && self.fits_time(row.at_ms, row.duration_us)
    }

    /// True for the codes, time and latency of a row that it finds.
    pub(crate) fn fits_measures(&self, row: &RowMeasures) -> bool {
        let facts = row.facts;
        self.fits_words(facts.door(), facts.action(), facts.kind(), facts.source())
            && self.fits_status(facts.door(), facts.status)
            && self.fits_time(row.at_ms, row.duration_us)
    }

    fn fits_words(&self, door: Door, action: Action, kind: RequestKind, source: Source) -> bool {
        self.door.is_none_or(|wanted| door == wanted)
            && self.action.is_none_or(|wanted| action == wanted)
            && self.kind.is_none_or(|wanted| kind == wanted)
            && self.source.is_none_or(|wanted| source == wanted)
    }

    fn fits_status(&self, door: Door, status: u16) -> bool {
        self.statuses.is_empty() || self.statuses.iter().any(|it| it.fits(door, status))
    }

    fn fits_time(&self, at_ms: u64, duration_us: u32) -> bool {
        self.from_ms.is_none_or(|from| at_ms >= from)
            && self.to_ms.is_none_or(|to| at_ms < to)
            && self.slower_than_us.is_none_or(|than| duration_us > than)
            && self.faster_than_us.is_none_or(|than| duration_us < than)
    }
}

/// True if a host, in lower case, is this name or under it.
pub(crate) fn is_under(host: &str, name: &str) -> bool {
    host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

impl StatusPattern {
    /// True for a status of a door that it means.
    pub fn fits(self, door: Door, status: u16) -> bool {
        match self {
            Self::Dns(code) => door == Door::Dns && status == code,
            Self::Http(code) => door != Door::Dns && status == code,
            Self::HttpClass(class) => door != Door::Dns && status / 100 == class,
        }
    }
}

impl FromStr for StatusPattern {
    type Err = UnknownStatus;

    fn from_str(word: &str) -> Result<Self, UnknownStatus> {
        let name = word.to_ascii_uppercase();
        if let Some((code, _)) = DNS_CODES.iter().find(|(_, known)| *known == name) {
            return Ok(Self::Dns(*code));
        }
        let number = |digits: &str| digits.parse::<u16>().map_err(|_| UnknownStatus);
        if let Some(code) = name.strip_prefix("RCODE") {
            return number(code).map(Self::Dns);
        }
        if let Some(class) = name.strip_suffix("XX") {
            let class = number(class).ok().filter(|class| (1..=9).contains(class));
            return class.map(Self::HttpClass).ok_or(UnknownStatus);
        }
        match number(&name)? {
            code if code < HTTP_STATUS_MIN => Ok(Self::Dns(code)),
            code if code <= HTTP_STATUS_MAX => Ok(Self::Http(code)),
            _ => Err(UnknownStatus),
        }
    }
}

/// A status of a door by its name: `NXDOMAIN`, `404`.
pub fn status_name(door: Door, status: u16) -> String {
    if door != Door::Dns {
        return status.to_string();
    }
    let known = DNS_CODES.iter().find(|(code, _)| *code == status);
    known.map_or_else(|| format!("RCODE{status}"), |(_, name)| (*name).into())
}

impl fmt::Display for UnknownStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is no status")
    }
}

impl std::error::Error for UnknownStatus {}

impl LogRow {
    /// The host that was asked for, in lower case; of a name without its final dot.
    pub fn host(&self) -> Cow<'_, str> {
        let is_url = self.subject.contains("://");
        lower(if is_url { host_of(&self.subject) } else { self.subject.trim_end_matches('.') })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_number_a_hundred_or_a_name() {
        for (word, pattern) in [
            ("404", StatusPattern::Http(404)),
            ("4xx", StatusPattern::HttpClass(4)),
            ("5XX", StatusPattern::HttpClass(5)),
            ("nxdomain", StatusPattern::Dns(3)),
            ("NOERROR", StatusPattern::Dns(0)),
            ("0", StatusPattern::Dns(0)),
            ("rcode3841", StatusPattern::Dns(3841)),
        ] {
            assert_eq!(word.parse(), Ok(pattern), "{word}");
        }
        for word in ["", "x", "xx", "44xx", "0xx", "-1", "1000", "NXDOMAINS", "RCODE", "99999"] {
            assert_eq!(word.parse::<StatusPattern>(), Err(UnknownStatus), "{word}");
        }
        assert!(!StatusPattern::Dns(3).fits(Door::Web, 3));
        assert!(!StatusPattern::HttpClass(4).fits(Door::Dns, 404));
        assert!(StatusPattern::HttpClass(4).fits(Door::Web, 499));
        for (code, name) in DNS_CODES {
            assert_eq!(status_name(Door::Dns, code), name);
        }
        assert_eq!(status_name(Door::Dns, 404), "RCODE404");
        assert_eq!(status_name(Door::Web, 404), "404");
    }

    #[test]
    fn what_is_under_a_name_ends_at_a_dot() {
        assert!(is_under("ads.example", "ads.example"));
        assert!(is_under("x.ads.example", "ads.example"));
        assert!(!is_under("bads.example", "ads.example"));
        assert!(!is_under("example", "ads.example"));
    }
}
