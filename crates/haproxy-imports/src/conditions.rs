//! Conditions of `if` and `unless`: access lists by name or in braces, as conditions of routes.

use super::lines::HaproxyLine;
use import_report::ImportSurroundings;
use import_routes::flow::TestConjunction;
use import_routes::path_test::PathTest;
use import_routes::place::{HostTest, RequestTest, ValueTest};
use import_routes::regex_words::{LetterCase, ReadExpression, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use vocab::Network;

/// Conjunctions that one condition comes to.
const CONJUNCTIONS_MAX: usize = 64;
/// Lines of a file of patterns.
const PATTERNS_MAX: usize = 256;

/// A condition as routes can ask it.
#[derive(Clone, Debug)]
pub(super) enum FoundCondition {
    /// One of these.
    Tests(Vec<TestConjunction>),
    /// A name and a password of a list, where one of `when` holds.
    Password { list: String, groups: Vec<String>, is_not: bool, when: Vec<TestConjunction> },
    /// The requests that a client has made: more than so many.
    Rate(u64),
    /// The state of servers or of the process, which clients do not choose.
    OfServers,
    /// No route can ask it.
    Unsayable(&'static str),
}

/// One access list: one of these.
#[derive(Clone, Debug)]
enum AccessList {
    Tests(Vec<RequestTest>),
    Password { list: String, groups: Vec<String> },
    Rate(u64),
    OfServers,
    Unsayable(&'static str),
}

/// Access lists of a proxy by name.
pub(super) struct AccessLists<'a> {
    lists: BTreeMap<String, AccessList>,
    listen: &'a [String],
    around: &'a dyn ImportSurroundings,
}

impl<'a> AccessLists<'a> {
    pub(super) fn of(
        lines: &[HaproxyLine],
        listen: &'a [String],
        around: &'a dyn ImportSurroundings,
    ) -> Self {
        let mut lists = Self { lists: BTreeMap::new(), listen, around };
        for line in lines.iter().filter(|it| it.word(0) == "acl") {
            let list = lists.read(line.from(2));
            let name = line.word(1).to_owned();
            let merged = match (lists.lists.remove(&name), list) {
                (Some(AccessList::Tests(mut tests)), AccessList::Tests(more)) => {
                    tests.extend(more);
                    AccessList::Tests(tests)
                }
                (None, list) => list,
                (Some(_), _) => AccessList::Unsayable("its lists do not go together"),
            };
            lists.lists.insert(name, merged);
        }
        lists
    }

    /// Reads `if` or `unless`, and the condition behind it.
    pub(super) fn condition(&self, words: &[String]) -> FoundCondition {
        let Some((first, words)) = words.split_first() else {
            return FoundCondition::Unsayable("the condition is empty");
        };
        let signs = words.iter().flat_map(|word| {
            let rest = word.trim_start_matches('!');
            let nots = std::iter::repeat_n("!", word.len() - rest.len());
            nots.chain((!rest.is_empty()).then_some(rest))
        });
        let words: Vec<String> = signs.map(str::to_owned).collect();
        let mut sums: Vec<Vec<(bool, AccessList)>> = vec![Vec::new()];
        let (mut at, mut is_not) = (0, false);
        while at < words.len() {
            let list = match words[at].as_str() {
                "or" | "||" => {
                    sums.push(Vec::new());
                    None
                }
                "and" | "&&" => None,
                "!" => {
                    is_not = !is_not;
                    None
                }
                "{" => {
                    let end = words[at..].iter().position(|it| it == "}");
                    let Some(end) = end else {
                        return FoundCondition::Unsayable("a brace is not closed");
                    };
                    let inside = at + 1..at + end;
                    at += end;
                    Some(self.read(&words[inside]))
                }
                name => Some(self.named(name)),
            };
            if let (Some(list), Some(sum)) = (list, sums.last_mut()) {
                sum.push((is_not, list));
                is_not = false;
            }
            at += 1;
        }
        let found = joined(&sums);
        if first == "unless" { negated(found) } else { found }
    }

    fn named(&self, name: &str) -> AccessList {
        if let Some(list) = self.lists.get(name) {
            return list.clone();
        }
        let methods = |names: &[&str]| {
            let names = names.iter().map(|it| (*it).to_owned()).collect();
            AccessList::Tests(vec![RequestTest::Methods(names)])
        };
        match name {
            "TRUE" | "HTTP" => AccessList::Tests(vec![RequestTest::Path(PathTest::default())]),
            "FALSE" => AccessList::Tests(vec![RequestTest::Never]),
            "METH_GET" => methods(&["GET", "HEAD"]),
            "METH_HEAD" => methods(&["HEAD"]),
            "METH_POST" => methods(&["POST"]),
            "METH_PUT" => methods(&["PUT"]),
            "METH_DELETE" => methods(&["DELETE"]),
            "METH_OPTIONS" => methods(&["OPTIONS"]),
            "METH_TRACE" => methods(&["TRACE"]),
            "LOCALHOST" => match "127.0.0.0/8".parse() {
                Ok(network) => AccessList::Tests(vec![RequestTest::Clients(vec![network])]),
                Err(_) => AccessList::Unsayable("this is no network"),
            },
            _ => AccessList::Unsayable("there is no such access list"),
        }
    }

    /// Reads what is asked, flags and values.
    fn read(&self, words: &[String]) -> AccessList {
        let Some(fetch) = words.first() else {
            return AccessList::Unsayable("an access list asks nothing");
        };
        let (mut case, mut method, mut values) = (LetterCase::Counts, String::new(), Vec::new());
        let mut at = 1;
        let mut is_flag = true;
        while at < words.len() {
            let word = words[at].as_str();
            match word {
                "-i" if is_flag => case = LetterCase::Ignored,
                "-m" if is_flag => {
                    at += 1;
                    method = words.get(at).cloned().unwrap_or_default();
                }
                "-f" if is_flag => {
                    at += 1;
                    match self.file(words.get(at).map_or("", String::as_str)) {
                        Some(lines) => values.extend(lines),
                        None => return AccessList::Unsayable("a file of patterns cannot be read"),
                    }
                }
                "-n" if is_flag => {}
                "-M" | "-u" if is_flag => return AccessList::Unsayable("a flag is not known"),
                "--" if is_flag => is_flag = false,
                _ => {
                    is_flag = false;
                    values.push(word.to_owned());
                }
            }
            at += 1;
        }
        let (name, converters) = fetch.split_once(',').unwrap_or((fetch, ""));
        for converter in converters.split(',').filter(|it| !it.is_empty()) {
            match converter {
                "lower" => case = LetterCase::Ignored,
                "url_dec" => {}
                _ => return AccessList::Unsayable("a converter has no counterpart"),
            }
        }
        let (name, argument) = match name.split_once('(') {
            Some((name, argument)) => (name, argument.trim_end_matches(')')),
            None => (name, ""),
        };
        self.fetched(name, argument, &AskedValues { case, method, values })
    }

    fn file(&self, path: &str) -> Option<Vec<String>> {
        let text = self.around.read(Path::new(path)).ok()?;
        let lines = text.lines().map(str::trim).filter(|it| !it.is_empty() && !it.starts_with('#'));
        let lines: Vec<String> = lines.map(str::to_owned).take(PATTERNS_MAX + 1).collect();
        (lines.len() <= PATTERNS_MAX).then_some(lines)
    }

    fn fetched(&self, name: &str, argument: &str, asked: &AskedValues) -> AccessList {
        let name = name.strip_prefix("req.").unwrap_or(name);
        let (base, suffix) = match name.rsplit_once('_') {
            Some((base, suffix))
                if ["beg", "end", "reg", "sub", "dir", "dom", "str"].contains(&suffix) =>
            {
                (base, suffix)
            }
            _ => (name, asked.method.as_str()),
        };
        match base {
            "path" | "url" | "pathq" if base == "path" || asked.are_paths() => {
                asked.tests(suffix, |test| match test {
                    ValueTest::Exact(path) => RequestTest::Path(PathTest::Exact(path)),
                    ValueTest::Matching(text) => RequestTest::Path(plain_prefix(text)),
                    ValueTest::Any => RequestTest::Path(PathTest::default()),
                })
            }
            "hdr" | "fhdr" | "shdr" if argument.split(',').next() == Some("host") => {
                asked.tests(suffix, |test| match test {
                    ValueTest::Exact(host) => {
                        let host = host.split(':').next().unwrap_or_default();
                        RequestTest::Host(HostTest::Exact(host.to_ascii_lowercase()))
                    }
                    ValueTest::Matching(text) => RequestTest::Host(HostTest::Matching(text)),
                    ValueTest::Any => RequestTest::Host(HostTest::Matching(".".into())),
                })
            }
            "hdr" | "fhdr" | "shdr" => {
                let name = argument.split(',').next().unwrap_or_default().to_ascii_lowercase();
                asked.tests(suffix, |test| RequestTest::Header(name.clone(), test))
            }
            "url_param" | "urlp" => {
                let name = argument.split(',').next().unwrap_or_default().to_owned();
                asked.tests(suffix, |test| RequestTest::Query(name.clone(), test))
            }
            "cook" => asked.tests(suffix, |test| cookie(argument, &test)),
            "method" => {
                let names: BTreeSet<String> = asked.values.iter().cloned().collect();
                AccessList::Tests(vec![RequestTest::Methods(names)])
            }
            "src" => asked.networks(),
            "ssl_fc" | "fc_ssl" => self.listeners(|listener| listener.starts_with("https:")),
            "dst_port" => self
                .listeners(|it| asked.values.iter().any(|port| it.ends_with(&format!(":{port}")))),
            "http_auth" => AccessList::Password { list: argument.into(), groups: Vec::new() },
            "http_auth_group" => {
                AccessList::Password { list: argument.into(), groups: asked.values.clone() }
            }
            "always_true" => AccessList::Tests(vec![RequestTest::Path(PathTest::default())]),
            "always_false" => AccessList::Tests(vec![RequestTest::Never]),
            _ if name.starts_with("sc") || name.starts_with("src_") => asked.rate(),
            "nbsrv" | "be_conn" | "fe_conn" | "avg_queue" | "queue" | "connslots" | "srv_is_up"
            | "rand" | "be_sess_rate" | "fe_sess_rate" | "stopping" | "fe_req_rate" => {
                AccessList::OfServers
            }
            _ => AccessList::Unsayable("routes cannot ask for this"),
        }
    }

    fn listeners(&self, fits: impl Fn(&str) -> bool) -> AccessList {
        let found: BTreeSet<String> = self.listen.iter().filter(|it| fits(it)).cloned().collect();
        let test = if found.is_empty() { RequestTest::Never } else { RequestTest::Listen(found) };
        AccessList::Tests(vec![test])
    }
}

/// Flags and values of an access list.
struct AskedValues {
    case: LetterCase,
    method: String,
    values: Vec<String>,
}

impl AskedValues {
    /// True if all values begin as paths do: a URL is a path then.
    fn are_paths(&self) -> bool {
        !self.values.is_empty()
            && self
                .values
                .iter()
                .all(|it| it.trim_start_matches('^').starts_with('/') && !it.contains('?'))
    }

    /// A test for each value.
    fn tests(&self, method: &str, make: impl Fn(ValueTest) -> RequestTest) -> AccessList {
        if method == "found" {
            return AccessList::Tests(vec![make(ValueTest::Any)]);
        }
        let mut tests = Vec::new();
        let flags = if self.case == LetterCase::Ignored { "(?i)" } else { "" };
        for value in &self.values {
            let own = regex::escape(value);
            let text = match method {
                "" | "str" if flags.is_empty() => {
                    tests.push(make(ValueTest::Exact(value.clone())));
                    continue;
                }
                "" | "str" => format!("{flags}^{own}$"),
                "beg" => format!("{flags}^{own}"),
                "end" => format!("{flags}{own}$"),
                "sub" => format!("{flags}{own}"),
                "dir" => {
                    format!("{flags}(?:^|/){}(?:[/?]|$)", regex::escape(value.trim_matches('/')))
                }
                "dom" => {
                    format!(
                        "{flags}(?:^|[./:]){}(?:[./:?]|$)",
                        regex::escape(value.trim_matches('.'))
                    )
                }
                "reg" => match read(value, self.case) {
                    ReadExpression::Same(text) => text,
                    ReadExpression::Wider(_) | ReadExpression::Unreadable => {
                        return AccessList::Unsayable("an expression has no counterpart");
                    }
                },
                _ => return AccessList::Unsayable("a way of comparing has no counterpart"),
            };
            match ValueTest::matching(&text) {
                Some(test) => tests.push(make(test)),
                None => return AccessList::Unsayable("an expression has no counterpart"),
            }
        }
        if tests.is_empty() {
            AccessList::Unsayable("it names no value")
        } else {
            AccessList::Tests(tests)
        }
    }

    fn networks(&self) -> AccessList {
        let networks: Option<Vec<Network>> = self.values.iter().map(|it| it.parse().ok()).collect();
        match networks {
            Some(networks) if !networks.is_empty() => {
                AccessList::Tests(vec![RequestTest::Clients(networks)])
            }
            _ => AccessList::Unsayable("a value is no network"),
        }
    }

    /// `gt 100` of a counter.
    fn rate(&self) -> AccessList {
        match self.values.as_slice() {
            [word, count] if word == "gt" || word == "ge" => match count.parse() {
                Ok(count) => AccessList::Rate(count),
                Err(_) => AccessList::Unsayable("a counter is compared with no number"),
            },
            _ => AccessList::Rate(0),
        }
    }
}

/// `^/a` is a prefix, said shorter.
fn plain_prefix(text: String) -> PathTest {
    let Some(rest) = text.strip_prefix('^') else { return PathTest::Matching(text) };
    let plain = rest.replace("\\-", "-").replace("\\.", ".");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    let unescaped = regex::escape(&plain) == rest;
    if unescaped && plain.starts_with('/') && plain.chars().all(is_plain) {
        PathTest::Prefix(plain)
    } else {
        PathTest::Matching(text)
    }
}

fn cookie(name: &str, test: &ValueTest) -> RequestTest {
    let name = regex::escape(name);
    let value = match test {
        ValueTest::Any => String::new(),
        ValueTest::Exact(value) => format!("{}(?:;|$)", regex::escape(value)),
        ValueTest::Matching(_) => {
            return RequestTest::Unsayable("an expression for a cookie has no counterpart");
        }
    };
    RequestTest::Header("cookie".into(), ValueTest::Matching(format!("(?:^|;\\s*){name}={value}")))
}

/// One of several conjunctions of lists.
fn joined(sums: &[Vec<(bool, AccessList)>]) -> FoundCondition {
    let (mut found, mut password) = (Vec::new(), None);
    for terms in sums {
        let mut ways = vec![TestConjunction::default()];
        for (is_not, list) in terms {
            match list {
                AccessList::Tests(tests) if *is_not => {
                    for way in &mut ways {
                        way.none.extend(tests.iter().cloned());
                    }
                }
                AccessList::Tests(tests) => ways = TestConjunction::with_one_of(&ways, tests),
                AccessList::Password { list, groups } if sums.len() == 1 && password.is_none() => {
                    password = Some((list.clone(), groups.clone(), *is_not));
                }
                AccessList::Password { .. } => {
                    return FoundCondition::Unsayable("a password is asked for beside others");
                }
                AccessList::Rate(count) => return FoundCondition::Rate(*count),
                AccessList::OfServers => return FoundCondition::OfServers,
                AccessList::Unsayable(why) => return FoundCondition::Unsayable(why),
            }
            if ways.len() > CONJUNCTIONS_MAX {
                return FoundCondition::Unsayable("the condition has too many ways");
            }
        }
        found.extend(ways);
    }
    match password {
        Some((list, groups, is_not)) => {
            FoundCondition::Password { list, groups, is_not, when: found }
        }
        None => FoundCondition::Tests(found),
    }
}

fn negated(found: FoundCondition) -> FoundCondition {
    match found {
        FoundCondition::Password { list, groups, is_not, when }
            if when == [TestConjunction::default()] =>
        {
            FoundCondition::Password { list, groups, is_not: !is_not, when }
        }
        FoundCondition::Password { .. } => {
            FoundCondition::Unsayable("a password is asked for beside others")
        }
        FoundCondition::Tests(sums) => {
            // None of the sums: of each, one thing that is not so.
            let mut ways = vec![TestConjunction::default()];
            for sum in sums {
                let mut longer = Vec::new();
                for way in &ways {
                    for test in &sum.all {
                        let mut way = way.clone();
                        way.none.push(test.clone());
                        longer.push(way);
                    }
                    for test in &sum.none {
                        let mut way = way.clone();
                        way.all.push(test.clone());
                        longer.push(way);
                    }
                }
                ways = longer;
                if ways.len() > CONJUNCTIONS_MAX {
                    return FoundCondition::Unsayable("the condition has too many ways");
                }
            }
            FoundCondition::Tests(ways)
        }
        it => it,
    }
}
