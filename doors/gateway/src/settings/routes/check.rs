//! Everything that is wrong with one route, said at once.
//!
//! It opens no file. Called by the check of the section.

use super::RouteSettings;
use crate::settings::TIMEOUT_MAX;
use balancer::PoolSettings;
use http_engine::upgrade::check_protocol;
use settings::Text;
use std::collections::BTreeMap;
use std::time::Duration;
use vocab::Complaint;
use wasm_filters::WasmFilterSettings;

/// Protocols of one route: each is held against what a request asks for.
const UPGRADES_MAX: usize = 8;

impl RouteSettings {
    pub(in crate::settings) fn check(
        &self,
        pools: &BTreeMap<String, PoolSettings>,
    ) -> Vec<Complaint> {
        let mut complaints = self.route_match().err().unwrap_or_default();
        complaints.extend(self.check_destination(pools));
        complaints.extend(self.check_folder());
        complaints.extend(self.check_onward());
        complaints.extend(self.check_cache());
        complaints.extend(self.check_reproxy());
        complaints.extend(self.check_guards());
        let script = self.script.as_ref().map(|script| script.settings().check());
        complaints.extend(script.into_iter().flatten().map(|it| it.under("script")));
        complaints.extend(WasmFilterSettings::check_all(&self.wasm));
        complaints.extend(self.check_edge());
        complaints.extend(self.check_upgrade());
        complaints.extend(self.check_slashes());
        complaints
    }

