//! Matchers of a Caddyfile, as conditions of routes.

use super::tree::CaddyDirective;
use import_routes::flow::TestConjunction;
use import_routes::path_test::PathTest;
use import_routes::place::{HostTest, RequestTest, ValueTest};
use import_routes::regex_words::{LetterCase, ReadExpression, read};
use std::collections::{BTreeMap, BTreeSet};
use vocab::Network;

/// Ways of one matcher.
const WAYS_MAX: usize = 64;

/// Matchers of a site by name, and how paths are compared in it.
#[derive(Clone, Debug, Default)]
pub(super) struct SiteMatchers {
    pub(super) named: BTreeMap<String, CaddyDirective>,
    /// True where case must not matter, since paths are guarded.
    pub(super) folds_case: bool,
    pub(super) listen: Vec<String>,
}

/// One of these holds, or why that cannot be asked; all requests where there is no matcher.
pub(super) type FoundMatcher = Result<Vec<TestConjunction>, &'static str>;

impl SiteMatchers {
    /// The matcher that a directive's first argument is, and the arguments behind it.
    pub(super) fn of<'d>(
        &self,
        args: &'d [String],
        base: &str,
    ) -> (Option<FoundMatcher>, &'d [String]) {
        match args.split_first() {
            Some((first, rest)) if first == "*" => (None, rest),
            Some((first, rest)) if first.starts_with('/') => {
                (Some(Ok(TestConjunction::one(self.path(first, base)))), rest)
            }
            Some((first, rest)) if first.starts_with('@') => {
                let found = match self.named.get(first) {
                    Some(directive) => self.set(directive, base),
                    None => Err("there is no such matcher"),
                };
                (Some(found), rest)
            }
            _ => (None, args),
        }
    }

    /// Length of the path by which directives of one name are sorted.
    pub(super) fn rank(&self, directive: &CaddyDirective) -> (u8, std::cmp::Reverse<usize>) {
        match directive.args.first().map(String::as_str) {
            Some(path) if path.starts_with('/') => (0, std::cmp::Reverse(path.len())),
            Some(name) if name.starts_with('@') => {
                let named = self.named.get(name);
                let only = named
                    .filter(|it| it.block.is_empty() && it.arg(0) == "path" && it.args.len() == 2);
                match only {
                    Some(path) => (0, std::cmp::Reverse(path.arg(1).len())),
                    None => (1, std::cmp::Reverse(0)),
                }
            }
            _ => (2, std::cmp::Reverse(0)),
        }
    }

    /// The expression for paths whose groups are called `name`; of no name, the only one.
    pub(super) fn expression_of(&self, name: &str, base: &str) -> Option<String> {
        let mut found = Vec::new();
        for (matcher, directive) in &self.named {
            let of_line = (directive.arg(0) == "path_regexp").then(|| &directive.args[1..]);
            let of_block = directive.block.iter().filter(|it| it.name == "path_regexp");
            for args in of_line.into_iter().chain(of_block.map(|it| it.args.as_slice())) {
                let (own, text) = match args {
                    [text] => (matcher.trim_start_matches('@'), text),
                    [own, text] => (own.as_str(), text),
                    _ => continue,
                };
                if name.is_empty() || own == name {
                    found.push(text);
                }
            }
        }
        let [text] = found.as_slice() else { return None };
        let text = expression(text).ok()?;
        if base.is_empty() {
            return Some(text);
        }
        Some(format!("^{}{}", regex::escape(base), text.strip_prefix('^')?))
    }

    fn path(&self, text: &str, base: &str) -> RequestTest {
        let whole = format!("{base}{text}");
        let has_letters = text.chars().any(char::is_alphabetic);
        let folds = self.folds_case && has_letters;
        let test = match text.matches('*').count() {
            0 if !folds => PathTest::Exact(whole),
            1 if text.ends_with('*') && text.starts_with('/') && !folds => {
                PathTest::Prefix(whole.trim_end_matches('*').into())
            }
            _ => {
                let flags = if folds { "(?i)" } else { "" };
                let trimmed = text.trim_matches('*');
                let base = regex::escape(base);
                let text = if trimmed.contains('*') {
                    // Such a star stands within one segment.
                    let parts: Vec<String> = text.split('*').map(regex::escape).collect();
                    format!("{flags}^{base}{}$", parts.join("[^/]*"))
                } else {
                    let begin = match (text.starts_with('*'), base.is_empty()) {
                        (true, true) => String::new(),
                        (true, false) => format!("^{base}/.*"),
                        (false, _) => format!("^{base}"),
                    };
                    let end = if text.ends_with('*') { "" } else { "$" };
                    format!("{flags}{begin}{}{end}", regex::escape(trimmed))
                };
                PathTest::Matching(text)
            }
        };
        RequestTest::Path(test)
    }

    /// All that a named matcher asks.
    fn set(&self, directive: &CaddyDirective, base: &str) -> FoundMatcher {
        let inline;
        let asked: &[CaddyDirective] = if directive.block.is_empty() {
            let Some((name, args)) = directive.args.split_first() else {
                return Err("a matcher asks nothing");
            };
            let (name, args) = if name.starts_with('`') || name.contains(' ') {
                ("expression".to_owned(), args)
            } else {
                (name.clone(), args)
            };
            inline = [CaddyDirective { name, args: args.to_vec(), ..directive.clone() }];
            &inline
        } else {
            &directive.block
        };
        let mut ways = vec![TestConjunction::default()];
        for one in asked {
            if one.name == "not" {
                let inner = match one.args.split_first() {
                    Some((name, args)) => {
                        let block = Vec::new();
                        let (name, args) = (name.clone(), args.to_vec());
                        vec![CaddyDirective { name, args, block, row: one.row }]
                    }
                    None => one.block.clone(),
                };
                let [inner] = inner.as_slice() else {
                    return Err("a matcher that is not several things has no counterpart");
                };
                let tests = self.tests(inner, base)?;
                for way in &mut ways {
                    way.none.extend(tests.iter().cloned());
                }
                continue;
            }
            let tests = self.tests(one, base)?;
            ways = TestConjunction::with_one_of(&ways, &tests);
            if ways.len() > WAYS_MAX {
                return Err("the matcher has too many ways");
            }
        }
        Ok(ways)
    }

    /// One of these.
    fn tests(&self, one: &CaddyDirective, base: &str) -> Result<Vec<RequestTest>, &'static str> {
        let value = |text: &str| match text.split('*').collect::<Vec<_>>().as_slice() {
            ["", ""] => ValueTest::Any,
            [exact] => ValueTest::Exact((*exact).to_owned()),
            parts => {
                let parts: Vec<String> = parts.iter().map(|it| regex::escape(it)).collect();
                ValueTest::Matching(format!("^{}$", parts.join(".*")))
            }
        };
        Ok(match one.name.as_str() {
            "path" => one.args.iter().map(|it| self.path(it, base)).collect(),
            "path_regexp" => {
                let text = one.args.last().ok_or("a matcher has no expression")?;
                let text = expression(text)?;
                if !base.is_empty() {
                    let rest = text.strip_prefix('^').ok_or("an expression within a prefix")?;
                    let text = format!("^{}{rest}", regex::escape(base));
                    return Ok(vec![RequestTest::Path(PathTest::Matching(text))]);
                }
                vec![RequestTest::Path(PathTest::Matching(text))]
            }
            "host" => one.args.iter().map(|it| RequestTest::Host(host(it))).collect(),
            "method" => {
                let methods: BTreeSet<String> =
                    one.args.iter().map(|it| it.to_ascii_uppercase()).collect();
                vec![RequestTest::Methods(methods)]
            }
            "header" => {
                let (name, values) = one.args.split_first().ok_or("a matcher names no field")?;
                if name.starts_with('!') {
                    return Err("a field that is not there cannot be asked for");
                }
                let name = name.to_ascii_lowercase();
                if values.is_empty() {
                    vec![RequestTest::Header(name, ValueTest::Any)]
                } else {
                    values.iter().map(|it| RequestTest::Header(name.clone(), value(it))).collect()
                }
            }
            "header_regexp" => {
                let at = one.args.len().checked_sub(2).ok_or("a matcher has no expression")?;
                let text = expression(one.arg(at + 1))?;
                let name = one.arg(at).to_ascii_lowercase();
                vec![RequestTest::Header(name, ValueTest::Matching(text))]
            }
            "query" => one
                .args
                .iter()
                .map(|it| {
                    let (name, text) = it.split_once('=').unwrap_or((it, "*"));
                    RequestTest::Query(name.into(), value(text))
                })
                .collect(),
            "remote_ip" | "client_ip" => vec![RequestTest::Clients(networks(&one.args)?)],
            "protocol" => {
                let scheme = format!("{}:", one.arg(0));
                let found: BTreeSet<String> =
                    self.listen.iter().filter(|it| it.starts_with(&scheme)).cloned().collect();
                match (one.arg(0), found.is_empty()) {
                    ("http" | "https", true) => vec![RequestTest::Never],
                    ("http" | "https", false) => vec![RequestTest::Listen(found)],
                    _ => return Err("routes do not ask for the version of HTTP"),
                }
            }
            _ => return Err("routes cannot ask for this"),
        })
    }
}

