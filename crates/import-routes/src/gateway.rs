//! The gateway in the making, which all three programs come to, and its text.

use import_report::EmittedSections;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Pools of a gateway that are written.
const POOLS_MAX: usize = 500;

/// The section `gateway`, and what else comes of a configuration.
#[derive(Debug, Default)]
pub struct GatewayDraft {
    /// Listeners.
    pub listen: Vec<String>,
    /// Certificates, each with its key.
    pub certificates: Vec<Value>,
    /// `tls` but for its certificates.
    pub tls: Map<String, Value>,
    /// Other settings of the section.
    pub settings: BTreeMap<String, Value>,
    /// Pools by their names.
    pub pools: BTreeMap<String, Value>,
    /// Routes in their order.
    pub routes: Vec<Value>,
}

impl GatewayDraft {
    /// Adds a listener, once.
    pub fn listen_at(&mut self, listener: &str) {
        if !self.listen.iter().any(|it| it == listener) {
            self.listen.push(listener.into());
        }
    }

    /// Adds a certificate, once.
    pub fn certificate(&mut self, certificate: &str, key: &str) {
        let files = json!({ "certificate": certificate, "key": key });
        if !self.certificates.contains(&files) {
            self.certificates.push(files);
        }
    }

    /// The name of a pool with these settings: the wanted one, or another where that is taken.
    pub fn pool(&mut self, name: &str, settings: &Value) -> Option<String> {
        let settings = &once_each(settings);
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
        let name: String = name.to_ascii_lowercase().chars().map(plain).take(48).collect();
        let name = name.trim_matches('-').to_owned();
        let name = if name.is_empty() { "pool".to_owned() } else { name };
        for number in 1..=POOLS_MAX {
            let tried = if number == 1 { name.clone() } else { format!("{name}-{number}") };
            match self.pools.get(&tried) {
                Some(known) if known == settings => return Some(tried),
                Some(_) => {}
                None if self.pools.len() >= POOLS_MAX => return None,
                None => {
                    self.pools.insert(tried.clone(), settings.clone());
                    return Some(tried);
                }
            }
        }
        None
    }

    /// The section.
    pub fn sections(self) -> EmittedSections {
        let mut sections = EmittedSections::default();
        sections.set("gateway", "listen", json!(self.listen));
        let mut tls = self.tls;
        if !self.certificates.is_empty() {
            tls.insert("certificates".into(), json!(self.certificates));
        }
        if !tls.is_empty() {
            sections.set("gateway", "tls", Value::Object(tls));
        }
        for (key, value) in self.settings {
            sections.set("gateway", &key, value);
        }
        if !self.pools.is_empty() {
            sections.set("gateway", "pools", json!(self.pools));
        }
        sections.set("gateway", "routes", json!(self.routes));
        sections
    }
}

/// The settings of a pool whose servers stand in it once: one that was there twice has twice the
/// weight.
fn once_each(settings: &Value) -> Value {
    let mut settings = settings.clone();
    let Some(servers) = settings.get_mut("servers").and_then(Value::as_array_mut) else {
        return settings;
    };
    let url = |it: &Value| it.get("url").unwrap_or(it).clone();
    let weight = |it: &Value| it.get("weight").and_then(Value::as_u64).unwrap_or(1);
    let mut found: Vec<Value> = Vec::new();
    for server in servers.drain(..) {
        match found.iter_mut().find(|it| url(it) == url(&server)) {
            None => found.push(server),
            Some(known) => {
                let sum = (weight(known) + weight(&server)).min(100);
                if known.is_string() {
                    *known = json!({ "url": known.clone() });
                }
                known["weight"] = json!(sum);
            }
        }
    }
    *servers = found;
    settings
}
