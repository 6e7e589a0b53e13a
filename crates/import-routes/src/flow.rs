//! The way of requests, as steps with conditions, and its unfolding into routes.
//!
//! The programs that are read decide step by step; the gateway takes the first route that fits. So
//! each way through the steps becomes a route, in the order in which they are tried. Where a
//! condition cannot be said, what it stands for is closed: a route answers 403 to all that could be
//! meant.

use crate::path_test::{Meeting, PathTest};
use crate::place::{RequestPlace, RequestTest};
use crate::report::{LineFate, LineFates, RowId};
use serde_json::{Map, Value, json};

/// Routes of a gateway.
pub const ROUTES_MAX: usize = 1_024;
/// Ways that are looked at, at most.
const WALKS_MAX: usize = 60_000;
/// Conditions within conditions.
const DEPTH_MAX: usize = 200;

/// Conditions of which all of `all` must hold, and none of `none`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestConjunction {
    /// Tests that all hold.
    pub all: Vec<RequestTest>,
    /// Tests of which none holds.
    pub none: Vec<RequestTest>,
}

impl TestConjunction {
    /// Each of these ways once with each of some tests, one of which must hold besides.
    pub fn with_one_of(ways: &[Self], tests: &[RequestTest]) -> Vec<Self> {
        let longer = ways.iter().flat_map(|way| {
            tests.iter().map(move |test| {
                let mut way = way.clone();
                way.all.push(test.clone());
                way
            })
        });
        longer.collect()
    }
}

/// One step.
#[derive(Clone, Debug)]
pub enum FlowStep {
    /// If one of them holds, the one, else the other; then what follows.
    If {
        /// Conditions of which one must hold.
        when: Vec<TestConjunction>,
        /// Steps where one holds.
        then: Vec<FlowStep>,
        /// Steps where none holds.
        otherwise: Vec<FlowStep>,
    },
    /// A setting of the routes that follow.
    Set(&'static str, Value),
    /// A rule for fields of requests or of answers.
    Field(FieldSide, Value),
    /// Requests by URL that are refused, whatever follows.
    Block(Value),
    /// The end.
    End(RouteEnd),
}

/// Tells whose fields a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldSide {
    /// Fields of requests that go on.
    Request,
    /// Fields of answers.
    Response,
}

/// Where a way ends.
#[derive(Clone, Debug)]
pub enum RouteEnd {
    /// Settings of a route that lead somewhere.
    Settings(Map<String, Value>),
    /// A folder of files.
    Folder(FolderEnd),
    /// A location that is not carried over: nobody is let in.
    Refused(RowId, String),
}

/// A folder, and what is said of it.
#[derive(Clone, Debug, Default)]
pub struct FolderEnd {
    /// The folder that holds `mount`.
    pub root: String,
    /// The path at which the folder stands, from slash to slash: `/` where it holds whole paths.
    pub mount: String,
    /// A path of the URL.
    pub fallback: Option<String>,
    /// Other settings of the route.
    pub settings: Map<String, Value>,
    /// True if scripts are told the root.
    pub has_scripts: bool,
}

/// Routes in the making.
pub struct RouteList<'a> {
    /// Routes so far.
    pub routes: Vec<Value>,
    /// The places of routes that lead somewhere.
    places: Vec<RequestPlace>,
    /// The fate of each line.
    pub report: &'a mut LineFates,
    /// Tells whether there is a folder.
    pub is_folder: &'a dyn Fn(&str) -> bool,
    /// The row of which what cannot be said is told.
    pub row: RowId,
    /// Ways that were looked at.
    pub walks: usize,
}

/// Settings that the steps before have made.
#[derive(Clone, Default)]
struct RouteDraft {
    settings: Map<String, Value>,
    request: Vec<Value>,
    response: Vec<Value>,
}

/// The steps where a condition holds, and where not.
#[derive(Clone, Copy)]
struct TwoWays<'s> {
    then: &'s [&'s FlowStep],
    otherwise: &'s [&'s FlowStep],
}

/// Rules of a list of fields.
const RULES_MAX: usize = 64;
/// Networks of a route.
const CLIENTS_MAX: usize = 256;

impl TestConjunction {
    /// The condition that one test holds.
    pub fn one(test: RequestTest) -> Vec<Self> {
        vec![Self { all: vec![test], none: Vec::new() }]
    }

    /// The condition that one test does not hold.
    pub fn not(test: RequestTest) -> Vec<Self> {
        vec![Self { all: Vec::new(), none: vec![test] }]
    }
}

impl FlowStep {
    /// If one condition holds.
    pub fn when(test: RequestTest, then: Vec<Self>) -> Self {
        Self::If { when: TestConjunction::one(test), then, otherwise: Vec::new() }
    }