/// The networks that Caddy calls `private_ranges`.
pub(super) const PRIVATE: [&str; 6] =
    ["192.168.0.0/16", "172.16.0.0/12", "10.0.0.0/8", "127.0.0.1/8", "fd00::/8", "::1"];

fn networks(texts: &[String]) -> Result<Vec<Network>, &'static str> {
    let mut networks: Vec<Network> = Vec::new();
    for text in texts {
        match text.as_str() {
            "private_ranges" => {
                networks.extend(PRIVATE.iter().filter_map(|it| it.parse::<Network>().ok()));
            }
            "forwarded" => return Err("what a client claims of its address"),
            text => networks.push(text.parse().map_err(|_| "this is no network")?),
        }
    }
    Ok(networks)
}

fn expression(text: &str) -> Result<String, &'static str> {
    match read(text, LetterCase::Counts) {
        ReadExpression::Same(text) => Ok(text),
        ReadExpression::Wider(_) | ReadExpression::Unreadable => {
            Err("an expression has no counterpart")
        }
    }
}

/// A host with stars.
pub(super) fn host(text: &str) -> HostTest {
    let text = text.to_ascii_lowercase();
    match text.strip_prefix("*.") {
        // A star of Caddy's is one label.
        Some(rest) => HostTest::Matching(format!(r"^[^.]+\.{}$", regex::escape(rest))),
        None if text.contains('*') => {
            let parts: Vec<String> = text.split('*').map(regex::escape).collect();
            HostTest::Matching(format!("^{}$", parts.join("[^.]+")))
        }
        None => HostTest::Exact(text),
    }
}
