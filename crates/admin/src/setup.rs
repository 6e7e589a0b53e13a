//! The admin listener's settings.
//!
//! Read by `config`; the binary binds the address and hands both to [`crate::Admin::new`].

use crate::console_settings::ConsoleChoice;
use crate::https_settings::HttpsSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use single_sign_on::SignOnSettings;
use std::net::{Ipv4Addr, SocketAddr};
use vocab::{Complaint, DomainName};

/// Names that may be configured.
const HOSTS_MAX: usize = 64;

/// The admin API, the metrics page and the dashboard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where to listen, as address and port; HTTP without TLS. Default 127.0.0.1:9053: only this
    /// machine. Elsewhere passwords and tokens cross the network in clear: see `https`.
    /// With port 0 the system picks one at each start; the file `admin.address` says which. A
    /// reload takes another one; changed in the dashboard, the old one stays beside it until the
    /// change is confirmed from the new one, and a change that is not is taken back after a minute.
    pub listen: Text<SocketAddr>,
    /// The same over HTTPS, for other machines: a mapping with `listen`, and `names` or
    /// `certificate` and `key`. It is opened at the start. Default: none.
    pub https: Option<HttpsSettings>,
    /// Host names under which browsers may call it, besides `localhost`, loopback addresses and the
    /// address listened on. Any other name is refused, so that a hostile page cannot reach it by
    /// DNS rebinding. Default none, at most 64.
    pub hosts: Vec<Text<DomainName>>,
    /// Sign-in by a provider that speaks OpenID Connect, such as Keycloak, Authentik, Authelia or
    /// Entra ID, beside passwords and the token. It is read at the start. Default: none.
    pub single_sign_on: Option<SignOnSettings>,
    /// Where the metrics page is served besides, with `/healthz` and `/readyz` and nothing else, as
    /// address and port such as `192.0.2.1:9054`; HTTP, and no token is asked for: whoever reaches
    /// it may read how much is asked, and the names of lists, upstreams and servers. It is opened
    /// at the start. Default: none, and scrapers use `listen` with the token that stands in
    /// `admin.metrics-token` in the state folder and opens the metrics page alone.
    pub metrics_listen: Option<Text<SocketAddr>>,
    /// Changes of this file by commands (`tidegate ctl set`, the API): `on` or `off`. `on` lets
    /// Tidegate write in the file's folder, landlock or not, where its user has the right to. It is
    /// read at the start. Default `off`.
    pub config_edits: ConfigEdits,
    /// The line console, with Perlbal's commands: a loopback address such as `127.0.0.1:60000`, or
    /// `unix:/PATH`, or a mapping with `listen` and `trust`. It is opened at the start. Default:
    /// none.
    pub console: Option<ConsoleChoice>,
}

/// Changes of the configuration's file by commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConfigEdits {
    /// They are made, and taken over at once.
    On,
    /// They are refused.
    #[default]
    Off,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: Text(SocketAddr::from((Ipv4Addr::LOCALHOST, 9053))),
            https: None,
            hosts: Vec::new(),
            single_sign_on: None,
            metrics_listen: None,
            config_edits: ConfigEdits::default(),
            console: None,
        }
    }
}

impl Settings {
    /// Warnings about settings that are valid, with paths relative to this section: a dashboard
    /// that others can reach without encryption.
    pub fn warnings(&self) -> Vec<Complaint> {
        let sign_on = self.single_sign_on.iter().flat_map(SignOnSettings::warnings);
        let sign_on = sign_on.map(|it| it.under("single_sign_on"));
        if self.listen.ip().is_loopback() {
            return sign_on.collect();
        }
        let message = format!(
            "warning: {} is reached from other machines over plain HTTP, and whoever listens on the \
             way can take the token and then control Tidegate",
            self.listen.0
        );
        let remedy = "listen on 127.0.0.1, and let others come by HTTPS: \
                      admin.https: { listen: \"0.0.0.0:9443\" }";
        std::iter::once(Complaint::new("listen", message).remedy(remedy)).chain(sign_on).collect()
    }

    /// Every complaint, with paths relative to this section.
    pub fn check(&self) -> Vec<Complaint> {
        let console = self.console.iter().flat_map(ConsoleChoice::check);
        let https = self.https.iter().flat_map(HttpsSettings::check);
        let mut complaints: Vec<_> = console.map(|it| it.under("console")).collect();
        complaints.extend(https.map(|it| it.under("https")));
        let sign_on = self.single_sign_on.iter().flat_map(SignOnSettings::check);
        complaints.extend(sign_on.map(|it| it.under("single_sign_on")));
        if self.hosts.len() > HOSTS_MAX {
            complaints.push(
                Complaint::new("hosts", format!("{} names are too many", self.hosts.len()))
                    .remedy(format!("write at most {HOSTS_MAX}")),
            );
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_loopback_and_right() {
        let settings = Settings::default();
        assert!(settings.listen.ip().is_loopback());
        assert_eq!(settings.check(), []);
    }

    #[test]
    fn too_many_hosts_are_a_complaint() {
        let name = DomainName::parse("box.lan").unwrap();
        let wrong = Settings { hosts: vec![Text(name); HOSTS_MAX + 1], ..Settings::default() };
        let paths: Vec<_> = wrong.check().into_iter().map(|complaint| complaint.path).collect();
        assert_eq!(paths, ["hosts"]);
    }
}
