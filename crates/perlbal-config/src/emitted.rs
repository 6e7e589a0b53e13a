//! A configuration of ours in the making: what services come to.
//!
//! It walks the services that clients reach, each by its role. How routes, sites and pools are made
//! is said beside it.

use crate::facts::{self, ServiceFacts, ServiceRole};
use crate::model::PerlbalModel;
use crate::routes::RoutePlace;
use crate::{CommandPlace, ImportNote, PerlbalSurroundings};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Places at which services are sought, at most: each is a route or more.
const VISITS_MAX: usize = 10_000;
/// Port of the first site that only the gateway asks.
const INNER_PORT: u16 = 8100;

/// Time that a service is come to; notes are written once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceReach {
    First,
    Again,
}

/// A configuration in the making.
#[derive(Default)]
pub(crate) struct EmittedConfig {
    pub(crate) listen: Vec<String>,
    pub(crate) certificates: Vec<Value>,
    /// Settings of the whole gateway.
    pub(crate) gateway: BTreeMap<&'static str, Value>,
    pub(crate) pools: BTreeMap<String, Value>,
    pub(crate) routes: Vec<Value>,
    pub(crate) sites: Vec<Value>,
    pub(crate) console: Option<Value>,
    /// True if a service believes what proxies in front say of clients.
    pub(crate) believes_proxies: bool,
    pub(crate) notes: Vec<ImportNote>,
    /// Requests that the routes so far are for, so that none comes twice.
    pub(crate) taken: BTreeSet<String>,
    /// Services that clients reach.
    reached: BTreeSet<String>,
    inner_sites: BTreeMap<String, u16>,
    /// Places at which services were sought.
    visits: usize,
}

impl EmittedConfig {
    pub(crate) fn of(model: &mut PerlbalModel, around: &dyn PerlbalSurroundings) -> Self {
        let services = facts::of(model);
        let believes_proxies = services.iter().any(|it| !it.trusted.is_empty());
        let notes = std::mem::take(&mut model.notes);
        let mut emitted = Self { believes_proxies, notes, ..Self::default() };
        emitted.add_pools(&model.pools, around);
        let open = services.iter().filter(|it| it.is_enabled && it.listen.is_some());
        for service in open {
            emitted.open(service, &services);
        }
        emitted.name_listeners(&services);
        emitted.leave_out_kept_clients();
        for service in services.iter().filter(|it| !emitted.reached.contains(&it.name)) {
            let text = format!("{}: it is not enabled, and nothing leads to it", service.name);
            emitted.notes.push(ImportNote { place: service.place.clone(), text });
        }
        if emitted.listen.len() == 1 {
            // There is no other that a request could come in at.
            for route in &mut emitted.routes {
                route.as_object_mut().map(|route| route.remove("listen"));
            }
        }
        emitted
    }

    /// Takes out what is so in any case.
    fn leave_out_kept_clients(&mut self) {
        let Some(Value::Object(client)) = self.gateway.get_mut("client") else { return };
        if client.get("keep_alive") == Some(&Value::Bool(true)) {
            client.remove("keep_alive");
        }
        if client.is_empty() {
            self.gateway.remove("client");
        }
    }

    /// The names of services, by which `show service` goes on to tell them.
    fn name_listeners(&mut self, services: &[ServiceFacts]) {
        let Some(console) = &mut self.console else { return };
        let open = services.iter().filter(|it| it.is_enabled);
        let open = open.filter(|it| it.role != ServiceRole::Management);
        let named: serde_json::Map<_, _> = open
            .filter_map(|it| {
                let (ip, port) = it.listen?;
                Some((it.name.clone(), json!(format!("{ip}:{port}"))))
            })
            .collect();
        if !named.is_empty() {
            console["services"] = Value::Object(named);
        }
    }

    /// True if one more place is looked at: selectors may lead to selectors in many ways.
    pub(crate) fn may_visit(&mut self, service: &ServiceFacts) -> bool {
        self.visits += 1;
        if self.visits == VISITS_MAX {
            let text = format!("{}: selectors lead to too many places", service.name);
            self.note(&service.place, text);
        }
        self.visits < VISITS_MAX
    }

    pub(crate) fn note(&mut self, place: &CommandPlace, text: impl Into<String>) {
        self.notes.push(ImportNote { place: place.clone(), text: text.into() });
    }

    /// Notes that a service is reached.
    pub(crate) fn reach(&mut self, service: &ServiceFacts) -> ServiceReach {
        let is_new = self.reached.insert(service.name.clone());
        if is_new {
            for plugin in service.plugins.iter().filter(|it| !KNOWN_PLUGINS.contains(&it.as_str()))
            {
                let why = crate::absent::plugin(plugin);
                self.note(&service.place, format!("{}, plug-in {plugin}: {why}", service.name));
            }
        }
        if is_new { ServiceReach::First } else { ServiceReach::Again }
    }

