//! Routes of the gateway: what selectors choose by, and where services lead.
//!
//! The most exact host comes first, as with the plug-in Vhosts; expressions of Vpaths keep their
//! order. A pattern that a route does not take is left out and told of.

use crate::clients;
use crate::command::HeaderChange;
use crate::emitted::{EmittedConfig, ServiceReach};
use crate::facts::{AccessSubject, ServiceFacts, ServiceRole, UploadFacts};
use crate::model::ToldValue;
use route_matching::{HostPattern, PathPattern, SlashRule};
use serde_json::{Value, json};
use vocab::ByteSize;

/// Selectors that lead to selectors, at most so deep.
const DEPTH_MAX: usize = 8;
/// Routes that a gateway may have.
const ROUTES_MAX: usize = 1_024;
/// Uploads of which a whole body may be a server's, where nothing else is said.
const BODY_MAX: u64 = 200 << 20;

/// Requests that a route is for.
#[derive(Clone, Debug)]
pub(crate) struct RoutePlace {
    listener: String,
    host: Option<String>,
    path: Option<String>,
    /// The `Host` that servers read in place of the client's.
    set_host: Option<String>,
    depth: usize,
}

impl RoutePlace {
    pub(crate) fn at(listener: &str) -> Self {
        Self { listener: listener.into(), host: None, path: None, set_host: None, depth: 0 }
    }

    pub(crate) fn written(&self) -> Value {
        let mut route = json!({ "listen": [self.listener], "path": "/*" });
        if let Some(path) = &self.path {
            route["path"] = json!(path);
        }
        if let Some(host) = &self.host {
            route["host"] = json!(host);
        }
        route
    }

    /// The same for one host: that which both name, if there is one.
    fn for_host(&self, host: &str) -> Option<Self> {
        let below = |name: &str, star: &str| {
            star.strip_prefix('*').is_some_and(|it| name.trim_start_matches('*').ends_with(it))
        };
        let host = match &self.host {
            None => host,
            Some(own) if own == host || below(host, own) => host,
            Some(own) if below(own, host) => own,
            Some(_) => return None,
        };
        Some(Self { host: Some(host.to_owned()), depth: self.depth + 1, ..self.clone() })
    }
}

impl EmittedConfig {
    /// The routes of a service at a place.
    pub(crate) fn add_routes(
        &mut self,
        service: &ServiceFacts,
        services: &[ServiceFacts],
        place: &RoutePlace,
    ) {
        if !self.may_visit(service) {
            return;
        }
        let reach = self.reach(service);
        if reach == ServiceReach::First {
            self.share_settings(service);
        }
        match service.role {
            ServiceRole::Selector => self.select(service, services, place),
            ServiceRole::ReverseProxy => {
                let Some(pool) = self.pool_of(service, reach) else { return };
                self.shape_pool(service, &pool);
                let mut route = place.written();
                route["pool"] = json!(pool);
                pass_on(service, &mut route);
                self.lead(service, place, vec![route], reach);
            }
            ServiceRole::WebServer => {
                let routes = self.folder_routes(service, place, reach);
                self.lead(service, place, routes, reach);
            }
            ServiceRole::Management | ServiceRole::UploadTracker | ServiceRole::Other => {
                if reach == ServiceReach::First {
                    let text = format!("{}: no selector leads to such a service", service.name);
                    self.note(&service.place, text);
                }
                // Its requests must not fall to the routes after it.
                let mut route = place.written();
                route["answer"] = json!({ "status": 500, "body": "Mapping to invalid service\n" });
                self.add_route(service, route);
            }
        }
    }

    fn pool_of(&mut self, service: &ServiceFacts, reach: ServiceReach) -> Option<String> {
        let told = service.proxy.pool.as_ref();
        let found = told.map(|told| told.value.to_lowercase());
        let found = found.filter(|it| self.pools.contains_key(it));
        if found.is_none() && reach == ServiceReach::First {
            let place = told.map_or(&service.place, |told| &told.place);
            self.note(place, format!("{}: it has no pool, so nothing leads to it", service.name));
        }
        found
    }

