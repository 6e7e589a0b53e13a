//! Settings of the proxy itself as its clients see it: its certificate and its PAC file.
//!
//! Read and checked as a part of the section.

use super::parents::ParentHosts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::path::PathBuf;
use vocab::{Complaint, DomainName};

/// Entries of `bypass`: the script is read by every page that a browser opens.
const BYPASS_MAX: usize = 256;

/// The certificate of `https` listeners.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// The chain, leaf first, in PEM; a relative path starts from the configuration's folder. The
    /// file is watched: a new one is served within some seconds. Default: a certificate for `names`
    /// and the listener's addresses, signed by Tidegate's own authority.
    pub certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM.
    pub key: Option<PathBuf>,
    /// Names by which clients know this proxy, for the certificate that Tidegate signs. Default
    /// none.
    pub names: Vec<Text<DomainName>>,
}

/// The setup script at `/proxy.pac` and `/wpad.dat`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PacSettings {
    /// Hosts that browsers reach without the proxy: names with all below them, addresses, networks.
    /// Names without a dot, `.local`, `localhost`, loopback and link-local addresses always are. At
    /// most 256. Default none.
    pub bypass: Vec<Text<ParentHosts>>,
    /// Behaviour of browsers when the proxy does not answer: `none` (the default: they show an
    /// error) or `direct`, with which nothing is blocked any more.
    pub fallback: PacFallback,
}

/// Tells what browsers do when the proxy does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PacFallback {
    /// They show an error.
    #[default]
    None,
    /// They go past it.
    Direct,
}

impl TlsSettings {
    pub(super) fn check(&self) -> Option<Complaint> {
        if self.certificate.is_some() == self.key.is_some() {
            return None;
        }
        let missing = if self.key.is_none() { "key" } else { "certificate" };
        let complaint = Complaint::new(missing, "a certificate and its key go together");
        Some(complaint.remedy("give both files, or neither"))
    }
}

impl PacSettings {
    pub(super) fn check(&self) -> Option<Complaint> {
        (self.bypass.len() > BYPASS_MAX)
            .then(|| Complaint::new("bypass", format!("more than {BYPASS_MAX} entries")))
    }
}
