//! Words of an address that say which rows are wanted.
//!
//! They are read once into a [`RowFilter`]; a word that is not known is told with those that are.
//! Read by the routes of the request log.

use ledger::{RowFilter, StatusPattern};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::str::FromStr;
use url::Host;
use utoipa::IntoParams;
use vocab::{Action, Door, Source};

/// Statuses that one question names at most.
const STATUSES_MAX: usize = 32;

/// Words that say which rows of the request log are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct RowsQuery {
    /// Part of the name, URL or client address, in any case; or a request's number, with or without
    /// its hyphens.
    pub filter: Option<String>,
    /// `dns`, `pixel`, `proxy`, `web` or `gateway`; all if left out.
    pub door: Option<String>,
    /// `pass` or `block`; both if left out.
    pub action: Option<String>,
    /// Address of one client, as the log has it.
    pub client: Option<String>,
    /// Host: itself and what is under it.
    pub name: Option<String>,
    /// Record type (`AAAA`, `HTTPS`) or `document`, `script`, `image` and so on.
    pub kind: Option<String>,
    /// Name of a list: rows that a rule of it decided.
    pub list: Option<String>,
    /// `policy`, `local`, `cache`, `stale`, `upstream`, `origin`, `file`, `tunnel`, `refused` or
    /// `failed`.
    pub source: Option<String>,
    /// Status of HTTP (`404`), a hundred of them (`4xx`), or the response code of DNS (`NXDOMAIN`,
    /// `3`); up to 32 of them with commas between.
    pub status: Option<String>,
    /// Rows of this moment or later, in milliseconds since 1970.
    pub from: Option<u64>,
    /// Rows of an earlier moment than this, in milliseconds since 1970.
    pub to: Option<u64>,
    /// Rows that took longer, in microseconds.
    pub slower_than_us: Option<u32>,
    /// Rows that took less time, in microseconds.
    pub faster_than_us: Option<u32>,
    /// Rows newer than the one with this `id`.
    pub after: Option<u64>,
}

/// Words that say how much of the rows is wanted, and in which form.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RowsPageQuery {
    /// Rows older than this one: the `next_before` of the page before.
    pub before: Option<u64>,
    /// Rows wanted, 1 to 500; 50 if left out. In a file up to 100,000, and so many if left out.
    pub limit: Option<u32>,
    /// `json`, `csv` or `jsonl`; json if left out.
    pub format: Option<String>,
}

/// A word that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownQueryWord {
    /// Name of the parameter: `door`.
    pub name: &'static str,
    /// The word.
    pub found: String,
    /// Words that are known there.
    pub expected: &'static str,
}

impl RowsQuery {
    /// The filter that the words say.
    pub fn filter(&self) -> Result<RowFilter, UnknownQueryWord> {
        let doors = "dns, pixel, proxy, web, gateway";
        let sources =
            "policy, local, cache, stale, upstream, origin, file, tunnel, refused, failed";
        let kinds = "the record types (AAAA, HTTPS), document, script, image, fetch and so on";
        let action = |word: &str| {
            [Action::Pass, Action::Block].into_iter().find(|action| action.as_str() == word)
        };
        let source = |word: &str| Source::ALL.into_iter().find(|source| source.as_str() == word);
        let client = |word: &str| word.parse().ok().map(|client: IpAddr| client.to_canonical());
        Ok(RowFilter {
            text: filled(self.filter.as_ref()).unwrap_or_default().to_owned(),
            door: word("door", self.door.as_ref(), doors, parsed::<Door>)?,
            action: word("action", self.action.as_ref(), "pass, block", action)?,
            client: word(
                "client",
                self.client.as_ref(),
                "the IP addresses, as in 192.168.1.7",
                client,
            )?,
            name: word("name", self.name.as_ref(), "the hosts, as in ads.example", host)?,
            kind: word("kind", self.kind.as_ref(), kinds, parsed)?,
            list: filled(self.list.as_ref()).map(str::to_owned),
            source: word("source", self.source.as_ref(), sources, source)?,
            statuses: word(
                "status",
                self.status.as_ref(),
                "404, 4xx, NXDOMAIN, at most 32 with commas between",
                statuses,
            )?
            .unwrap_or_default(),
            from_ms: self.from,
            to_ms: self.to,
            slower_than_us: self.slower_than_us,
            faster_than_us: self.faster_than_us,
            before: None,
            after: self.after,
        })
    }
}

