//! The configuration file as it is written: one section a part, each the part's own `Settings`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// Time that open connections may go on after an upgrade, where nothing is said.
const HARD_STOP_AFTER: Duration = Duration::from_mins(10);
/// The longest.
const HARD_STOP_AFTER_MAX: Duration = Duration::from_hours(24);

/// The configuration that runs when none is named.
pub const DEFAULT_YAML: &str = include_str!("default.yaml");

/// Bounds of the kernel on what may be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LandlockMode {
    /// To the folders of the start, where the kernel can.
    #[default]
    On,
    /// Not beyond what the file system says.
    Off,
}

/// A Tidegate configuration. A door whose section is absent does not run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConfigFile {
    /// Folder for everything that is kept: certificates, compiled lists, the ledger, the admin
    /// token. No door serves what is in it. Default: systemd's `$STATE_DIRECTORY`;
    /// `/var/lib/tidegate` for `/etc/tidegate/tidegate.yaml`, and for root where the configuration
    /// lies elsewhere than in the current folder; else `.tidegate-state` beside the configuration,
    /// or `tidegate` below `$XDG_STATE_HOME` (`~/.local/state`) where that cannot be written.
    /// `--state` on the command line outranks it.
    pub state_dir: Option<String>,
    /// The user that Tidegate becomes if root starts it, by name or number; never root itself. It
    /// does so before it reads a byte from outside, and keeps only the privileges that this file
    /// needs: to listen below port 1024, to write sets of the firewall. Default `tidegate` if there
    /// is such a user, else `nobody`. If another user starts it, it stays that user.
    pub user: Option<String>,
    /// The group that Tidegate has then, by name or number. Default: the user's own. Groups of
    /// which the user is a member come with either.
    pub group: Option<String>,
    /// Further files that are part of this one, from its folder on: a file, or a pattern as
    /// `conf.d/*.yaml`, whose files are taken in the order of their names. Their sections are
    /// joined to those here, and their lists appended; what is no section or list is set once. An
    /// included file includes nothing itself. At most 256. Default none.
    pub include: Vec<String>,
    /// Refusal by the kernel to write outside the folders that this file names at the start: the
    /// state folder, caches, uploads, logs (landlock): `on` or `off`. A reload that names another
    /// one then asks for a restart. Without effect where pipelines run programs. Default `on`.
    pub landlock: LandlockMode,
    /// Time that open connections may go on after an upgrade, in the process that was replaced;
    /// what is open then is cut. A stop gives five seconds. From one second to a day. Default
    /// `10m`.
    pub hard_stop_after: Option<Text<TimeSpan>>,
    /// Lists, clients and which lists apply to whom.
    pub policy: policy::Settings,
    /// The policy DNS forwarder.
    pub dns: Option<door_dns::Settings>,
    /// The server that answers in place of blocked hosts.
    pub pixel: Option<door_pixel::Settings>,
    /// The process that signs certificates.
    pub signer: signer::Settings,
    /// The forward proxy.
    pub proxy: Option<door_proxy::Settings>,
    /// The web server: one entry a site.
    pub web: Vec<door_web::SiteSettings>,
    /// The reverse proxy.
    pub gateway: Option<door_gateway::Settings>,
    /// The control API and the dashboard.
    pub admin: admin::Settings,
    /// Names and makers of the devices on the network, as the dashboard shows them.
    pub devices: device_names::DeviceSettings,
    /// Notice of newer versions of Tidegate. Default: nobody is asked.
    pub updates: release_notice::UpdateSettings,
    /// The fleet that this machine is part of. Default: none.
    pub fleet: Option<fleet_edge::FleetSettings>,
    /// The record of requests.
    pub ledger: ledger::Settings,
    /// The program's own log.
    pub log: program_log::ProgramLogSettings,
    /// Traces, metrics and logs for an OpenTelemetry collector.
    pub telemetry: telemetry::TelemetrySettings,
}

impl ConfigFile {
    /// Time that open connections may go on in a process that was replaced.
    pub fn hard_stop_after(&self) -> Duration {
        self.hard_stop_after.map_or(HARD_STOP_AFTER, |it| it.0.0)
    }

    /// Everything that is wrong with what is set beside the sections.
    pub(crate) fn check_top(&self) -> Vec<Complaint> {
        let bounds = Duration::from_secs(1)..=HARD_STOP_AFTER_MAX;
        if bounds.contains(&self.hard_stop_after()) {
            return Vec::new();
        }
        let complaint = Complaint::new("hard_stop_after", "from one second to a day");
        vec![complaint.remedy("write hard_stop_after: 10m")]
    }
}
