//! Names and makers of the devices on the network: out of lease files of DHCP servers, by multicast
//! DNS, by the network's own resolver, and out of the table of makers.
//!
//! It knows no client of a door and keeps nothing on disk; whoever is on the network says what he
//! likes, so names are made fit to be shown. Asked by the binary, for the admin API.

mod clean_name;
mod lease_files;
mod leases;
mod lookups;
mod makers;
mod multicast;
mod reverse;
mod settings;
#[cfg(test)]
mod tests;

pub use leases::{DeviceLease, LEASES_MAX, LeaseTable, parse_leases};
pub use lookups::{NameSource, ReverseLookups};
pub use reverse::{POINTER_TYPE, answered_name, reverse_name};
pub use settings::{DeviceSettings, LEASE_FILES_MAX};

use lease_files::LeaseFiles;
use lookups::{DeviceReach, NameLookups};
use makers::MakerTable;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vocab::{MacAddress, Now};

/// A device that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedDevice {
    /// Address.
    pub address: IpAddr,
    /// Hardware address, of a device on a link of this machine.
    pub mac: Option<MacAddress>,
}

/// A device, as far as it is known here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Name, and where it is from.
    pub name: Option<(String, NameSource)>,
    /// Maker of its network card.
    pub maker: Option<String>,
}

/// Names and makers of devices.
pub struct DeviceNames {
    leases: Mutex<LeaseFiles>,
    makers: Mutex<MakerTable>,
    lookups: NameLookups,
}

impl DeviceNames {
    /// Nothing is read and nobody asked until somebody asks about a device.
    pub fn new(resolver: Arc<dyn ReverseLookups>) -> Self {
        let lookups = NameLookups::new(resolver);
        Self { leases: Mutex::default(), makers: Mutex::default(), lookups }
    }

    /// Returns what is known of devices, in their order; relative paths start from `base`. Reads
    /// files, and waits for nobody.
    pub fn facts(
        &self,
        settings: &DeviceSettings,
        base: &Path,
        devices: &[AskedDevice],
        now: Now,
    ) -> Vec<DeviceFacts> {
        let paths: Vec<_> = settings.leases.iter().map(|path| base.join(path)).collect();
        let mut leases = lock(&self.leases);
        leases.refresh(&paths, now);
        let makers = settings.makers.as_ref().map(|path| base.join(path));
        let mut table = lock(&self.makers);
        table.refresh(makers.as_deref(), devices.iter().filter_map(|device| device.mac));
        let facts = |device: &AskedDevice| {
            let AskedDevice { address, mac } = *device;
            let is_on_link = settings.mdns && mac.is_some();
            let reach = if is_on_link { DeviceReach::OnLink } else { DeviceReach::Beyond };
            let given = leases.name_of(address, mac, now);
            let given = given.map(|name| (name.to_owned(), NameSource::Dhcp));
            DeviceFacts {
                name: given.or_else(|| self.lookups.name_of(address, reach, now)),
                maker: mac.and_then(|mac| table.maker_of(mac)).map(str::to_owned),
            }
        };
        devices.iter().map(facts).collect()
    }

    /// Faults that the operator should know of: lease files that cannot be read.
    pub fn troubles(&self) -> Vec<String> {
        lock(&self.leases).troubles().map(str::to_owned).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
