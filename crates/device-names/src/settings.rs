//! Settings of the names of devices: the `devices` section of the configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// Lease files that can be named.
pub const LEASE_FILES_MAX: usize = 8;

/// Names and makers of the devices on the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeviceSettings {
    /// Lease files of DHCP servers, which have the names that devices give themselves: of dnsmasq
    /// (`/var/lib/misc/dnsmasq.leases`), ISC dhcpd (`/var/lib/dhcp/dhcpd.leases`) or Kea
    /// (`/var/lib/kea/kea-leases4.csv`). Read again when they change, as the user that Tidegate
    /// runs as. At most 8; of each 4 MiB and 16,384 leases are read. Default none.
    pub leases: Vec<String>,
    /// True if a device on a link of this machine that no lease file names is asked for its name by
    /// multicast DNS, when somebody looks at the clients. The question stays on that link. Default
    /// true.
    pub mdns: bool,
    /// The file that says who made the network card with a MAC address: `oui.txt` of the IEEE
    /// (Debian's `ieee-data`), Wireshark's `manuf` or nmap's `nmap-mac-prefixes`. Default: the
    /// first of these that is installed.
    pub makers: Option<String>,
}

impl Default for DeviceSettings {
    fn default() -> Self {
        Self { leases: Vec::new(), mdns: true, makers: None }
    }
}

impl DeviceSettings {
    /// Everything that is wrong with them.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.leases.len() > LEASE_FILES_MAX {
            let complaint = Complaint::new("leases", format!("more than {LEASE_FILES_MAX} files"));
            complaints.push(complaint.remedy("name those of the servers that run"));
        }
        for (place, path) in self.leases.iter().enumerate() {
            if path.trim().is_empty() {
                let complaint = Complaint::new(format!("leases.{place}"), "it names no file");
                complaints.push(complaint.remedy("write a path, or take the line away"));
            }
        }
        complaints
    }
}