    /// An answer with a status.
    pub fn answer(status: u16) -> Self {
        Self::End(RouteEnd::answer(status))
    }

    /// Requests that get no answer: `close`, or `tarpit`.
    pub fn silence(answer: &str) -> Vec<Self> {
        // One pattern that fits every URL is refused.
        let block = json!({ "patterns": ["|/|", "~^/."], "answer": answer });
        vec![Self::Block(block), Self::answer(403)]
    }

    /// The end with these settings.
    pub fn settings(value: Value) -> Self {
        match value {
            Value::Object(map) => Self::End(RouteEnd::Settings(map)),
            _ => Self::End(RouteEnd::answer(403)),
        }
    }
}

impl RouteEnd {
    /// An answer with a status.
    pub fn answer(status: u16) -> Self {
        let mut map = Map::new();
        map.insert("answer".into(), json!({ "status": status }));
        Self::Settings(map)
    }
}

impl<'a> RouteList<'a> {
    /// A list without routes.
    pub fn new(report: &'a mut LineFates, is_folder: &'a dyn Fn(&str) -> bool, row: RowId) -> Self {
        Self { routes: Vec::new(), places: Vec::new(), report, is_folder, row, walks: 0 }
    }

    /// Adds the routes that `steps` come to for requests at `place`.
    pub fn add(&mut self, place: &RequestPlace, steps: &[FlowStep]) {
        let steps: Vec<&FlowStep> = steps.iter().collect();
        self.walk(place, RouteDraft::default(), &steps, 0);
    }

    /// True if there are too many to be written.
    pub fn is_overfull(&self) -> bool {
        self.routes.len() > ROUTES_MAX || self.walks > WALKS_MAX
    }

    fn walk(
        &mut self,
        place: &RequestPlace,
        mut draft: RouteDraft,
        steps: &[&FlowStep],
        depth: usize,
    ) {
        self.walks += 1;
        if self.is_overfull() {
            return;
        }
        if self.is_covered(place) {
            return;
        }
        if depth > DEPTH_MAX {
            self.close(place, self.row, "conditions stand too deep within others");
            return;
        }
        for (index, step) in steps.iter().enumerate() {
            match step {
                FlowStep::Set(key, value) => {
                    draft.settings.insert((*key).into(), value.clone());
                }
                FlowStep::Field(side, rule) => draft.rule(*side, rule),
                FlowStep::Block(block) => {
                    let mut route = place.written();
                    route.insert("block".into(), block.clone());
                    self.routes.push(Value::Object(route));
                }
                FlowStep::End(end) => {
                    self.end(place, &draft, end);
                    return;
                }
                FlowStep::If { when, then, otherwise } => {
                    let rest = &steps[index + 1..];
                    let then: Vec<_> = then.iter().chain(rest.iter().copied()).collect();
                    let other: Vec<_> = otherwise.iter().chain(rest.iter().copied()).collect();
                    let ways = TwoWays { then: &then, otherwise: &other };
                    self.choose(place, &draft, when, ways, depth + 1);
                    return;
                }
            }
        }
        self.end(place, &draft, &RouteEnd::answer(404));
    }

    /// The one where a conjunction holds, else the other: each way in the order of routes.
    fn choose(
        &mut self,
        place: &RequestPlace,
        draft: &RouteDraft,
        when: &[TestConjunction],
        ways: TwoWays<'_>,
        depth: usize,
    ) {
        let Some((first, more)) = when.split_first() else {
            self.walk(place, draft.clone(), ways.otherwise, depth);
            return;
        };
        if depth > DEPTH_MAX {
            self.close(place, self.row, "conditions stand too deep within others");
            return;
        }
        let mut inner = Meeting::Both(place.clone());
        for test in &first.all {
            inner = match inner {
                Meeting::Both(place) => place.meet(test),
                it @ (Meeting::Nothing | Meeting::Unsayable(_)) => it,
            };
        }
        match inner {
            Meeting::Nothing => {}
            Meeting::Unsayable(why) => {
                self.close(place, self.row, why);
                return;
            }
            Meeting::Both(inner) => {
                for test in &first.none {
                    match inner.meet(test) {
                        Meeting::Nothing => {}
                        Meeting::Unsayable(why) => {
                            self.close(&inner, self.row, why);
                            break;
                        }
                        // It does not hold here: the next is asked.
                        Meeting::Both(not) => self.choose(&not, draft, more, ways, depth + 1),
                    }
                }
                self.walk(&inner, draft.clone(), ways.then, depth);
            }
        }
        self.choose(place, draft, more, ways, depth + 1);
    }

    fn is_covered(&self, place: &RequestPlace) -> bool {
        self.places.iter().any(|it| it.covers(place))
    }