    /// A service that listens.
    fn open(&mut self, service: &ServiceFacts, services: &[ServiceFacts]) {
        let Some((ip, port)) = service.listen else { return };
        match service.role {
            ServiceRole::Management => {
                self.reach(service);
                self.manage(service, ip.is_loopback().then_some(ip), port);
            }
            ServiceRole::UploadTracker | ServiceRole::Other => {
                self.reach(service);
                let why = match service.role {
                    ServiceRole::UploadTracker => {
                        "there is no upload tracker: write upload_status: true at the route"
                    }
                    _ => "there is no such role",
                };
                self.note(&service.place, format!("{}: {why}", service.name));
            }
            ServiceRole::WebServer if !service.needs_gateway() => {
                self.reach(service);
                self.add_site(service, &service.listener());
            }
            ServiceRole::WebServer | ServiceRole::ReverseProxy | ServiceRole::Selector => {
                let listener = service.listener();
                if !self.listen.contains(&listener) {
                    self.listen.push(listener.clone());
                }
                if let Some((certificate, key)) = &service.tls {
                    let files = json!({ "certificate": certificate, "key": key });
                    if !self.certificates.contains(&files) {
                        self.certificates.push(files);
                    }
                }
                self.add_routes(service, services, &RoutePlace::at(&listener));
            }
        }
    }

    fn manage(&mut self, service: &ServiceFacts, ip: Option<std::net::Ipv4Addr>, port: u16) {
        if self.console.is_some() {
            self.note(&service.place, format!("{}: there is one line console", service.name));
            return;
        }
        if ip.is_none() {
            let why = "a console encrypts nothing, and listens at loopback addresses alone";
            self.note(&service.place, format!("{}: {why}", service.name));
        }
        let why = "everybody on this machine may change pools, as before: leave trust out to ask for \
                   the token";
        self.note(&service.place, format!("{}: {why}", service.name));
        let ip = ip.unwrap_or(std::net::Ipv4Addr::LOCALHOST);
        self.console = Some(json!({ "listen": format!("{ip}:{port}"), "trust": "loopback" }));
    }

    /// Port of the site through which the gateway serves a service, made where it is not yet.
    pub(crate) fn inner_port(&mut self, service: &ServiceFacts) -> (u16, bool) {
        let next = INNER_PORT.saturating_add(self.inner_sites.len().try_into().unwrap_or(u16::MAX));
        let is_new = !self.inner_sites.contains_key(&service.name);
        (*self.inner_sites.entry(service.name.clone()).or_insert(next), is_new)
    }

    /// A setting of all clients of the gateway, which services may say differently.
    pub(crate) fn share_of_client(&mut self, service: &ServiceFacts, key: &str, value: Value) {
        let client = self.gateway.entry("client").or_insert_with(|| json!({}));
        match client.get(key) {
            None => client[key] = value,
            Some(known) if *known == value => {}
            Some(_) => {
                let why = "it holds for the whole gateway, and another service says otherwise";
                self.note(&service.place, format!("{}, gateway.client.{key}: {why}", service.name));
            }
        }
    }

    /// A setting of the whole gateway, which services may say differently.
    pub(crate) fn share(&mut self, service: &ServiceFacts, key: &'static str, value: Value) {
        match self.gateway.get(key) {
            None => {
                self.gateway.insert(key, value);
            }
            Some(known) if *known == value => {}
            Some(_) => {
                let why = "it holds for the whole gateway, and another service says otherwise";
                self.note(&service.place, format!("{}, gateway.{key}: {why}", service.name));
            }
        }
    }
}

/// Plug-ins that are carried over, or are needless.
const KNOWN_PLUGINS: [&str; 13] = [
    "accesscontrol",
    "autoremoveleadingdir",
    "flvstreaming",
    "highpri",
    "include",
    "maxcontentlength",
    "notmodified",
    "palimg",
    "queues",
    "redirect",
    "vhosts",
    "vpaths",
    "xffextras",
];

impl ServiceFacts {
    pub(crate) fn has_plugin(&self, name: &str) -> bool {
        self.plugins.iter().any(|it| it == name)
    }

    /// Where it listens, in our words.
    pub(crate) fn listener(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let (ip, port) = self.listen.unwrap_or((std::net::Ipv4Addr::LOCALHOST, 0));
        format!("{scheme}://{ip}:{port}")
    }

    /// True if a site of the web door cannot do what it does.
    fn needs_gateway(&self) -> bool {
        let plugins = ["accesscontrol", "notmodified", "redirect"];
        plugins.iter().any(|it| self.has_plugin(it))
    }
}