    /// Returns what is wrong with where it leads.
    fn check_destination(&self, pools: &BTreeMap<String, PoolSettings>) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let mut destinations = self.destinations();
        match (destinations.next(), destinations.next()) {
            (Some(first), Some(second)) => complaints.push(
                Complaint::new(second, format!("the route leads to its {first} already"))
                    .remedy(format!("leave {first} or {second} out")),
            ),
            (Some(_), None) => {}
            (None, _) => complaints.extend(self.check_without()),
        }
        complaints.extend(self.fixed_answer().err());
        if let Some(pool) = &self.pool
            && !pools.contains_key(pool)
        {
            let known: Vec<_> = pools.keys().map(String::as_str).collect();
            let remedy = if known.is_empty() {
                format!("write it under pools: {{ {pool}: {{ servers: [...] }} }}")
            } else {
                format!("known are: {}", known.join(", "))
            };
            complaints
                .push(Complaint::new("pool", format!("there is no pool {pool:?}")).remedy(remedy));
        }
        complaints
    }

    /// Returns what is wrong with a route that leads nowhere.
    fn check_without(&self) -> Vec<Complaint> {
        let guards = [
            ("limit", self.limit.is_some()),
            ("requests", self.requests.is_some()),
            ("auth", self.auth.is_some()),
            ("forward_auth", self.forward_auth.is_some()),
            ("script", self.script.is_some()),
            ("wasm", !self.wasm.is_empty()),
        ];
        let guards = guards.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| {
            Complaint::new(name, "the route leads nowhere, so no request gets past it anyway")
                .remedy(format!("name a pool or a root, or leave {name} out"))
        });
        let mut complaints: Vec<_> = guards.collect();
        if self.block.is_none() {
            complaints.push(
                Complaint::new("pool", "the route neither blocks nor leads anywhere")
                    .remedy("name a pool, a root, an answer, or patterns to block"),
            );
        }
        complaints
    }

    /// Returns what is said of a folder, where there is none. What is wrong with one is found when
    /// it is opened.
    fn check_folder(&self) -> Vec<Complaint> {
        let of_folders = [
            ("index", self.index != Self::default().index),
            ("listing", self.listing),
            ("forbidden_files", self.forbidden_files.is_some()),
            ("fallback", self.fallback.is_some()),
            ("fastcgi", !self.fastcgi.is_empty()),
        ];
        let set = of_folders.into_iter().filter(|(_, is_set)| *is_set && self.root.is_none());
        set.map(|(name, _)| {
            Complaint::new(name, "the route has no folder that this could be about")
                .remedy(format!("write root: /srv/www, or leave {name} out"))
        })
        .collect()
    }

    /// Returns what is wrong with how its servers are asked.
    fn check_onward(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        match self.host_sent() {
            Ok(_) => complaints.extend(self.path_rewrite().err()),
            Err(why) => complaints
                .push(Complaint::new("set_host", why).remedy("write keep, server, or a host")),
        }
        let of_pools = [
            ("rewrite", self.rewrite.is_some()),
            ("set_host", self.set_host != Self::default().set_host),
            ("strip_prefix", self.strip_prefix.is_some() && self.root.is_none()),
            ("priority", self.priority != Self::default().priority),
            ("rewrite_cookies", self.rewrite_cookies),
            ("uploads", self.uploads.is_some()),
            ("upload_status", self.upload_status),
        ];
        for (name, _) in of_pools.into_iter().filter(|(_, is_set)| *is_set && self.pool.is_none()) {
            complaints.push(
                Complaint::new(name, "the route has no servers that could be asked")
                    .remedy(format!("name a pool, or leave {name} out")),
            );
        }
        complaints
    }

    fn check_cache(&self) -> Option<Complaint> {
        if !self.cache {
            return self.store_set_cookie.then(|| {
                Complaint::new("store_set_cookie", "the route has no cache")
                    .remedy("write cache: true, or leave store_set_cookie out")
            });
        }
        if self.pool.is_none() {
            let complaint =
                Complaint::new("cache", "the route leads to nothing that could be cached");
            return Some(complaint.remedy("name a pool, or leave cache out"));
        }
        let by_network = !self.clients.is_empty() || !self.peers.is_empty();
        if self.with_headers.is_empty() && !by_network && self.listen.is_empty() {
            return None;
        }
        let message = "what is cached is found by its URL alone, for all clients and fields";
        let complaint = Complaint::new("cache", message);
        Some(complaint.remedy("leave cache out, or with_headers, clients, peers and listen"))
    }

    /// Returns what is wrong with what is done to messages on their way.
    fn check_edge(&self) -> Vec<Complaint> {
        let headers = self.headers.check().into_iter().map(|it| it.under("headers"));
        let compress = self.compress.check().into_iter().map(|it| it.under("compress"));
        let mut complaints: Vec<_> = headers.chain(compress).collect();
        if let Some(size) = self.body_max
            && size.bytes() < 1 << 10
        {
            complaints.push(
                Complaint::new("body_max", format!("{size} is out of bounds"))
                    .remedy("write a size of at least 1KiB"),
            );
        }
        if let Some(Text(span)) = self.response_timeout
            && (span.0 < Duration::from_secs(1) || span.0 > TIMEOUT_MAX)
        {
            complaints.push(
                Complaint::new("response_timeout", format!("{span} is out of bounds"))
                    .remedy("write a span from 1s to 1h"),
            );
        }
        complaints
    }

    /// Complaints about the protocols that connections may leave HTTP for.
    fn check_upgrade(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.upgrade.len() > UPGRADES_MAX {
            let message = format!("at most {UPGRADES_MAX} protocols");
            complaints.push(Complaint::new("upgrade", message));
        }
        for (index, protocol) in self.upgrade.iter().enumerate() {
            if let Err(why) = check_protocol(protocol) {
                complaints.push(
                    Complaint::new(format!("upgrade.{index}"), format!("{protocol:?}: {why}"))
                        .remedy("write upgrade: [websocket]"),
                );
            }
        }
        if self.upgrade != Self::default().upgrade && self.pool.is_none() {
            complaints.push(
                Complaint::new("upgrade", "the route has no servers that could leave HTTP")
                    .remedy("name a pool, or leave upgrade out"),
            );
        }
        complaints
    }

    fn check_reproxy(&self) -> Vec<Complaint> {
        let Some(reproxy) = &self.reproxy else { return Vec::new() };
        let mut complaints: Vec<_> =
            reproxy.check().into_iter().map(|it| it.under("reproxy")).collect();
        if self.pool.is_none() {
            complaints.push(
                Complaint::new("reproxy", "the route has no servers that could name anything")
                    .remedy("name a pool, or leave reproxy out"),
            );
        }
        if self.cache && reproxy.reroute {
            complaints.push(
                Complaint::new("reproxy.reroute", "what is routed again is not cached here")
                    .remedy("cache the route that it leads to, and leave cache out of this one"),
            );
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{FixedAnswerSettings, RedirectSettings};
    use route_matching::RewriteSettings;

    fn paths(route: &RouteSettings) -> Vec<String> {
        let pools = [("app".to_owned(), PoolSettings::default())].into();
        route.check(&pools).into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn a_route_leads_to_one_place() {
        let redirect = || Some(RedirectSettings { to: "/new".into(), ..Default::default() });
        let answer = || Some(FixedAnswerSettings::default());
        let base = RouteSettings::default;
        for route in [
            RouteSettings { redirect: redirect(), ..base() },
            RouteSettings { answer: answer(), ..base() },
            RouteSettings { null_answer: true, ..base() },
            RouteSettings { root: Some("/srv".into()), listing: true, ..base() },
            RouteSettings { root: Some("/srv".into()), strip_prefix: Some("/a".into()), ..base() },
            RouteSettings { pool: Some("app".into()), set_host: "server".into(), ..base() },
        ] {
            assert_eq!(paths(&route), [""; 0], "{route:?}");
        }
        let two = RouteSettings { redirect: redirect(), null_answer: true, ..base() };
        assert_eq!(paths(&two), ["null_answer"]);
        assert_eq!(paths(&base()), ["pool"]);
        let limit = crate::settings::LimitSettings {
            rate: "1/s".into(),
            burst: None,
            key: "client".into(),
            log_only: false,
            shared: None,
        };
        let limited = RouteSettings { limit: Some(limit), ..base() };
        assert_eq!(paths(&limited), ["limit", "pool"]);
        assert_eq!(paths(&RouteSettings { answer: answer(), ..limited }), [""; 0]);
    }

    #[test]
    fn what_has_no_use_on_a_route_is_refused() {
        let rewrite = |from: &str| Some(RewriteSettings { from: from.into(), to: "/".into() });
        let answering =
            || RouteSettings { answer: Some(FixedAnswerSettings::default()), ..Default::default() };
        let wrong = RouteSettings {
            fallback: Some("/a".into()),
            rewrite: rewrite("^/a"),
            set_host: "server".into(),
            strip_prefix: Some("/a".into()),
            uploads: Some(crate::settings::UploadMode::Buffer),
            cache: true,
            ..answering()
        };
        let expected = ["fallback", "rewrite", "set_host", "strip_prefix", "uploads", "cache"];
        assert_eq!(paths(&wrong), expected);
        let pool = || RouteSettings { pool: Some("app".into()), ..Default::default() };
        assert_eq!(paths(&RouteSettings { rewrite: rewrite("("), ..pool() }), ["rewrite"]);
        assert_eq!(paths(&RouteSettings { set_host: "a b".into(), ..pool() }), ["set_host"]);
        let wrong = |text: &str| RouteSettings { strip_prefix: Some(text.into()), ..pool() };
        assert_eq!(paths(&wrong("a")), ["strip_prefix"]);
        assert_eq!(paths(&wrong("/")), ["strip_prefix"]);
        let fields = [("X-A".to_owned(), "1".to_owned())].into();
        let cached = RouteSettings { cache: true, with_headers: fields, ..pool() };
        assert_eq!(paths(&cached), ["cache"]);
    }
}
