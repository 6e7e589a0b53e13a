//! Requests that a piece of a configuration is for: listener, host, path, method, fields, query and
//! client, as one route can say it.
//!
//! Two of them meet in what both are for; where no route can say that, it is told, and never
//! widened.

use crate::path_test::{Meeting, PathTest, is_expression};
use regex::Regex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use vocab::Network;

/// Hosts, in lower case without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostTest {
    /// This one.
    Exact(String),
    /// All below this one.
    Below(String),
    /// Hosts that the expression finds something in.
    Matching(String),
}

/// A value of a field or of the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueTest {
    /// Any value.
    Any,
    /// This one.
    Exact(String),
    /// Values that the expression finds something in.
    Matching(String),
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestTest {
    /// Requests that came in at one of these listeners.
    Listen(BTreeSet<String>),
    /// Requests for such a host.
    Host(HostTest),
    /// Requests for such a path.
    Path(PathTest),
    /// Requests with one of these methods.
    Methods(BTreeSet<String>),
    /// The name in lower case.
    Header(String, ValueTest),
    /// The query has such a value for the name.
    Query(String, ValueTest),
    /// The client is in one of these networks.
    Clients(Vec<Network>),
    /// No request.
    Never,
    /// Something that no route can ask, and why.
    Unsayable(&'static str),
}

/// All conditions of one route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestPlace {
    /// Listeners; none for any.
    pub listen: Option<BTreeSet<String>>,
    /// Hosts; none for any.
    pub host: Option<HostTest>,
    /// Paths.
    pub path: PathTest,
    /// Methods; none for any.
    pub methods: Option<BTreeSet<String>>,
    /// Values of fields, by names in lower case.
    pub headers: BTreeMap<String, ValueTest>,
    /// Values of the query.
    pub query: BTreeMap<String, ValueTest>,
    /// Networks of clients; none for any.
    pub clients: Option<Vec<Network>>,
}

/// Fields or names of a query of one route.
const CONDITIONS_MAX: usize = 16;

impl HostTest {
    /// True if `host` is one of them.
    pub fn is_for(&self, host: &str) -> bool {
        match self {
            Self::Exact(own) => own == host,
            Self::Below(own) => host.strip_suffix(own.as_str()).is_some_and(|it| it.ends_with('.')),
            Self::Matching(text) => Regex::new(text).is_ok_and(|it| it.is_match(host)),
        }
    }

    /// True if it is certain that it is for all that `other` is for.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Exact(host)) => self.is_for(host),
            (Self::Below(own), Self::Below(other)) => own == other || self.is_for(other),
            (_, _) => self == other,
        }
    }

    /// Hosts that both are for.
    fn meet(&self, other: &Self) -> Meeting<Self> {
        match (self, other) {
            (Self::Exact(host), it) | (it, Self::Exact(host)) => {
                if it.is_for(host) {
                    Meeting::Both(Self::Exact(host.clone()))
                } else {
                    Meeting::Nothing
                }
            }
            (one, two) if one.covers(two) => Meeting::Both(two.clone()),
            (one, two) if two.covers(one) => Meeting::Both(one.clone()),
            (Self::Below(_), Self::Below(_)) => Meeting::Nothing,
            (_, _) => Meeting::Unsayable("a route has one pattern for its host"),
        }
    }

    fn pattern(&self) -> String {
        match self {
            Self::Exact(host) => host.clone(),
            Self::Below(host) => format!("*.{host}"),
            Self::Matching(text) => format!("~{text}"),
        }
    }
}

impl ValueTest {
    /// An expression, if a route takes it.
    pub fn matching(text: &str) -> Option<Self> {
        is_expression(text).then(|| Self::Matching(text.into()))
    }

    /// Any value but an empty one.
    pub fn something() -> Self {
        Self::Matching(".".into())
    }

    fn is_for(&self, value: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(own) => own == value,
            Self::Matching(text) => Regex::new(text).is_ok_and(|it| it.is_match(value)),
        }
    }

    fn meet(&self, other: &Self) -> Meeting<Self> {
        match (self, other) {
            (Self::Any, it) | (it, Self::Any) => Meeting::Both(it.clone()),
            (Self::Exact(value), it) | (it, Self::Exact(value)) => {
                if it.is_for(value) {
                    Meeting::Both(Self::Exact(value.clone()))
                } else {
                    Meeting::Nothing
                }
            }
            (one, two) if one == two => Meeting::Both(one.clone()),
            (Self::Matching(one), it) if one == "." => Meeting::Both(it.clone()),
            (it, Self::Matching(two)) if two == "." => Meeting::Both(it.clone()),
            (Self::Matching(_), Self::Matching(_)) => {
                Meeting::Unsayable("a route asks one thing of a field")
            }
        }
    }

    fn pattern(&self) -> String {
        match self {
            Self::Any => "*".into(),
            Self::Exact(value) if value == "*" || value.starts_with('~') => {
                format!("~^{}$", regex::escape(value))
            }
            Self::Exact(value) => value.clone(),
            Self::Matching(text) => format!("~{text}"),
        }
    }
}

