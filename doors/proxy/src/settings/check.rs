//! Check of the proxy door's settings: everything that is wrong, at once.
//!
//! It reads no file: what stands in files is found when the door is made. Called by `config`.

use super::{Settings, bandwidth, parents, passing};
use crate::url_rules;
use access_log::AccessLogChoice;
use http_front::HealthPath;
use std::ops::RangeInclusive;
use std::time::Duration;
use vocab::{Complaint, Door, Listen, TimeSpan};
use wasm_filters::WasmFilterSettings;

/// A quiet tunnel is kept at most a day: long enough for any push channel.
const TUNNEL_IDLE_MAX: Duration = Duration::from_hours(24);
/// An hour is longer than any report takes that a person waits for.
const RESPONSE_TIMEOUT_MAX: Duration = Duration::from_hours(1);

/// Connections to one origin: more of them than this bound nothing.
const PER_ORIGIN: RangeInclusive<u32> = 1..=10_000;
/// Names that are looked through one by one for each request.
const NAMES_MAX: usize = 1000;
/// Rules of freshness, each of which a URL may be held against.
const FRESHNESS_MAX: usize = 100;

impl Settings {
    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.listen.is_empty() {
            complaints.push(
                Complaint::new("listen", "the proxy has nowhere to listen")
                    .remedy("write listen: [\"http://127.0.0.1:3128\"]"),
            );
        }
        for (index, listen) in self.listen.iter().enumerate() {
            complaints.extend(check_listen(&format!("listen.{index}"), listen));
        }
        if self.clients.is_empty() {
            complaints.push(
                Complaint::new("clients", "no client may use the proxy")
                    .remedy("name networks, as in [192.168.0.0/16], or leave clients out"),
            );
        }
        if let Some(script) = &self.script {
            let wrong = script.settings().check();
            complaints.extend(wrong.into_iter().map(|it| it.under("script")));
        }
        complaints.extend(WasmFilterSettings::check_all(&self.wasm));
        complaints.extend(self.health.as_ref().and_then(HealthPath::check));
        complaints.extend(AccessLogChoice::check_if(self.access_log.as_ref()));
        if let Some(redirector) = &self.redirector {
            complaints.extend(redirector.check().into_iter().map(|it| it.under("redirector")));
        }
        complaints.extend(check_span(
            "tunnel_idle",
            *self.tunnel_idle,
            Duration::from_secs(10)..=TUNNEL_IDLE_MAX,
        ));
        complaints.extend(check_span(
            "response_timeout",
            *self.response_timeout,
            Duration::from_secs(1)..=RESPONSE_TIMEOUT_MAX,
        ));
        let of_heads = self.response_head.check();
        complaints.extend(of_heads.into_iter().map(|it| it.under("response_head")));
        if self.connections == 0 || self.connections_per_client == 0 {
            let path = if self.connections == 0 { "connections" } else { "connections_per_client" };
            complaints.push(Complaint::new(path, "at least one connection is needed"));
        }
        if self.connections_per_origin.is_some_and(|most| !PER_ORIGIN.contains(&most)) {
            let complaint = Complaint::new("connections_per_origin", "it is out of bounds");
            complaints.push(complaint.remedy("write a number from 1 to 10000, or leave it out"));
        }
        if self.rebinding_allow.len() > NAMES_MAX {
            let message =
                format!("{} names are over the {NAMES_MAX} allowed", self.rebinding_allow.len());
            let complaint = Complaint::new("rebinding_allow", message);
            complaints.push(complaint.remedy("write the names that they stand below"));
        }
        complaints.extend(self.check_transparent());
        complaints.extend(self.check_mirror());
        complaints.extend(self.check_leaves());
        if let Some(cache) = &self.cache {
            complaints.extend(check_cache(cache).into_iter().map(|it| it.under("cache")));
        }
        complaints
    }

    /// The complaint about passwords that nobody can send.
    fn check_transparent(&self) -> Option<Complaint> {
        let listen = self.listen.iter().find(|listen| listen.scheme.is_transparent())?;
        self.auth.as_ref().filter(|auth| auth.exempt.is_empty())?;
        let message = format!(
            "clients whose connections are brought to {} know of no proxy, and send it no password",
            listen.0
        );
        let remedy = "name their networks under auth.exempt, or leave out auth";
        Some(Complaint::new("auth.exempt", message).remedy(remedy))
    }

    fn check_mirror(&self) -> Option<Complaint> {
        if self.mirror.len() > NAMES_MAX {
            let message = format!("{} names are over the {NAMES_MAX} allowed", self.mirror.len());
            let complaint = Complaint::new("mirror", message);
            return Some(complaint.remedy("write the names that they stand below"));
        }
        let is_closed = !self.mirror.is_empty() && self.auth.is_some();
        is_closed.then(|| {
            let message = "programs that use a mirror send it no proxy password";
            Complaint::new("mirror", message).remedy("leave out auth, and name their `clients`")
        })
    }

    fn check_leaves(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if let Some(auth) = &self.auth {
            complaints.extend(auth.check().into_iter().map(|it| it.under("auth")));
        }
        complaints.extend(self.tls.check().into_iter().map(|it| it.under("tls")));
        let listening: Vec<_> = self.listen.iter().map(|listen| listen.address).collect();
        complaints.extend(parents::check(self.parent.as_ref(), &self.parents, &listening));
        complaints.extend(self.check_source());
        complaints.extend(bandwidth::check(&self.bandwidth));
        complaints.extend(passing::check_censored(&self.censor));
        complaints.extend(passing::check_upgrade(&self.upgrade));
        complaints.extend(self.pac.check().into_iter().map(|it| it.under("pac")));
        complaints
    }
}

