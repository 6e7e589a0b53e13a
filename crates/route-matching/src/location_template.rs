//! The place that a redirect leads to: a text with words for the request and for the groups of its
//! pattern.
//!
//! Nothing that a client sends can begin a field, change the host of the place, or turn a path into
//! one: what is put in is percent-encoded for where it stands, and a path begins with one slash
//! (RFC 3986 section 4.2). Compiled when settings are checked; asked by the gateway and the web
//! door for each redirect.

mod bad_location;

pub use self::bad_location::{BadLocation, NoLocation};
use crate::capture_groups::GroupNames;
use crate::path::EncodedSlash;
use http::HeaderValue;
use std::net::IpAddr;

/// Longest `Location`, in bytes: clients and proxies refuse longer lines.
pub const LOCATION_BYTES_MAX: usize = 8 << 10;

/// A place with words in it: `{client}`, `{host}`, `{scheme}`, `{path}`, `{query}`, and `{uri}` for
/// path and query with what stands between them; `$1`, `${1}` and `${name}` for the groups of the
/// path's pattern, `{host.1}` and `{host.name}` for those of the host's; `{{`, `}}` and `$$` for
/// the signs themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationTemplate {
    /// Scheme and host, as far as the place has them: `https://{host}`, or `//` and a host.
    /// Empty for a place on the host that was asked.
    authority: Vec<LocationPiece>,
    rest: Vec<LocationPiece>,
    slashes: EncodedSlash,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum LocationPiece {
    Literal(String),
    Client,
    Host,
    Scheme,
    Path,
    Query,
    Uri,
    PathGroup(usize),
    HostGroup(usize),
}

/// Groups that a place may name.
#[derive(Clone, Debug, Default)]
pub struct LocationGroups {
    /// Of the path's pattern.
    pub path: GroupNames,
    /// Of the host's pattern.
    pub host: GroupNames,
    /// Treatment of encoded slashes in the path: where they are kept, they are in groups too.
    pub slashes: EncodedSlash,
}

/// A request, as places say it.
#[derive(Clone, Copy, Debug)]
pub struct LocationFacts<'f> {
    /// Address of the client.
    pub client: IpAddr,
    /// The host that it asks for, empty where it names none.
    pub host: &'f str,
    /// `http` or `https`.
    pub scheme: &'f str,
    /// The path in normal form.
    pub path: &'f str,
    /// The query as it came.
    pub query: Option<&'f str>,
    /// Groups of the path, decoded.
    pub path_groups: &'f [&'f str],
    /// Groups of the host.
    pub host_groups: &'f [&'f str],
}

/// Where in a URL something is put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UrlPart {
    Path,
    /// The query, or the fragment.
    Query,
}

impl LocationTemplate {
    /// Reads a place whose groups are those of `groups`.
    pub fn parse(text: &str, groups: &LocationGroups) -> Result<Self, BadLocation> {
        if text.len() > LOCATION_BYTES_MAX {
            return Err(BadLocation::TooLong);
        }
        if !text.bytes().all(|it| it.is_ascii_graphic() && !b"\"<>\\^`|".contains(&it)) {
            return Err(BadLocation::Value(text.to_owned()));
        }
        let nowhere = || BadLocation::Nowhere(text.to_owned());
        let pieces = pieces(text, groups)?;
        let (authority, rest) = split_authority(pieces).ok_or_else(nowhere)?;
        let has_host = authority.iter().any(is_host_piece);
        let begins = match rest.first() {
            // Without a path, a URL leads to the root of its host.
            None => has_host,
            Some(LocationPiece::Literal(literal)) => {
                literal.starts_with('/') || !authority.is_empty() && literal.starts_with(['?', '#'])
            }
            Some(LocationPiece::Path | LocationPiece::Uri) => true,
            Some(LocationPiece::PathGroup(_) | LocationPiece::Client | LocationPiece::Query)
                if !authority.is_empty() =>
            {
                return Err(BadLocation::Host(text.to_owned()));
            }
            Some(_) => false,
        };
        let begins = begins && (has_host || authority.is_empty());
        if begins { Ok(Self { authority, rest, slashes: groups.slashes }) } else { Err(nowhere()) }
    }