/// A word without the blanks around it; none where nothing is left.
fn filled(word: Option<&String>) -> Option<&str> {
    word.map(|word| word.trim()).filter(|word| !word.is_empty())
}

fn word<T>(
    name: &'static str,
    text: Option<&String>,
    expected: &'static str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, UnknownQueryWord> {
    let Some(text) = filled(text) else { return Ok(None) };
    let unknown = || UnknownQueryWord { name, found: text.to_owned(), expected };
    read(text).ok_or_else(unknown).map(Some)
}

fn parsed<T: FromStr>(word: &str) -> Option<T> {
    word.parse().ok()
}

/// A host as rows have it: in lower case, a name of another script as `xn--`, an address bare.
fn host(word: &str) -> Option<String> {
    let bare = word.strip_suffix('.').unwrap_or(word);
    match bare.parse::<IpAddr>() {
        Ok(address) => Some(address.to_string()),
        Err(_) => match Host::parse(bare).ok()? {
            Host::Domain(name) => Some(name),
            Host::Ipv4(address) => Some(address.to_string()),
            Host::Ipv6(address) => Some(address.to_string()),
        },
    }
}

fn statuses(words: &str) -> Option<Vec<StatusPattern>> {
    let all = words.split(',').map(|word| word.trim().parse().ok());
    all.collect::<Option<Vec<_>>>().filter(|all| all.len() <= STATUSES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::RequestKind;

    #[test]
    fn words_become_a_filter() {
        let text = |text: &str| Some(text.to_owned());
        let query = RowsQuery {
            filter: text(" ads "),
            door: text("dns"),
            action: text(""),
            client: text("::ffff:192.168.1.7"),
            name: text("B\u{fc}cher.Example."),
            kind: text("AAAA"),
            list: text("starter"),
            source: text("cache"),
            status: text("NXDOMAIN, 4xx,404"),
            from: Some(7),
            after: Some(9),
            ..RowsQuery::default()
        };
        let filter = query.filter().unwrap();
        assert_eq!(
            (filter.text.as_str(), filter.door, filter.action),
            ("ads", Some(Door::Dns), None)
        );
        assert_eq!(filter.client, Some(IpAddr::from([192, 168, 1, 7])));
        assert_eq!(filter.name.as_deref(), Some("xn--bcher-kva.example"));
        assert_eq!(
            (filter.kind, filter.source),
            (Some(RequestKind::Lookup(28)), Some(Source::Cache))
        );
        let statuses =
            vec![StatusPattern::Dns(3), StatusPattern::HttpClass(4), StatusPattern::Http(404)];
        assert_eq!(filter.statuses, statuses);
        assert_eq!((filter.from_ms, filter.to_ms, filter.after), (Some(7), None, Some(9)));
        assert_eq!(RowsQuery::default().filter(), Ok(RowFilter::default()));
    }

    #[test]
    fn hosts_are_read_as_rows_have_them() {
        for (word, read) in [
            ("[2001:DB8::1]", Some("2001:db8::1")),
            ("2001:db8::1", Some("2001:db8::1")),
            ("192.0.2.1", Some("192.0.2.1")),
            ("_dmarc.A.example", Some("_dmarc.a.example")),
            ("a b", None),
            ("http://a.example", None),
        ] {
            assert_eq!(host(word).as_deref(), read, "{word}");
        }
    }

    #[test]
    fn an_unknown_word_is_told_with_those_that_are_known() {
        let wrong = |query: RowsQuery| query.filter().unwrap_err();
        let text = |text: &str| Some(text.to_owned());
        let none = RowsQuery::default;
        let door = wrong(RowsQuery { door: text("cellar"), ..none() });
        assert_eq!((door.name, door.found.as_str()), ("door", "cellar"));
        assert!(door.expected.contains("gateway"));
        assert_eq!(wrong(RowsQuery { client: text("me"), ..none() }).name, "client");
        assert_eq!(wrong(RowsQuery { status: text("404,"), ..none() }).name, "status");
        let many = ["404"; STATUSES_MAX + 1].join(",");
        assert_eq!(wrong(RowsQuery { status: Some(many), ..none() }).name, "status");
        assert_eq!(wrong(RowsQuery { kind: text("soup"), ..none() }).name, "kind");
        assert_eq!(wrong(RowsQuery { source: text("sky"), ..none() }).name, "source");
    }
}
