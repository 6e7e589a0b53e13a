//! A site's rules about header fields, `Cache-Control` and redirects, compiled.
//!
//! What is wrong with them is said once, when they are compiled; applying them cannot fail. They
//! see decoded paths, so that no spelling of a URL slips past. Called by `settings`, `site` and
//! `request`.

use crate::path::encoded;
use crate::pattern::PathPattern;
use crate::settings::SiteSettings;
use crate::settings::written::{HeaderRule, SiteRedirectSettings};
use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, DATE, HeaderMap, HeaderName,
    HeaderValue, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{StatusCode, Uri};
use std::fmt::Write as _;
use vocab::Complaint;

/// Rules of one sort: each costs a comparison a request.
const RULES_MAX: usize = 256;
/// Fields of a message's framing: whoever changes them breaks the message.
const FRAMING: [HeaderName; 8] = [
    CONNECTION,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_RANGE,
    DATE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// All rules of a site.
#[derive(Debug, Default)]
pub(crate) struct SiteRules {
    headers: Vec<AddedFields>,
    cache: Vec<(PathPattern, HeaderValue)>,
    redirects: Vec<SiteRedirect>,
}

#[derive(Debug)]
struct AddedFields {
    pattern: PathPattern,
    set: Vec<(HeaderName, HeaderValue)>,
    remove: Vec<HeaderName>,
}

#[derive(Debug)]
struct SiteRedirect {
    from: PathPattern,
    to: Vec<RedirectPiece>,
    status: StatusCode,
}

/// A piece of a redirect's aim.
#[derive(Debug)]
enum RedirectPiece {
    Text(Box<str>),
    /// What this star stands for, from 0.
    Star(usize),
}

impl SiteRules {
    /// Compiles what can be, and complains about the rest with paths relative to the site.
    pub(crate) fn compile(settings: &SiteSettings) -> (Self, Vec<Complaint>) {
        let (mut rules, mut complaints) = (Self::default(), Vec::new());
        for (name, len) in [
            ("headers", settings.headers.len()),
            ("cache_control", settings.cache_control.len()),
            ("redirects", settings.redirects.len()),
        ] {
            if len > RULES_MAX {
                let message = format!("{len} rules are too many: at most {RULES_MAX}");
                complaints.push(Complaint::new(name, message).remedy("use patterns with stars"));
            }
        }
        for (index, rule) in settings.headers.iter().enumerate() {
            match fields(rule) {
                Ok(fields) => rules.headers.push(fields),
                Err(wrong) => complaints.extend(at(wrong, &format!("headers.{index}"))),
            }
        }
        for (index, rule) in settings.cache_control.iter().enumerate() {
            let value = HeaderValue::from_str(&rule.value).ok().filter(|it| !it.is_empty());
            match (pattern(&rule.pattern), value) {
                (Ok(pattern), Some(value)) => rules.cache.push((pattern, value)),
                (pattern, value) => {
                    let no_value = Complaint::new("value", "this is no value for Cache-Control")
                        .remedy("write value: \"public, max-age=3600\"");
                    let wrong =
                        pattern.err().into_iter().chain(value.is_none().then_some(no_value));
                    complaints.extend(at(wrong, &format!("cache_control.{index}")));
                }
            }
        }
        for (index, rule) in settings.redirects.iter().enumerate() {
            match parse_redirect(rule) {
                Ok(elsewhere) => rules.redirects.push(elsewhere),
                Err(wrong) => complaints.push(wrong.under(&format!("redirects.{index}"))),
            }
        }
        (rules, complaints)
    }

    /// Applies the header rules, first to last.
    pub(crate) fn apply_headers(&self, path: &str, headers: &mut HeaderMap) {
        for rule in self.headers.iter().filter(|rule| rule.pattern.matches(path)) {
            for name in &rule.remove {
                headers.remove(name);
            }
            for (name, value) in &rule.set {
                headers.insert(name, value.clone());
            }
        }
    }

    /// The `Cache-Control` of a file: the first rule that matches.
    pub(crate) fn cache_control(&self, path: &str) -> Option<&HeaderValue> {
        self.cache.iter().find(|(pattern, _)| pattern.matches(path)).map(|(_, value)| value)
    }

    /// Where a path is now, by the first redirect that matches: a `Location`, without the query.
    pub(crate) fn redirect(&self, path: &str) -> Option<(String, StatusCode)> {
        self.redirects.iter().find_map(|rule| {
            let stars = rule.from.captures(path)?;
            Some((location(&rule.to, &stars), rule.status))
        })
    }
}

fn at(wrong: impl IntoIterator<Item = Complaint>, place: &str) -> impl Iterator<Item = Complaint> {
    wrong.into_iter().map(move |complaint| complaint.under(place))
}

/// A pattern of `match`; absent means all.
fn pattern(text: &str) -> Result<PathPattern, Complaint> {
    PathPattern::parse(if text.is_empty() { "*" } else { text })
        .map_err(|why| Complaint::new("match", why.to_string()))
}

fn fields(rule: &HeaderRule) -> Result<AddedFields, Vec<Complaint>> {
    let mut complaints = Vec::new();
    let mut field_name = |place: String, text: &str| match HeaderName::from_bytes(text.as_bytes()) {
        Ok(name) if FRAMING.contains(&name) => {
            complaints.push(
                Complaint::new(place, format!("{text} belongs to the server: it frames answers"))
                    .remedy("leave it out"),
            );
            None
        }
        Ok(name) => Some(name),
        Err(_) => {
            complaints.push(Complaint::new(place, format!("{text:?} is no field name")));
            None
        }
    };
    let remove = rule.remove.iter().enumerate();
    let remove: Vec<HeaderName> =
        remove.filter_map(|(at, text)| field_name(format!("remove.{at}"), text)).collect();
    let names: Vec<_> = rule
        .set
        .iter()
        .filter_map(|(text, value)| Some((field_name(format!("set.{text}"), text)?, text, value)))
        .collect();
    let mut set = Vec::with_capacity(names.len());
    for (name, text, value) in names {
        if let Ok(value) = HeaderValue::from_str(value) {
            set.push((name, value));
        } else {
            let message = "a field's value is one line of visible ASCII";
            complaints.push(Complaint::new(format!("set.{text}"), message));
        }
    }
    if rule.set.is_empty() && rule.remove.is_empty() {
        complaints.push(Complaint::new("", "the rule does nothing").remedy("give set or remove"));
    }
    match pattern(&rule.pattern) {
        Ok(pattern) if complaints.is_empty() => return Ok(AddedFields { pattern, set, remove }),
        Ok(_) => {}
        Err(why) => complaints.push(why),
    }
    Err(complaints)
}

fn parse_redirect(rule: &SiteRedirectSettings) -> Result<SiteRedirect, Complaint> {
    let from =
        PathPattern::parse(&rule.from).map_err(|why| Complaint::new("from", why.to_string()))?;
    if !from.is_of_paths() {
        let complaint = Complaint::new("from", format!("{:?} is no path", rule.from));
        return Err(complaint.remedy("begin with a slash: /old/*"));
    }
    let status = match rule.status {
        301 | 302 | 303 | 307 | 308 => StatusCode::from_u16(rule.status).ok(),
        _ => None,
    };
    let status = status.ok_or_else(|| {
        Complaint::new("status", format!("{} is no redirect", rule.status))
            .remedy("write 301, 302, 303, 307 or 308")
    })?;
    let to = parse_parts(&rule.to, from.stars()).map_err(|why| Complaint::new("to", why))?;
    let examples = vec!["x"; from.stars()];
    let example = location(&to, &examples);
    if !is_valid_target(&rule.to, &example) {
        let message = format!("{:?} is neither a path nor a URL of http or https", rule.to);
        return Err(
            Complaint::new("to", message).remedy("write /new/$1 or https://host.example/$1")
        );
    }
    if example.starts_with('/') && from.matches(example.split(['?', '#']).next().unwrap_or("")) {
        return Err(Complaint::new("to", "this leads to itself, over and over")
            .remedy("aim outside of what `from` matches"));
    }
    Ok(SiteRedirect { from, to, status })
}

/// A path of this site, or a URL whose host no star can change.
fn is_valid_target(written: &str, example: &str) -> bool {
    if example.parse::<Uri>().is_err() || HeaderValue::from_str(example).is_err() {
        return false;
    }
    let rest = written.strip_prefix("https://").or_else(|| written.strip_prefix("http://"));
    match rest {
        // `$1` in the host would send clients wherever a URL says.
        Some(rest) => {
            let host = rest.split(['/', '?', '#']).next().unwrap_or("");
            !host.is_empty() && !host.contains('$')
        }
        // `//host` is another host, and `/$1` cannot become one: a star never begins with a slash
        // after a slash, for empty segments are gone before.
        None => written.starts_with('/') && !example.starts_with("//"),
    }
}

fn parse_parts(text: &str, stars: usize) -> Result<Vec<RedirectPiece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        if !before.is_empty() {
            pieces.push(RedirectPiece::Text(before.into()));
        }
        let digit = behind.chars().next().and_then(|it| it.to_digit(10));
        match digit {
            Some(number @ 1..=9) if number as usize <= stars => {
                pieces.push(RedirectPiece::Star(number as usize - 1));
                rest = &behind[1..];
            }
            _ => return Err(format!("there are {stars} stars: write $1 to ${stars}, or none")),
        }
    }
    pieces.push(RedirectPiece::Text(rest.into()));
    Ok(pieces)
}

/// A `Location`: what the stars stand for is encoded, so that it stays what it was, a piece of
/// path.
fn location(to: &[RedirectPiece], stars: &[&str]) -> String {
    to.iter().fold(String::new(), |mut whole, piece| {
        match piece {
            RedirectPiece::Text(text) => whole.push_str(text),
            RedirectPiece::Star(number) => {
                let star = stars.get(*number).copied().unwrap_or("");
                // A star that begins an absolute path must not begin another host.
                let star = if whole.ends_with('/') { star.trim_start_matches('/') } else { star };
                write!(whole, "{}", encoded(star.as_bytes())).expect("a String takes everything");
            }
        }
        whole
    })
}

#[cfg(test)]
mod tests;