    /// Adds the routes of a service, under what its plug-ins say.
    fn lead(
        &mut self,
        service: &ServiceFacts,
        place: &RoutePlace,
        routes: Vec<Value>,
        reach: ServiceReach,
    ) {
        let mut all = self.redirects(service, place, reach);
        all.extend(self.unchanged(service, place, reach));
        let mut led = self.high_priority(service, place, &routes, reach);
        led.extend(routes);
        if service.has_plugin("accesscontrol") {
            // Where nobody is believed, the two are one.
            let key = match service.access_by {
                AccessSubject::Peer if self.believes_proxies => "peers",
                AccessSubject::Peer | AccessSubject::Client => "clients",
            };
            led = clients::under(&service.access, key, &place.written(), led);
        }
        all.extend(led);
        for mut route in all {
            if let Some(host) = place.set_host.as_ref().filter(|_| route.get("pool").is_some()) {
                route["set_host"] = json!(host);
            }
            self.add_route(service, route);
        }
    }

    fn add_route(&mut self, service: &ServiceFacts, route: Value) {
        let of = |key: &str| route.get(key).map_or_else(String::new, ToString::to_string);
        let keys = ["listen", "host", "path", "clients", "peers", "with_headers"];
        let taken = keys.map(of).join(" ");
        if !self.taken.insert(taken) {
            return;
        }
        if self.routes.len() < ROUTES_MAX {
            self.routes.push(route);
        } else if self.routes.len() == ROUTES_MAX {
            self.note(&service.place, format!("there are more than {ROUTES_MAX} routes"));
        }
    }

    fn select(&mut self, selector: &ServiceFacts, services: &[ServiceFacts], place: &RoutePlace) {
        if place.depth >= DEPTH_MAX {
            self.note(&selector.place, format!("{}: selectors lead in a circle", selector.name));
            return;
        }
        let mut all: Vec<_> =
            self.unchanged(selector, place, ServiceReach::First).into_iter().collect();
        all.extend(self.redirects(selector, place, ServiceReach::First));
        for route in all {
            self.add_route(selector, route);
        }
        if selector.has_plugin("vpaths") {
            for (expression, told) in &selector.vpaths {
                let path = format!("~{expression}");
                if place.path.is_some() || !is_path(&path) {
                    let why = "a route does not take this expression";
                    self.note(&told.place, format!("VPATH {expression}: {why}"));
                    continue;
                }
                let depth = place.depth + 1;
                let there = RoutePlace { path: Some(path), depth, ..place.clone() };
                self.add_target(told, services, &there);
            }
        }
        if selector.has_plugin("vhosts") {
            self.select_by_host(selector, services, place);
        }
        if let Some(told) = &selector.default_service {
            let there = RoutePlace { depth: place.depth + 1, ..place.clone() };
            self.add_target(told, services, &there);
        }
    }

    fn select_by_host(
        &mut self,
        selector: &ServiceFacts,
        services: &[ServiceFacts],
        place: &RoutePlace,
    ) {
        let mut hosts: Vec<_> = selector.vhosts.iter().collect();
        // Pairs of the twiddling first, then names, and the longest of those with a star.
        hosts.sort_by_key(|(host, _)| {
            (!host.contains(';'), host.starts_with('*'), std::cmp::Reverse(host.len()))
        });
        for (host, told) in hosts {
            if let Some((from, to)) = host.split_once(";using:") {
                let path = format!("/__using/{to}/*");
                let there = place.for_host(from).filter(|_| is_host(from) && is_host(to));
                let there = there.filter(|it| it.path.is_none());
                if let Some(there) = there {
                    let (path, set_host) = (Some(path), Some(to.to_owned()));
                    self.add_target(told, services, &RoutePlace { path, set_host, ..there });
                }
            } else if host == "*" {
                let depth = place.depth + 1;
                self.add_target(told, services, &RoutePlace { depth, ..place.clone() });
            } else if is_host(host) {
                // The name itself is one of those below it, unless it is named.
                let name = host.strip_prefix("*.").into_iter();
                for host in name.chain([host.as_str()]) {
                    if let Some(there) = place.for_host(host) {
                        self.add_target(told, services, &there);
                    }
                }
            } else {
                self.note(&told.place, format!("VHOST {host}: this is no host of a route"));
            }
        }
    }

