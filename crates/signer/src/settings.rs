//! What can be set for the signer: the `signer` section of the configuration.
//!
//! It opens no key and knows no user's number; `config` reads it and [`Settings::check`] says what
//! is wrong.

use crate::exclusions::{EXCLUDED_DEFAULT, EXCLUDED_MAX, NameExclusions};
use ::settings::Text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use vocab::{Complaint, DomainName};

/// The signer: the process that alone holds the key of the certificate authority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// User of the signer if root starts Tidegate; otherwise it runs as the user who starts it.
    /// Default `nobody`.
    pub user: String,
    /// Domains of your own, with all below them, which are never certified whatever a list says.
    /// None by default.
    pub own_domains: Vec<Text<DomainName>>,
    /// Other domains that are never certified, with all below them. Default: those of governments,
    /// and what is reserved for banks. A new authority carries both lists as name constraints, 128
    /// domains at most; one that devices trust already keeps those that it was made with until it
    /// is renewed.
    pub excluded: Vec<Text<DomainName>>,
    /// Signing for names that are blocked only by an alias. Only the DNS door and the proxy see
    /// aliases, so the signer would have to believe them: `never` (the DNS door gives such names no
    /// address), or `limited` (100, then one in ten seconds, counted across restarts). Default
    /// `never`.
    pub aliases: VouchMode,
    /// Names that are certified for a client that asks for them at the pixel door: `blocked` (those
    /// that the policy blocks) or `any`, the promise that a blocker of your own network decides
    /// which names come there; it wants `pixel.any_name`. Public suffixes, `own_domains` and
    /// `excluded` never are. Default `blocked`.
    pub names: SignedNames,
    /// Blocked names that share a certificate, so that a browser sends the requests for all of them
    /// over one connection: `known` (some 400 hosts of well-known companies, as far as lists block
    /// them), `learned` (those that the same client asked for within twelve hours; pages can then
    /// find out which ones these are) or `never`. Default `known`.
    pub bundles: BundleMode,
}

/// Names for which a leaf is signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignedNames {
    /// Names that the policy blocks.
    #[default]
    Blocked,
    /// Blocked names, and each that no rule lets pass, alone.
    Any,
}

/// Which names share a leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BundleMode {
    /// Those of well-known companies: the same for everybody.
    #[default]
    Known,
    /// Those that a client asked for itself.
    Learned,
    /// None but a domain with what is below it.
    Never,
}

/// Tells whether a leaf is signed on the word of the process that answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VouchMode {
    /// Now and then.
    Limited,
    /// Not at all.
    #[default]
    Never,
}

impl Default for Settings {
    fn default() -> Self {
        let domain = |text: &&str| DomainName::parse(text).ok().map(Text);
        Self {
            user: "nobody".into(),
            own_domains: Vec::new(),
            excluded: EXCLUDED_DEFAULT.iter().filter_map(domain).collect(),
            aliases: VouchMode::Never,
            names: SignedNames::Blocked,
            bundles: BundleMode::Known,
        }
    }
}

impl Settings {
    /// Every complaint, with paths relative to this section.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.user.is_empty() || self.user.contains([':', '\n']) {
            complaints.push(
                Complaint::new("user", format!("{:?} is no name of a user", self.user))
                    .remedy("write the name of a user who owns nothing, such as nobody"),
            );
        }
        let count = self.own_domains.len() + self.excluded.len();
        if count > EXCLUDED_MAX {
            complaints.push(
                Complaint::new("excluded", format!("{count} domains are excluded"))
                    .remedy(format!("name {EXCLUDED_MAX} at most, own_domains included")),
            );
        }
        for (path, domains) in [("own_domains", &self.own_domains), ("excluded", &self.excluded)] {
            for (index, domain) in domains.iter().enumerate() {
                if crate::names::host_name(domain.0.as_str()).is_err() {
                    let message = format!("{} is no domain of host names", domain.0.as_str());
                    complaints.push(
                        Complaint::new(format!("{path}.{index}"), message)
                            .remedy("write a domain such as example.org"),
                    );
                }
            }
        }
        complaints
    }

    /// Returns what is never certified. `own_addresses` are those of our servers, which may be.
    pub fn exclusions(&self, own_addresses: Vec<IpAddr>) -> NameExclusions {
        let all = self.own_domains.iter().chain(&self.excluded);
        NameExclusions::new(all.map(|domain| domain.0.as_str().to_owned()), own_addresses)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_default_settings_are_right_and_name_every_default() {
        let settings = Settings::default();
        assert_eq!(settings.check(), []);
        assert_eq!(settings.excluded.len(), EXCLUDED_DEFAULT.len());
        assert_eq!(settings.exclusions(Vec::new()), NameExclusions::default());
    }

    #[test]
    fn too_many_domains_and_no_user_are_refused() {
        let many = (0..=EXCLUDED_MAX).map(|it| Text(format!("d{it}.test").parse().unwrap()));
        let settings =
            Settings { user: String::new(), excluded: many.collect(), ..Settings::default() };
        let paths: Vec<_> = settings.check().into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["user", "excluded"]);
    }
}
