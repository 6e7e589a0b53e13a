//! What can be set for servers that name what is to be sent in their place.
//!
//! Plain data. Read as part of a route.

use crate::allowed_targets::AllowedTargets;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// URLs of one route that may be remembered at most: about 1 KiB each.
const REMEMBERED_MAX: u32 = 1_000_000;

/// Files and URLs that servers of a route may name to be sent in place of their answer. Without it,
/// fields such as `X-Reproxy-File` have no effect; they never reach a client.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReproxySettings {
    /// The folder below which `X-Reproxy-File` may name files, by their whole path; a relative
    /// folder starts from the configuration's. Links that lead out of it are not followed. Default
    /// none: files are not sent.
    pub files: Option<String>,
    /// Hosts from which `X-Reproxy-URL` may have something fetched: names, `*.NAME` for all below a
    /// name, addresses, networks, or `public` for the whole internet. A host that is named here may
    /// have any address, as servers of a pool may; link-local addresses and those of a cloud's
    /// metadata are never asked. Default none: nothing is fetched.
    pub urls: Vec<String>,
    /// True if `X-Reproxy-Service` may hand a request on to another pool, by its name. Default
    /// false.
    pub services: bool,
    /// True if `X-Accel-Redirect` may name a path that is routed again, also to routes that are
    /// `internal`. Default false.
    pub reroute: bool,
    /// Number of paths that are remembered for which `X-Reproxy-Cache-For` spares asking the server
    /// again. At the cap the least useful is forgotten. Default 1024, at most 1000000; 0 remembers
    /// none.
    pub remembered: u32,
}

impl Default for ReproxySettings {
    fn default() -> Self {
        Self { files: None, urls: Vec::new(), services: false, reroute: false, remembered: 1_024 }
    }
}

impl ReproxySettings {
    pub(super) fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.files.is_none() && self.urls.is_empty() && !self.services && !self.reroute {
            complaints.push(
                Complaint::new("", "nothing is allowed that a server could name").remedy(
                    "write files: /FOLDER, urls: [10.0.0.0/8], services: true or reroute: true",
                ),
            );
        }
        if self.files.as_ref().is_some_and(String::is_empty) {
            complaints.push(
                Complaint::new("files", "the folder has no name").remedy("write files: /srv/files"),
            );
        }
        for (index, text) in self.urls.iter().enumerate() {
            if let Err(why) = AllowedTargets::default().add(text) {
                complaints.push(
                    Complaint::new(format!("urls.{index}"), format!("{text:?}: {why}"))
                        .remedy("write a host, *.NAME, an address, a network, or public"),
                );
            }
        }
        if self.remembered > REMEMBERED_MAX {
            let message = format!("{} are too many: at most {REMEMBERED_MAX}", self.remembered);
            complaints.push(Complaint::new("remembered", message));
        }
        complaints
    }
}
