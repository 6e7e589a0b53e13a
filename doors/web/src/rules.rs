//! A site's rules about header fields, `Cache-Control` and redirects, compiled.
//!
//! What is wrong with them is said once, when they are compiled; applying them cannot fail. They
//! see decoded paths, so that no spelling of a URL slips past. Called by `settings`, `site` and
//! `request`.

use crate::path::encoded;
use crate::pattern::PathPattern;
use crate::settings::SiteSettings;
use crate::settings::written::{HeaderRule, SiteRedirectSettings};
use http::StatusCode;
use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, DATE, HeaderMap, HeaderName,
    HeaderValue, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use route_matching::{
    GroupNames, LocationFacts, LocationGroups, LocationTemplate, MatchExpression, NoLocation,
};
use std::net::IpAddr;
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
    from: RedirectPaths,
    to: LocationTemplate,
    status: StatusCode,
}

/// Paths that a redirect is for.
#[derive(Debug)]
enum RedirectPaths {
    Pattern(PathPattern),
    Matching(MatchExpression),
}

/// A request that may be redirected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedirectRequest<'r> {
    pub(crate) client: IpAddr,
    /// Empty where it names none.
    pub(crate) host: &'r str,
    pub(crate) scheme: &'r str,
    /// Decoded.
    pub(crate) path: &'r str,
    pub(crate) query: Option<&'r str>,
}

/// Another place for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RedirectPlace {
    /// A `Location`, which has the query only if the rule says so.
    pub(crate) to: String,
    pub(crate) status: StatusCode,
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

    /// True if a path is elsewhere.
    pub(crate) fn redirects(&self, path: &str) -> bool {
        self.redirects.iter().any(|rule| rule.from.groups(path).is_some())
    }

    /// Where a request is sent, by the first redirect that matches.
    pub(crate) fn redirect(
        &self,
        request: &RedirectRequest<'_>,
    ) -> Option<Result<RedirectPlace, NoLocation>> {
        self.redirects.iter().find_map(|rule| {
            let groups = rule.from.groups(request.path)?;
            Some(rule.elsewhere(request, &groups))
        })
    }
}

impl RedirectPaths {
    /// Reads `/old/*` or `~expression`.
    fn parse(text: &str) -> Result<Self, Complaint> {
        if let Some(expression) = text.strip_prefix('~') {
            let made = MatchExpression::compile(expression);
            return made.map(Self::Matching).map_err(|why| Complaint::new("from", why.to_string()));
        }
        let from =
            PathPattern::parse(text).map_err(|why| Complaint::new("from", why.to_string()))?;
        if !from.is_of_paths() {
            let complaint = Complaint::new("from", format!("{text:?} is no path"));
            return Err(complaint.remedy("begin with a slash: /old/*"));
        }
        Ok(Self::Pattern(from))
    }

    fn group_names(&self) -> GroupNames {
        match self {
            Self::Pattern(pattern) => GroupNames::of_stars(pattern.stars()),
            Self::Matching(expression) => GroupNames::of_expression(expression),
        }
    }

    /// Groups of a path, decoded; none where it is not one of them.
    fn groups<'p>(&self, path: &'p str) -> Option<Vec<&'p str>> {
        match self {
            Self::Pattern(pattern) => {
                let mut stars = pattern.captures(path)?;
                stars.insert(0, path);
                Some(stars)
            }
            Self::Matching(expression) => expression.groups(path),
        }
    }
}

impl SiteRedirect {
    fn elsewhere(
        &self,
        request: &RedirectRequest<'_>,
        groups: &[&str],
    ) -> Result<RedirectPlace, NoLocation> {
        let path = encoded(request.path.as_bytes()).to_string();
        let facts = LocationFacts {
            client: request.client,
            host: request.host,
            scheme: request.scheme,
            path: &path,
            query: request.query,
            path_groups: groups,
            host_groups: &[],
        };
        if request.host.is_empty() && self.to.uses_host() {
            return Err(NoLocation::Host);
        }
        let to = self.to.location(&facts)?;
        let to = to.to_str().map_err(|_| NoLocation::Bytes)?.to_owned();
        Ok(RedirectPlace { to, status: self.status })
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
    let from = RedirectPaths::parse(&rule.from)?;
    let status = match rule.status {
        301 | 302 | 303 | 307 | 308 => StatusCode::from_u16(rule.status).ok(),
        _ => None,
    };
    let status = status.ok_or_else(|| {
        Complaint::new("status", format!("{} is no redirect", rule.status))
            .remedy("write 301, 302, 303, 307 or 308")
    })?;
    let groups = LocationGroups { path: from.group_names(), ..LocationGroups::default() };
    let to = LocationTemplate::parse(&rule.to, &groups)
        .map_err(|why| Complaint::new("to", why.to_string()).remedy(why.remedy()))?;
    let redirect = SiteRedirect { from, to, status };
    if redirect.leads_to_itself(&rule.from) {
        return Err(Complaint::new("to", "this leads to itself, over and over")
            .remedy("aim outside of what `from` matches"));
    }
    Ok(redirect)
}

impl SiteRedirect {
    /// True if a client that follows it is certain to be sent on again: tried with a path of the
    /// pattern.
    fn leads_to_itself(&self, from: &str) -> bool {
        let RedirectPaths::Pattern(pattern) = &self.from else { return false };
        if !self.to.stays() {
            return false;
        }
        let path = from.replace('*', "x");
        let request = RedirectRequest {
            client: IpAddr::from([192, 0, 2, 1]),
            host: "host.example",
            scheme: "https",
            path: &path,
            query: None,
        };
        let tried = self.from.groups(&path).map(|groups| self.elsewhere(&request, &groups));
        let Some(Ok(found)) = tried else { return false };
        pattern.matches(found.to.split(['?', '#']).next().unwrap_or(""))
    }
}

#[cfg(test)]
mod tests;