impl Settings {
    fn check_source(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for (index, source) in self.source.iter().map(|source| source.0).enumerate() {
            let path = format!("source.{index}");
            if source.is_unspecified() || source.is_multicast() {
                let complaint = Complaint::new(path, format!("nothing leaves from {source}"));
                complaints.push(complaint.remedy("write an address of this machine"));
            } else if self.source[..index].iter().any(|it| it.0.is_ipv4() == source.is_ipv4()) {
                let complaint = Complaint::new(path, "there is one of this family already");
                complaints.push(complaint.remedy("write one address of IPv4 and one of IPv6"));
            } else if !self.family.accepts(source) {
                let complaint = Complaint::new(path, format!("family leaves {source} no use"));
                complaints.push(complaint.remedy("leave it out, or write family: any"));
            }
        }
        complaints
    }
}

fn check_listen(path: &str, listen: &Listen) -> Option<Complaint> {
    let no_path = "a proxy listens at an address, not at a path";
    http_front::check_listen(Door::Proxy, path, listen, no_path)
}

/// Everything that is wrong with the cache; paths are relative to it.
fn check_cache(cache: &http_cache::Settings) -> Vec<Complaint> {
    let mut complaints = cache.check();
    complaints.extend(url_rules::check("never", &cache.never));
    if cache.freshness.len() > FRESHNESS_MAX {
        let message =
            format!("{} rules are over the {FRESHNESS_MAX} allowed", cache.freshness.len());
        let complaint = Complaint::new("freshness", message);
        complaints.push(complaint.remedy("write URLs with the same times into one rule"));
        return complaints;
    }
    for (index, rule) in cache.freshness.iter().enumerate() {
        let found = rule.check().into_iter().chain(url_rules::check("urls", &rule.urls));
        complaints.extend(found.map(|it| it.under(&format!("freshness.{index}"))));
    }
    complaints
}

fn check_span(
    path: &str,
    span: TimeSpan,
    bounds: std::ops::RangeInclusive<Duration>,
) -> Option<Complaint> {
    if bounds.contains(&span.0) {
        return None;
    }
    let (least, most) = (TimeSpan(*bounds.start()), TimeSpan(*bounds.end()));
    Some(
        Complaint::new(path, format!("{span} is out of bounds"))
            .remedy(format!("write a span from {least} to {most}")),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::super::{AuthSettings, ParentSettings, TokenDigest};
    use super::*;
    use settings::Text;

    #[test]
    fn the_default_is_right_and_near() {
        let settings = Settings::default();
        assert_eq!(settings.check(), []);
        assert_eq!(settings.clients.len(), 8);
        let allowed = |ip: &str| settings.clients.iter().any(|it| it.contains(ip.parse().unwrap()));
        assert!(allowed("127.0.0.1") && allowed("::1") && allowed("192.168.7.7"));
        assert!(!allowed("203.0.113.1") && !allowed("2001:db8::1"));
    }

    #[test]
    fn nobody_is_asked_for_a_password_who_knows_of_no_proxy() {
        let token = Text(TokenDigest([0; 32]));
        let with = |listen: &str, exempt: &[&str]| Settings {
            listen: vec![Text(listen.parse().unwrap())],
            auth: Some(AuthSettings {
                tokens: [("phone".into(), token)].into(),
                exempt: exempt.iter().map(|it| Text(it.parse().unwrap())).collect(),
                ..AuthSettings::default()
            }),
            ..Settings::default()
        };
        for scheme in ["redirect", "tproxy"] {
            let listen = format!("{scheme}://192.168.1.1:3129");
            let paths: Vec<_> = with(&listen, &[]).check().into_iter().map(|it| it.path).collect();
            assert_eq!(paths, ["auth.exempt"]);
            assert_eq!(with(&listen, &["192.168.0.0/16"]).check(), []);
        }
        assert_eq!(with("http://192.168.1.1:3128", &[]).check(), []);
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let settings = Settings {
            listen: vec![Text("udp://127.0.0.1:1".parse().unwrap())],
            clients: Vec::new(),
            tunnel_idle: Text(TimeSpan(Duration::ZERO)),
            upgrade: vec!["websocket".into(), "h2c".into()],
            parent: Some(ParentSettings::Several(Vec::new())),
            cache: Some(http_cache::Settings {
                finish_percent: 101,
                never: vec!["a".into()],
                ..Default::default()
            }),
            ..Settings::default()
        };
        let paths: Vec<_> = settings.check().into_iter().map(|it| it.path).collect();
        let expected = [
            "listen.0",
            "clients",
            "tunnel_idle",
            "parent",
            "upgrade.1",
            "cache.finish_percent",
            "cache.never.0",
        ];
        assert_eq!(paths, expected);
    }
}
