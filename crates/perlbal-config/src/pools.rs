//! Pools: their nodes, and what the services in front of them say of connections, queues and
//! second tries, which is a pool's affair here.

use crate::PerlbalSurroundings;
use crate::emitted::EmittedConfig;
use crate::facts::{ProxyFacts, ServiceFacts};
use crate::model::PerlbalPool;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Servers that one request is sent to, at most.
const ATTEMPTS_MAX: u64 = 8;
/// Idle connections of a server, at most.
const KEPT_MAX: u64 = 1_024;
/// Largest count that settings of ours take.
const COUNT_MAX: u64 = 1_000_000;

impl EmittedConfig {
    pub(crate) fn add_pools(
        &mut self,
        pools: &BTreeMap<String, PerlbalPool>,
        around: &dyn PerlbalSurroundings,
    ) {
        for (name, pool) in pools {
            let servers: Vec<_> = pool.nodes.iter().map(|it| format!("http://{it}")).collect();
            let mut made = json!({ "servers": servers });
            self.add_nodefile(pool, &mut made, around);
            if pool.nodes.is_empty() && made.get("servers_file").is_none() {
                made["starts_empty"] = json!(true);
            }
            for (key, told) in &pool.settings {
                if key != "nodefile" && key != "balance_method" {
                    let text = format!("{key}: Perlbal has no such setting of a pool");
                    self.note(&told.place, text);
                }
            }
            self.pools.insert(name.clone(), made);
        }
    }

    fn add_nodefile(
        &mut self,
        pool: &PerlbalPool,
        made: &mut Value,
        around: &dyn PerlbalSurroundings,
    ) {
        let Some(told) = pool.settings.get("nodefile") else { return };
        let file = told.value.as_str();
        if ["none", "undef", "null", "\"\"", "''"].contains(&file) {
            return;
        }
        // Without the file nothing would start.
        if let Err(why) = around.read(Path::new(file)) {
            let text = format!("nodefile: {file}: {why}; make it, and write servers_file: {file}");
            self.note(&told.place, text);
            return;
        }
        if !file.starts_with('/') {
            let text = "nodefile: a relative path begins at the folder of the new configuration";
            self.note(&told.place, text);
        }
        made["servers_file"] = json!(file);
    }

    /// Takes over what the first service that leads to a pool says of it.
    pub(crate) fn shape_pool(&mut self, service: &ServiceFacts, name: &str) {
        let Some(pool) = self.pools.get_mut(name) else { return };
        let settings = of_service(service);
        // Only a pool that was shaped says what is kept.
        let Some(known) = pool.get("keep_alive").map(|_| &*pool) else {
            for (key, value) in settings {
                pool[key] = value;
            }
            return;
        };
        let differs = SHAPED.iter().any(|key| known.get(*key) != settings.get(*key));
        if differs {
            let why = "is shaped by another service, whose settings count for both";
            self.note(&service.place, format!("{}: the pool {name} {why}", service.name));
        }
    }
}

/// Settings of a pool that a service decides.
const SHAPED: [&str; 5] = ["balance", "keep_alive", "verify_connection", "queue", "retry"];

fn of_service(service: &ServiceFacts) -> BTreeMap<&'static str, Value> {
    let ProxyFacts { kept, uses_max, verify, high_cookie, relief, retries, .. } = &service.proxy;
    let mut settings = BTreeMap::new();
    let mut keep_alive = json!({ "connections": (*kept).min(KEPT_MAX) });
    if let Some(uses) = uses_max {
        keep_alive["requests"] = json!(uses.min(&COUNT_MAX));
    }
    settings.insert("keep_alive", keep_alive);
    if *kept > 0 {
        settings.insert("balance", json!("idle_connection"));
    }
    match verify.as_deref() {
        Some("*") => {
            settings.insert("verify_connection", json!(true));
        }
        Some(path) => {
            settings.insert("verify_connection", json!(path));
        }
        None => {}
    }
    let mut queue = serde_json::Map::new();
    if let Some(cookie) = high_cookie {
        queue.insert("high".into(), json!([cookie]));
    }
    if let Some((waiting, percent)) = relief {
        let waiting = waiting.min(&COUNT_MAX);
        queue.insert("relief".into(), json!({ "waiting": waiting, "percent": percent }));
    }
    if service.has_plugin("queues") {
        queue.insert("fields".into(), json!(true));
    }
    if !queue.is_empty() {
        settings.insert("queue", Value::Object(queue));
    }
    if let Some(attempts) = retries {
        let attempts = (*attempts).clamp(1, ATTEMPTS_MAX);
        settings.insert("retry", json!({ "on": ["closed", 500], "attempts": attempts }));
    }
    settings
}