    fn add_target(&mut self, told: &ToldValue, services: &[ServiceFacts], place: &RoutePlace) {
        let name = told.value.to_lowercase();
        match services.iter().find(|it| it.name == name) {
            Some(service) => self.add_routes(service, services, place),
            None => self.note(&told.place, format!("{name}: there is no such service")),
        }
    }

    fn redirects(
        &mut self,
        service: &ServiceFacts,
        place: &RoutePlace,
        reach: ServiceReach,
    ) -> Vec<Value> {
        let mut routes = Vec::new();
        if !service.has_plugin("redirect") {
            return routes;
        }
        let mut hosts: Vec<_> = service.redirects.iter().collect();
        hosts.sort_by_key(|(host, _)| (host.starts_with('*'), std::cmp::Reverse(host.len())));
        for (host, told) in hosts {
            let to = format!("http://{}{{uri}}", told.value);
            let there = if host == "*" { Some(place.clone()) } else { place.for_host(host) };
            let is_taken = (host == "*" || is_host(host)) && is_host(&told.value);
            match there.filter(|_| is_taken) {
                Some(there) => {
                    let mut route = there.written();
                    route["redirect"] = json!({ "to": to, "status": 301 });
                    routes.push(route);
                }
                None if reach == ServiceReach::First && !is_taken => {
                    self.note(&told.place, format!("REDIRECT HOST {host}: no host of a route"));
                }
                None => {}
            }
        }
        routes
    }

    /// The plug-in `NotModified`: a client that has a copy has the right one.
    fn unchanged(
        &mut self,
        service: &ServiceFacts,
        place: &RoutePlace,
        reach: ServiceReach,
    ) -> Option<Value> {
        let told = service.unchanged.as_ref().filter(|_| service.has_plugin("notmodified"))?;
        let host =
            self.expression(told, "notmodified.host_pattern", place.host.is_none(), reach)?;
        let mut route = place.written();
        route["host"] = json!(host);
        route["with_headers"] = json!({ "If-Modified-Since": "*" });
        route["answer"] = json!({ "status": 304 });
        Some(route)
    }

    /// The plug-in Highpri: some paths and hosts come before others.
    fn high_priority(
        &mut self,
        service: &ServiceFacts,
        place: &RoutePlace,
        routes: &[Value],
        reach: ServiceReach,
    ) -> Vec<Value> {
        let mut all = Vec::new();
        if !service.has_plugin("highpri") {
            return all;
        }
        let usual = ToldValue {
            place: service.place.clone(),
            value: r"^(?:/interface/(?:xmlrpc|flat)|/login\.bml)$".into(),
        };
        let [path, host] = &service.high;
        let path = path.as_ref().unwrap_or(&usual);
        let path = self.expression(path, "highpri.uri_pattern", place.path.is_none(), reach);
        let host = host.as_ref().and_then(|told| {
            self.expression(told, "highpri.host_pattern", place.host.is_none(), reach)
        });
        // A folder has no line to wait in.
        for route in routes.iter().filter(|route| route.get("pool").is_some()) {
            for (key, expression) in [("path", &path), ("host", &host)] {
                let Some(expression) = expression else { continue };
                let mut route = route.clone();
                route[key] = json!(expression);
                route["priority"] = json!("high");
                all.push(route);
            }
        }
        all
    }

    /// An expression as a route has it; none where it takes none, or has another already.
    fn expression(
        &mut self,
        told: &ToldValue,
        name: &str,
        is_free: bool,
        reach: ServiceReach,
    ) -> Option<String> {
        if ["undef", "none", "null"].contains(&told.value.as_str()) {
            return None;
        }
        let expression = format!("~{}", told.value);
        let is_taken = if name.ends_with("uri_pattern") {
            is_path(&expression)
        } else {
            HostPattern::parse(&expression).is_ok()
        };
        if is_taken && is_free {
            return Some(expression);
        }
        if reach == ServiceReach::First {
            let why = "a route does not take this expression, or has one already";
            self.note(&told.place, format!("{name}: {why}"));
        }
        None
    }