impl RequestPlace {
    /// Requests that this and one more condition are for.
    pub fn meet(&self, test: &RequestTest) -> Meeting<Self> {
        let mut place = self.clone();
        let fate = match test {
            RequestTest::Never => Meeting::Nothing,
            RequestTest::Unsayable(why) => Meeting::Unsayable(why),
            RequestTest::Listen(own) => cut(&mut place.listen, own),
            RequestTest::Methods(own) => cut(&mut place.methods, own),
            RequestTest::Path(own) => match place.path.meet(own) {
                Meeting::Both(path) => {
                    place.path = path;
                    Meeting::Both(())
                }
                Meeting::Nothing => Meeting::Nothing,
                Meeting::Unsayable(why) => Meeting::Unsayable(why),
            },
            RequestTest::Host(own) => place.meet_host(own),
            RequestTest::Header(name, own) => cut_value(&mut place.headers, name, own),
            RequestTest::Query(name, own) => cut_value(&mut place.query, name, own),
            RequestTest::Clients(own) => place.meet_clients(own),
        };
        match fate {
            Meeting::Both(()) => Meeting::Both(place),
            Meeting::Nothing => Meeting::Nothing,
            Meeting::Unsayable(why) => Meeting::Unsayable(why),
        }
    }

    fn meet_host(&mut self, own: &HostTest) -> Meeting<()> {
        let met = self.host.as_ref().map_or_else(|| Meeting::Both(own.clone()), |it| it.meet(own));
        match met {
            Meeting::Both(host) => {
                self.host = Some(host);
                Meeting::Both(())
            }
            Meeting::Nothing => Meeting::Nothing,
            Meeting::Unsayable(why) => Meeting::Unsayable(why),
        }
    }

    fn meet_clients(&mut self, own: &[Network]) -> Meeting<()> {
        let met: Vec<Network> = match &self.clients {
            None => own.to_vec(),
            Some(before) => {
                let pairs = before.iter().flat_map(|one| own.iter().map(move |two| (one, two)));
                pairs.filter_map(|(one, two)| narrower(*one, *two)).collect()
            }
        };
        if met.is_empty() {
            return Meeting::Nothing;
        }
        self.clients = Some(met);
        Meeting::Both(())
    }

    /// True if it is certain that it is for all requests that `other` is for.
    pub fn covers(&self, other: &Self) -> bool {
        let host = match (&self.host, &other.host) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(one), Some(two)) => one.covers(two),
        };
        let clients = match (&self.clients, &other.clients) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(one), Some(two)) => {
                two.iter().all(|it| one.iter().any(|wide| narrower(*wide, *it) == Some(*it)))
            }
        };
        host && clients
            && self.path.covers(&other.path)
            && is_wider(self.listen.as_ref(), other.listen.as_ref())
            && is_wider(self.methods.as_ref(), other.methods.as_ref())
            && self.headers.iter().all(|(name, it)| other.headers.get(name) == Some(it))
            && self.query.iter().all(|(name, it)| other.query.get(name) == Some(it))
    }

    /// The conditions of a route.
    pub fn written(&self) -> serde_json::Map<String, Value> {
        let mut route = serde_json::Map::new();
        if let Some(listen) = &self.listen {
            route.insert("listen".into(), json!(listen));
        }
        if let Some(host) = &self.host {
            route.insert("host".into(), json!(host.pattern()));
        }
        route.insert("path".into(), json!(self.path.pattern()));
        if let Some(methods) = &self.methods {
            route.insert("methods".into(), json!(methods));
        }
        for (key, values) in [("with_headers", &self.headers), ("with_query", &self.query)] {
            let values: BTreeMap<_, _> = values.iter().map(|(n, it)| (n, it.pattern())).collect();
            if !values.is_empty() {
                route.insert(key.into(), json!(values));
            }
        }
        if let Some(clients) = &self.clients {
            let clients: Vec<_> = clients.iter().map(ToString::to_string).collect();
            route.insert("clients".into(), json!(clients));
        }
        route
    }

    /// True if nothing but the URL decides.
    pub fn is_of_url(&self) -> bool {
        self.headers.is_empty() && self.clients.is_none() && self.listen.is_none()
    }
}

fn cut(own: &mut Option<BTreeSet<String>>, by: &BTreeSet<String>) -> Meeting<()> {
    let met: BTreeSet<String> = match own {
        None => by.clone(),
        Some(own) => own.intersection(by).cloned().collect(),
    };
    if met.is_empty() {
        return Meeting::Nothing;
    }
    *own = Some(met);
    Meeting::Both(())
}

fn cut_value(own: &mut BTreeMap<String, ValueTest>, name: &str, by: &ValueTest) -> Meeting<()> {
    let met = own.get(name).map_or_else(|| Meeting::Both(by.clone()), |it| it.meet(by));
    match met {
        Meeting::Both(value) => {
            own.insert(name.into(), value);
            if own.len() > CONDITIONS_MAX {
                Meeting::Unsayable("a route has at most 16 conditions of a kind")
            } else {
                Meeting::Both(())
            }
        }
        Meeting::Nothing => Meeting::Nothing,
        Meeting::Unsayable(why) => Meeting::Unsayable(why),
    }
}

/// The one that lies in the other.
fn narrower(one: Network, two: Network) -> Option<Network> {
    if one.address().is_ipv4() != two.address().is_ipv4() {
        return None;
    }
    let (wide, narrow) = if one.prefix() <= two.prefix() { (one, two) } else { (two, one) };
    wide.contains(narrow.address()).then_some(narrow)
}

fn is_wider(own: Option<&BTreeSet<String>>, other: Option<&BTreeSet<String>>) -> bool {
    match (own, other) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(own), Some(other)) => other.is_subset(own),
    }
}