    /// The place for a request.
    pub fn location(&self, facts: &LocationFacts<'_>) -> Result<HeaderValue, NoLocation> {
        let mut place = String::new();
        for piece in &self.authority {
            match piece {
                LocationPiece::Host => place.push_str(facts.host),
                LocationPiece::HostGroup(number) => {
                    place.push_str(group(facts.host_groups, *number));
                }
                LocationPiece::Scheme => place.push_str(facts.scheme),
                LocationPiece::Literal(literal) => place.push_str(literal),
                LocationPiece::Client
                | LocationPiece::Path
                | LocationPiece::Query
                | LocationPiece::Uri
                | LocationPiece::PathGroup(_) => return Err(NoLocation::Host),
            }
        }
        // Without a host, a browser takes the first segment of the path for one.
        let host = place.split_once("//").map(|(_, host)| host);
        if host.is_some_and(|it| it.is_empty() || it.starts_with(['.', ':', '-'])) {
            return Err(NoLocation::Host);
        }
        let begin = place.len();
        let mut part = UrlPart::Path;
        for (index, piece) in self.rest.iter().enumerate() {
            let is_last = index + 1 == self.rest.len();
            self.put_in(piece, facts, &mut part, &mut place);
            let is_empty_query =
                *piece == LocationPiece::Query && facts.query.unwrap_or("").is_empty();
            if is_last && is_empty_query && place.ends_with(['?', '&']) {
                place.pop();
            }
            if place.len() > LOCATION_BYTES_MAX {
                return Err(NoLocation::TooLong);
            }
        }
        one_slash(&mut place, begin);
        HeaderValue::try_from(place).map_err(|_| NoLocation::Bytes)
    }

    fn put_in(
        &self,
        piece: &LocationPiece,
        facts: &LocationFacts<'_>,
        part: &mut UrlPart,
        place: &mut String,
    ) {
        match piece {
            LocationPiece::Literal(literal) => {
                place.push_str(literal);
                if literal.contains(['?', '#']) {
                    *part = UrlPart::Query;
                }
            }
            LocationPiece::Client => place.push_str(&facts.client.to_string()),
            LocationPiece::Host => place.push_str(facts.host),
            LocationPiece::HostGroup(number) => place.push_str(group(facts.host_groups, *number)),
            LocationPiece::Scheme => place.push_str(facts.scheme),
            LocationPiece::Path => push_url(facts.path, *part, place),
            LocationPiece::Query => push_query(facts.query.unwrap_or(""), place),
            LocationPiece::Uri => {
                push_url(facts.path, *part, place);
                let Some(query) = facts.query else { return };
                match part {
                    UrlPart::Path => {
                        place.push('?');
                        push_query(query, place);
                        *part = UrlPart::Query;
                    }
                    UrlPart::Query => {
                        place.push_str("%3F");
                        push_url(query, UrlPart::Query, place);
                    }
                }
            }
            LocationPiece::PathGroup(number) => {
                let text = group(facts.path_groups, *number);
                // One slash stands between segments, whatever a group begins with.
                let is_behind = *part == UrlPart::Path && place.ends_with('/');
                let text = if is_behind { text.trim_start_matches('/') } else { text };
                push_decoded(text, *part, self.slashes, place);
            }
        }
    }

    /// True if it has a query of its own, or says that of the request.
    pub fn has_query(&self) -> bool {
        self.rest.iter().any(|it| match it {
            LocationPiece::Literal(literal) => literal.contains(['?', '#']),
            LocationPiece::Query | LocationPiece::Uri => true,
            LocationPiece::Client
            | LocationPiece::Host
            | LocationPiece::Scheme
            | LocationPiece::Path
            | LocationPiece::PathGroup(_)
            | LocationPiece::HostGroup(_) => false,
        })
    }