    /// Settings of a service that are the gateway's here.
    fn share_settings(&mut self, service: &ServiceFacts) {
        if let Some(seconds) = service.idle_timeout.filter(|it| (1..=3600).contains(it)) {
            self.share_of_client(service, "idle_timeout", json!(format!("{seconds}s")));
        }
        // What a selector leads to has no clients of its own.
        if let Some(keeps) = service.keeps_clients.filter(|_| service.listen.is_some()) {
            self.share_of_client(service, "keep_alive", json!(keeps));
        }
        if !service.trusted.is_empty() {
            self.share(service, "trusted", json!(service.trusted));
        }
        if service.role != ServiceRole::ReverseProxy {
            return;
        }
        if service.proxy.reproxy.is_some() {
            let why = "servers may name every file and every host, as before: narrow reproxy.files \
                       and reproxy.urls of the route";
            self.note(&service.place, format!("{}, enable_reproxy: {why}", service.name));
        }
        if service.proxy.is_blind {
            self.share(service, "forwarded", json!("off"));
            let why = "what a client says of itself goes on only if gateway.trusted names it";
            self.note(&service.place, format!("{}, blind_proxy: {why}", service.name));
        }
        let most = service.chunked_max.unwrap_or(BODY_MAX).max(1 << 10);
        self.share(service, "body_max", json!(ByteSize(most).to_string()));
        self.share_uploads(service);
    }

    fn share_uploads(&mut self, service: &ServiceFacts) {
        let facts = &service.proxy.uploads;
        let memory = ByteSize(facts.memory.unwrap_or(100 << 10).min(64 << 20));
        let mut uploads = json!({ "memory": memory.to_string() });
        if facts.memory == Some(0) {
            uploads["memory"] = json!(ByteSize(100 << 10).to_string());
        }
        if facts.is_buffered {
            let mut threshold = serde_json::Map::new();
            // None of the criteria can be taken out: an hour is as good as none.
            let time = facts.time.map_or(5, |time| if time == 0 { 3600 } else { time.min(3600) });
            threshold.insert("time".into(), json!(format!("{time}s")));
            for (key, size) in
                [("size", facts.size.unwrap_or(250 << 10)), ("rate", facts.rate.unwrap_or(0))]
            {
                if size > 0 {
                    threshold.insert(key.into(), json!(ByteSize(size).to_string()));
                }
            }
            uploads["threshold"] = Value::Object(threshold);
            if let Some(folder) = &facts.folder {
                uploads["disk_folder"] = json!(folder);
            }
        }
        self.share(service, "uploads", uploads);
    }
}

/// Settings of a route to a pool.
fn pass_on(service: &ServiceFacts, route: &mut Value) {
    // Perlbal sends a path on as it came.
    route["merge_slashes"] = json!(false);
    route["rewrite_location"] = json!(false);
    let UploadFacts { is_buffered, memory, .. } = service.proxy.uploads;
    let collects = is_buffered || memory != Some(0);
    route["uploads"] = json!(if collects { "auto" } else { "stream" });
    if let Some(remembered) = service.proxy.reproxy {
        route["reproxy"] = json!({
            "files": "/",
            "urls": ["public", "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"],
            "services": true,
            "remembered": remembered.min(1_000_000),
        });
    }
    let changes = service.headers.iter().map(|change| match change {
        HeaderChange::Insert(name, value) => {
            let value = value.replace('{', "{{").replace('}', "}}");
            json!({ "set": name, "value": value })
        }
        HeaderChange::Remove(name) => json!({ "remove": name }),
    });
    let changes: Vec<_> = changes.collect();
    if !changes.is_empty() {
        route["headers"] = json!({ "request": changes });
    }
    if let Some(most) = service.body_max {
        route["body_max"] = json!(ByteSize(most.max(1 << 10)).to_string());
    }
}

fn is_host(text: &str) -> bool {
    HostPattern::parse(text).is_ok() && !text.starts_with('~')
}

fn is_path(text: &str) -> bool {
    PathPattern::parse(text, SlashRule::default()).is_ok()
}
