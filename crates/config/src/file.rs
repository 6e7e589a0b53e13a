//! The configuration file as it is written: one section a part, each the part's own `Settings`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The configuration that runs when none is named.
pub const DEFAULT_YAML: &str = include_str!("default.yaml");

/// A Tidegate configuration. A door whose section is absent does not run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct File {
    /// Folder for everything that is kept: certificates, compiled lists, the ledger, the admin
    /// token. No door serves what is in it. Default: systemd's `$STATE_DIRECTORY`; for root
    /// `/var/lib/tidegate`, where the configuration lies elsewhere than in the current folder; else
    /// `.tidegate-state` beside the configuration, or `tidegate` below `$XDG_STATE_HOME`
    /// (`~/.local/state`) where that cannot be written. `--state` on the command line outranks it.
    pub state_dir: Option<String>,
    /// Lists, clients and which lists apply to whom.
    pub policy: policy::Settings,
    /// The policy DNS forwarder.
    pub dns: Option<door_dns::Settings>,
    /// The server that answers in place of blocked hosts.
    pub pixel: Option<door_pixel::Settings>,
    /// The process that signs certificates.
    pub signer: transport::signer::Settings,
    /// The forward proxy.
    pub proxy: Option<door_proxy::Settings>,
    /// The web server: one entry a site.
    pub web: Vec<door_web::SiteSettings>,
    /// The reverse proxy.
    pub gateway: Option<door_gateway::Settings>,
    /// The control API and the dashboard.
    pub admin: admin::Settings,
    /// The record of requests.
    pub ledger: ledger::Settings,
}