    /// A route that answers 403.
    pub fn close(&mut self, place: &RequestPlace, row: RowId, why: &str) {
        let whose = place.path.pattern();
        let why = format!("{why}; {whose} answers 403 until you write a route for it");
        self.report.mark(row, LineFate::Refused, &why);
        self.push(place, json!({ "answer": { "status": 403 } }));
    }

    fn end(&mut self, place: &RequestPlace, draft: &RouteDraft, end: &RouteEnd) {
        match end {
            RouteEnd::Refused(row, why) => self.close(place, *row, why),
            RouteEnd::Settings(settings) => {
                let mut route = draft.written(settings.contains_key("pool"));
                if settings.contains_key("answer") || settings.contains_key("redirect") {
                    route.retain(|key, _| key != "compress" && key != "body_max");
                }
                route.extend(settings.clone());
                self.push(place, Value::Object(route));
            }
            RouteEnd::Folder(folder) => {
                let (path, settings) = folder.at(&place.path, self.is_folder);
                let mut route = draft.written(false);
                route.extend(settings);
                self.push(&RequestPlace { path, ..place.clone() }, Value::Object(route));
            }
        }
    }

    fn push(&mut self, place: &RequestPlace, mut settings: Value) {
        if self.is_covered(place) {
            return;
        }
        if settings.get("cache").is_some() && !place.is_of_url() {
            settings.as_object_mut().map(|it| it.remove("cache"));
            let why = "a route that is cached asks for host, path, method and query alone: \
                       it is not cached";
            self.report.mark(self.row, LineFate::Changed, why);
        }
        let clients = place.clients.clone().unwrap_or_default();
        for part in clients.chunks(CLIENTS_MAX).map(Some).chain(clients.is_empty().then_some(None))
        {
            let place = RequestPlace { clients: part.map(<[_]>::to_vec), ..place.clone() };
            let mut route = place.written();
            if let Some(settings) = settings.as_object() {
                route.extend(settings.clone());
            }
            self.routes.push(Value::Object(route));
        }
        self.places.push(place.clone());
    }
}

impl RouteDraft {
    fn rule(&mut self, side: FieldSide, rule: &Value) {
        let rules = match side {
            FieldSide::Request => &mut self.request,
            FieldSide::Response => &mut self.response,
        };
        rules.push(rule.clone());
    }

    fn written(&self, has_pool: bool) -> Map<String, Value> {
        let mut settings = self.settings.clone();
        let mut headers = Map::new();
        let lists = [("request", &self.request, has_pool), ("response", &self.response, true)];
        for (key, rules, is_used) in lists {
            if is_used && !rules.is_empty() {
                headers.insert(key.into(), json!(&rules[..rules.len().min(RULES_MAX)]));
            }
        }
        if !headers.is_empty() {
            settings.insert("headers".into(), Value::Object(headers));
        }
        if !has_pool {
            for key in ONLY_POOLS {
                settings.remove(key);
            }
        }
        settings
    }
}

/// Settings that a route without a pool must not have.
const ONLY_POOLS: [&str; 9] = [
    "cache",
    "rewrite",
    "set_host",
    "strip_prefix",
    "priority",
    "rewrite_cookies",
    "uploads",
    "response_timeout",
    "store_set_cookie",
];

impl FolderEnd {
    /// The path of the route and its settings, for requests at `path`.
    fn at(
        &self,
        path: &PathTest,
        is_folder: &dyn Fn(&str) -> bool,
    ) -> (PathTest, Map<String, Value>) {
        let mut settings = self.settings.clone();
        let folder = path.folder().to_owned();
        let below = folder.strip_prefix(self.mount.as_str());
        let joined = |more: &str| {
            let root = self.root.trim_end_matches('/');
            let more = more.trim_matches('/');
            match (root.is_empty(), more.is_empty()) {
                (true, _) => format!("/{more}"),
                (false, true) => root.to_owned(),
                (false, false) => format!("{root}/{more}"),
            }
        };
        let own = below.map(joined).filter(|it| {
            // Scripts are told the root, and a fallback begins there.
            folder == self.mount || !self.has_scripts && self.fallback.is_none() && is_folder(it)
        });
        let (path, root, base) = match own {
            Some(root) => (path.clone(), root, folder),
            None if self.mount == "/" => (path.as_expression(), joined(""), "/".to_owned()),
            None => {
                settings.insert("strip_prefix".into(), json!(self.mount.trim_end_matches('/')));
                (path.clone(), joined(""), self.mount.clone())
            }
        };
        settings.insert("root".into(), json!(root));
        if let Some(fallback) = &self.fallback {
            let fallback = fallback.strip_prefix(base.trim_end_matches('/')).unwrap_or(fallback);
            settings.insert("fallback".into(), json!(fallback));
        }
        (path, settings)
    }
}
