//! Single clients, as far as they are known, as JSON.

use crate::{OverrideInfo, TimePoint, TopLine};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vocab::Action;

/// Clients that were seen.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ClientTable {
    /// Clients, by their requests; 1000 at most.
    pub clients: Vec<ClientInfo>,
    /// Number of clients that are left out.
    pub more: usize,
}

/// A client that was seen.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ClientInfo {
    /// Address.
    pub client: String,
    /// The device, as far as it is known.
    #[serde(flatten)]
    pub device: DeviceInfo,
    /// Requests.
    pub requests: u64,
    /// Requests among them that were blocked.
    pub blocked: u64,
    /// The first of them.
    pub first_at: String,
    /// The last of them.
    pub last_at: String,
    /// Trust in the certificate authority: `trusts`, `distrusts` or `unknown`.
    pub trust: String,
    /// Everything allowed, or blocked, for it alone, by hand; null where nothing is.
    pub held: Option<ClientHold>,
}

/// A device, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceInfo {
    /// Name; null where none is known.
    pub name: Option<String>,
    /// Source of the name: `local` (`dns.local`), `dhcp` (a file of `devices.leases`), `mdns` (the
    /// device said so) or `reverse` (a resolver of `dns.private_reverse`); null without a name.
    #[serde(default)]
    pub name_source: Option<String>,
    /// MAC address, of a device on a link of this machine; else null.
    pub mac: Option<String>,
    /// True if the device has made that address up, as phones do: it may have another tomorrow.
    pub mac_random: bool,
    /// Maker of its network card, by the first bytes of the MAC address; null where that is
    /// unknown, and of addresses that the device has made up.
    #[serde(default)]
    pub maker: Option<String>,
    /// The profile that holds for it: `default` where none names it.
    pub profile: String,
}

/// Everything allowed, or blocked, for one client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClientHold {
    /// `allow` or `block`.
    pub action: String,
    /// Until when; null if until it is taken back.
    pub until: Option<String>,
    /// Seconds until then; null if it does not end by itself.
    pub left_s: Option<u64>,
}

/// A client that is asked about.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ActivityQuery {
    /// Address of the client.
    pub client: String,
    /// `1h`, `24h` (if left out), `7d` or `30d`.
    pub range: Option<String>,
}

/// Requests of one client, over time and by name.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ClientActivity {
    /// Address of the client.
    pub client: String,
    /// Length of a step, in seconds.
    pub step_s: u32,
    /// Steps from old to new; the last one is not over yet.
    pub points: Vec<TimePoint>,
    /// Names that passed most, at most 10.
    pub names: Vec<TopLine>,
    /// Names that were blocked most, at most 10.
    pub blocked: Vec<TopLine>,
}

impl ClientHold {
    /// An override of everything, as it is shown with its client.
    pub fn of(held: &OverrideInfo, action: Action) -> Self {
        let action = match action {
            Action::Pass => "allow",
            Action::Block => "block",
        };
        Self { action: action.into(), until: held.until.clone(), left_s: held.left_s }
    }
}

/// Which clients trust the certificate authority.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ClientsTrust {
    /// The one heard of last first; 4096 at most.
    pub clients: Vec<ClientTrust>,
}

/// Holds what handshakes have taught about a client.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ClientTrust {
    /// Address.
    pub client: String,
    /// `trusts`, `distrusts` or `unknown`.
    pub trust: String,
    /// Connections over TLS that requests came over.
    pub requests: u64,
    /// Alerts against our certificate.
    pub alerts: u64,
    /// Connections that ended at our certificate without a word.
    pub silences: u64,
    /// When it was heard of last.
    pub heard_at: String,
    /// Until when the DNS door gives it no address of the pixel door; null where it does.
    pub avoided_until: Option<String>,
}