    /// True if it leads to a path of the host that was asked.
    pub fn stays(&self) -> bool {
        self.authority.is_empty()
    }

    /// True if it says a part of the host that was asked for.
    pub fn uses_host(&self) -> bool {
        let is_host = |it: &LocationPiece| match it {
            LocationPiece::Host | LocationPiece::HostGroup(_) => true,
            LocationPiece::Literal(_)
            | LocationPiece::Client
            | LocationPiece::Scheme
            | LocationPiece::Path
            | LocationPiece::Query
            | LocationPiece::Uri
            | LocationPiece::PathGroup(_) => false,
        };
        self.authority.iter().chain(&self.rest).any(is_host)
    }
}

/// True for a piece that names a host, or begins one.
fn is_host_piece(piece: &LocationPiece) -> bool {
    match piece {
        LocationPiece::Host | LocationPiece::HostGroup(_) => true,
        LocationPiece::Literal(text) => {
            !matches!(text.as_str(), "" | "//" | "://")
                && !matches!(text.as_str(), "http://" | "https://")
        }
        LocationPiece::Client
        | LocationPiece::Scheme
        | LocationPiece::Path
        | LocationPiece::Query
        | LocationPiece::Uri
        | LocationPiece::PathGroup(_) => false,
    }
}

fn group<'f>(groups: &[&'f str], number: usize) -> &'f str {
    groups.get(number).copied().unwrap_or("")
}

/// A place on a host begins with one slash: two would begin another host, and a browser takes a
/// backslash for one.
fn one_slash(place: &mut String, begin: usize) {
    if begin > 0 || !place.starts_with('/') {
        return;
    }
    let more = place[1..].bytes().take_while(|it| matches!(it, b'/' | b'\\')).count();
    place.replace_range(1..=more, "");
}

/// Cuts a text at its words.
fn pieces(text: &str, groups: &LocationGroups) -> Result<Vec<LocationPiece>, BadLocation> {
    let (mut pieces, mut literal, mut rest) = (Vec::new(), String::new(), text);
    while let Some(at) = rest.find(['{', '}', '$']) {
        literal.push_str(&rest[..at]);
        rest = &rest[at..];
        let twice = ["{{", "}}", "$$"].iter().find_map(|it| rest.strip_prefix(it));
        if let Some(behind) = twice {
            literal.push_str(&rest[..1]);
            rest = behind;
            continue;
        }
        let (piece, behind) = if let Some(behind) = rest.strip_prefix('$') {
            path_group(behind, groups)?
        } else {
            let inside = rest.strip_prefix('{').ok_or(BadLocation::Brace)?;
            let (word, behind) = inside.split_once('}').ok_or(BadLocation::Brace)?;
            (known_word(word, groups)?, behind)
        };
        if !literal.is_empty() {
            pieces.push(LocationPiece::Literal(std::mem::take(&mut literal)));
        }
        pieces.push(piece);
        rest = behind;
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(LocationPiece::Literal(literal));
    }
    Ok(pieces)
}

/// The group behind a dollar, and what follows it.
fn path_group<'t>(
    text: &'t str,
    groups: &LocationGroups,
) -> Result<(LocationPiece, &'t str), BadLocation> {
    let (name, behind) = if let Some(inside) = text.strip_prefix('{') {
        inside.split_once('}').ok_or(BadLocation::Brace)?
    } else {
        let is_end = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
        text.split_at(text.find(is_end).unwrap_or(text.len()))
    };
    match groups.path.number(name) {
        Some(number) => Ok((LocationPiece::PathGroup(number), behind)),
        None => Err(BadLocation::PathGroup(name.to_owned(), groups.path.last())),
    }
}

