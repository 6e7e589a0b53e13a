//! The JSON of the first run: what a machine offers, what is chosen, and the change that waits.
//!
//! Plain data with its description for `OpenAPI`; nothing is read or checked here. Filled by
//! `first-run` and the program, told by the admin API.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Choice that ports and the pixel address are looked at for; what is left out is proposed.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
pub struct FirstRunQuery {
    /// Address of this machine that devices would use.
    pub address: Option<String>,
    /// Port of the DNS door; 53 if left out.
    pub dns_port: Option<u16>,
    /// Port of the pixel door for HTTP; 80 if left out.
    pub http_port: Option<u16>,
    /// Port of the pixel door for HTTPS; 443 if left out.
    pub https_port: Option<u16>,
    /// Port of the proxy; 3128 if left out.
    pub proxy_port: Option<u16>,
}

/// This machine and configuration, as a first run finds them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct FirstRunInfo {
    /// True where nobody has set anything up yet: there is no user, every door answers this machine
    /// alone, and no first run was confirmed.
    pub needed: bool,
    /// The configuration's file; null for the built-in one.
    pub config: Option<String>,
    /// True if the configuration's file may be changed.
    pub can_write: bool,
    /// Reason why not, with a remedy; null where it may.
    pub why_not: Option<String>,
    /// Addresses of this machine, those that devices would use first.
    pub addresses: Vec<OwnAddress>,
    /// Ports that doors would need.
    pub ports: Vec<PortInfo>,
    /// Address that blocked names would get.
    pub pixel: PixelAddress,
    /// Resolvers that could be asked, those in force first.
    pub upstreams: Vec<UpstreamChoice>,
    /// Lists to begin with, and those of the configuration.
    pub lists: Vec<FirstList>,
    /// Number of users.
    pub people: usize,
    /// The device that asks.
    pub this_device: AskingDevice,
    /// Picture at the pixel door: a page that loads it over HTTPS runs on a device that trusts the
    /// authority. The page must have been loaded while this was the address: its content security
    /// policy names it. Null where the pixel door has no HTTPS.
    pub check_url: Option<String>,
    /// Change that waits for confirmation; null where none does.
    pub waiting: Option<WaitingChange>,
}

/// An address of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OwnAddress {
    /// The address.
    pub address: String,
    /// Interface that has it.
    pub interface: String,
    /// Kind: `private`, `public`, `loopback` or `link_local`.
    pub kind: String,
}

/// A port at the address that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortInfo {
    /// The port.
    pub port: u16,
    /// Protocol: `udp` or `tcp`.
    pub protocol: String,
    /// Door that needs it.
    pub door: String,
    /// State: `free`, `ours`, `held` by another program, or `forbidden` to this user.
    pub state: String,
    /// Program that holds it, as far as this user may see it.
    pub holder: Option<String>,
    /// Remedy, where it cannot be had.
    pub remedy: Option<String>,
}

/// Address that blocked names get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PixelAddress {
    /// The address; null where this machine has none that would do.
    pub address: Option<String>,
    /// True if browsers keep pages of the internet from loading anything there without asking their
    /// reader (Local Network Access).
    pub gated: bool,
    /// Remedy, where they do.
    pub remedy: Option<String>,
}

/// A resolver that could be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpstreamChoice {
    /// Name for people.
    pub name: String,
    /// Address as the configuration has it.
    pub url: String,
    /// Note about who runs it and what it does.
    pub note: String,
    /// True if it is asked now.
    pub current: bool,
}

/// A list to begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FirstList {
    /// The name.
    pub name: String,
    /// True if it is in force.
    pub on: bool,
}

/// The device that asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AskingDevice {
    /// Address.
    pub client: String,
    /// True if it has put a DNS question within the last ten minutes.
    pub asks_dns: bool,
    /// Moment of its last DNS question, among its newest 20,000 requests of the day; null if none.
    pub asked_at: Option<String>,
    /// Trust in the authority as handshakes have taught: `trusts`, `distrusts` or `unknown`.
    pub trust: String,
}

/// A change that is in force and waits for confirmation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitingChange {
    /// Moment at which it is taken back.
    pub until: String,
}

/// Choice of a first run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FirstRunRequest {
    /// Address of this machine that devices use; 0.0.0.0 or :: for all.
    pub address: String,
    /// Doors to open there: `dns`, `pixel`, `proxy`. Others stay as they are.
    pub doors: Vec<String>,
    /// Resolvers to ask, at most 16; those of the configuration stay if left out.
    pub upstreams: Vec<String>,
    /// Lists to have, of those that were offered; lists of the configuration that were not offered
    /// stay.
    pub lists: Vec<String>,
    /// Address that blocked names get, such as 192.0.2.1; the door listens there if it is this
    /// machine's. Proposed if left out.
    pub pixel_address: Option<String>,
    /// Where the dashboard listens from now on, as address and port; as before if left out.
    pub dashboard: Option<String>,
    /// Port of the DNS door; 53 if left out.
    pub dns_port: Option<u16>,
    /// Port of the pixel door for HTTP; 80 if left out.
    pub http_port: Option<u16>,
    /// Port of the pixel door for HTTPS; 443 if left out.
    pub https_port: Option<u16>,
    /// Port of the proxy; 3128 if left out.
    pub proxy_port: Option<u16>,
    /// Seconds for which it waits for confirmation, 1 to 600; 60 if left out.
    pub confirm_within_s: Option<u64>,
}

/// Outcome of a first run: in force, and taken back unless it is confirmed in time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct FirstRunOutcome {
    /// True; what is refused is told as a problem with complaints.
    pub ok: bool,
    /// Remarks of the reload.
    pub complaints: Vec<String>,
    /// Seconds until it is taken back; null where nothing changed.
    pub confirm_within_s: Option<u64>,
    /// Address of the dashboard from now on.
    pub dashboard: String,
    /// Number of the change in the history; null where no text differed.
    pub number: Option<u64>,
}
