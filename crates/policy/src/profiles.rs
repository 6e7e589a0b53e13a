//! Who gets which lists: clients by address, each with a set of lists as one word of bits.
//!
//! Built once from settings that were checked; what does not parse matches nobody. Asked by every
//! decision.

use crate::settings::{LISTS_MAX, Settings};
use std::net::IpAddr;
use vocab::Network;

/// The name of the profile of everybody else.
pub(crate) const DEFAULT_NAME: &str = "default";

/// All profiles.
#[derive(Clone, Debug)]
pub struct Profiles {
    profiles: Vec<Profile>,
    /// In the order of the configuration: the first that holds the address counts.
    networks: Vec<(Network, u16)>,
}

/// One profile.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) name: String,
    /// A bit for each list.
    pub(crate) lists: u64,
}

impl Profiles {
    /// Everybody gets every list.
    pub fn everyone() -> Self {
        let everybody = Profile { name: DEFAULT_NAME.into(), lists: u64::MAX };
        Self { profiles: vec![everybody], networks: Vec::new() }
    }

    /// The profiles of `settings`, whose lists stand in the order in which they were compiled.
    pub fn build(settings: &Settings) -> Self {
        let mask = |names: &[String]| {
            let bits = settings.lists.iter().take(LISTS_MAX).enumerate();
            bits.filter(|(_, list)| names.contains(&list.name))
                .fold(0, |mask, (at, _)| mask | 1 << at)
        };
        let everybody = settings.default.lists.as_deref().map_or(u64::MAX, mask);
        let mut profiles = vec![Profile { name: DEFAULT_NAME.into(), lists: everybody }];
        let mut networks = Vec::new();
        for client in settings.clients.iter().take(usize::from(u16::MAX)) {
            let at = profiles.len() as u16;
            let lists = client.lists.as_deref().map_or(everybody, mask);
            profiles.push(Profile { name: client.name.clone(), lists });
            let parsed = client.matches.iter().filter_map(|text| text.parse().ok());
            networks.extend(parsed.map(|network| (network, at)));
        }
        Self { profiles, networks }
    }

    /// The profile of a client.
    pub(crate) fn of(&self, client: IpAddr) -> &Profile {
        let found = self.networks.iter().find(|(network, _)| network.contains(client));
        &self.profiles[found.map_or(0, |(_, at)| usize::from(*at))]
    }
}