fn known_word(word: &str, groups: &LocationGroups) -> Result<LocationPiece, BadLocation> {
    if let Some(name) = word.strip_prefix("host.") {
        let number = groups.host.number(name);
        let none = || BadLocation::HostGroup(name.to_owned(), groups.host.last());
        return number.map(LocationPiece::HostGroup).ok_or_else(none);
    }
    Ok(match word {
        "client" => LocationPiece::Client,
        "host" => LocationPiece::Host,
        "scheme" => LocationPiece::Scheme,
        "path" => LocationPiece::Path,
        "query" => LocationPiece::Query,
        "uri" => LocationPiece::Uri,
        _ => return Err(BadLocation::Word(word.to_owned())),
    })
}

/// Scheme and host, and what follows them; none where they are of another scheme.
fn split_authority(
    mut pieces: Vec<LocationPiece>,
) -> Option<(Vec<LocationPiece>, Vec<LocationPiece>)> {
    let mut authority = Vec::new();
    if pieces.first() == Some(&LocationPiece::Scheme) {
        authority.push(pieces.remove(0));
    }
    let signs: &[&str] =
        if authority.is_empty() { &["https://", "http://", "//"] } else { &["://"] };
    let Some(LocationPiece::Literal(first)) = pieces.first_mut() else {
        return authority.is_empty().then_some((authority, pieces));
    };
    let Some(sign) = signs.iter().find(|it| first.starts_with(**it)) else {
        return authority.is_empty().then_some((authority, pieces));
    };
    authority.push(LocationPiece::Literal((*sign).to_owned()));
    *first = first.split_off(sign.len());
    let mut rest = pieces.into_iter();
    while let Some(piece) = rest.next() {
        match piece {
            LocationPiece::Host | LocationPiece::HostGroup(_) => authority.push(piece),
            LocationPiece::Literal(text) => match text.find(['/', '?', '#', '\\']) {
                None => authority.push(LocationPiece::Literal(text)),
                Some(at) => {
                    let (host, behind) = text.split_at(at);
                    authority.push(LocationPiece::Literal(host.to_owned()));
                    let behind = LocationPiece::Literal(behind.to_owned());
                    return Some((authority, [behind].into_iter().chain(rest).collect()));
                }
            },
            piece => return Some((authority, [piece].into_iter().chain(rest).collect())),
        }
    }
    Some((authority, Vec::new()))
}

/// Puts in what is encoded as a URL already.
fn push_url(text: &str, part: UrlPart, into: &mut String) {
    match part {
        UrlPart::Path => into.push_str(text),
        // One value of the query, not several of them.
        UrlPart::Query => push_encoded(text, into, |it| {
            it.is_ascii_alphanumeric() || b"-._~!$'()*,/:;=?@".contains(&it)
        }),
    }
}

/// Puts in a query as it came, but for bytes that a URL cannot have.
fn push_query(query: &str, into: &mut String) {
    push_encoded(query, into, |it| it.is_ascii_graphic() && !b"\"<>#\\^`{|}".contains(&it));
}

/// Puts in a decoded text, encoded for where it stands.
fn push_decoded(text: &str, part: UrlPart, slashes: EncodedSlash, into: &mut String) {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-._~!$'()*,/:;@".contains(&it);
    let is_plain_in_path = |it: u8| is_plain(it) || b"&+=".contains(&it);
    let mut rest = text;
    while slashes == EncodedSlash::Keep
        && let Some(at) = rest.find("%2F").into_iter().chain(rest.find("%5C")).min()
    {
        let (before, behind) = rest.split_at(at);
        push_decoded(before, part, EncodedSlash::Refuse, into);
        into.push_str(&behind[..3]);
        rest = &behind[3..];
    }
    match part {
        UrlPart::Path => push_encoded(rest, into, is_plain_in_path),
        UrlPart::Query => push_encoded(rest, into, is_plain),
    }
}

fn push_encoded(text: &str, into: &mut String, is_plain: impl Fn(u8) -> bool) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if is_plain(byte) {
            into.push(char::from(byte));
        } else {
            into.push('%');
            into.push(char::from(DIGITS[usize::from(byte >> 4)]));
            into.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests;
