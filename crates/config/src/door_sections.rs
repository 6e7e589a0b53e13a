//! The doors' sections of a configuration, in one table: what each has to say about itself.
//!
//! A new door is an entry here beside its field of [`ConfigFile`]; all that looks through the
//! sections walks the table. It checks nothing itself. Read by `plan` and `own_certificates`, and
//! by the binary.

use crate::file::ConfigFile;
use settings::Text;
use std::net::SocketAddr;
use transport::tls::OwnCertificate;
use vocab::{Complaint, Door, Listen};

/// A certificate with the path of the section that asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedCertificate {
    /// The path of the section, such as `gateway` or `web.1`.
    pub section: String,
    /// What is to be signed.
    pub certificate: OwnCertificate,
}

/// One door's section.
pub struct DoorSection {
    /// The door.
    pub door: Door,
    /// True if the file has the section, and so the door runs.
    pub is_set: fn(&ConfigFile) -> bool,
    /// Everything that is wrong, with paths relative to the section.
    pub(crate) check: fn(&ConfigFile) -> Vec<Complaint>,
    /// What is valid and still dangerous.
    pub(crate) warnings: fn(&ConfigFile) -> Vec<Complaint>,
    /// Every listen entry with the path of its setting.
    pub(crate) listeners: fn(&ConfigFile) -> Vec<(String, Listen)>,
    /// The certificates that our own authority is to sign.
    pub(crate) own_certificates: fn(&ConfigFile) -> Vec<PlacedCertificate>,
    /// True if the section has passwords in it.
    pub(crate) has_passwords: fn(&ConfigFile) -> bool,
}

/// The sections in the order in which doors are always listed.
pub const DOOR_SECTIONS: [DoorSection; Door::ALL.len()] = [DNS, PIXEL, PROXY, WEB, GATEWAY];

const DNS: DoorSection = DoorSection {
    door: Door::Dns,
    is_set: |file| file.dns.is_some(),
    check: |file| of(file.dns.as_ref(), door_dns::Settings::check),
    warnings: |file| of(file.dns.as_ref(), door_dns::Settings::warnings),
    listeners: |file| of(file.dns.as_ref(), |dns| entries("dns", &dns.listen)),
    own_certificates: |file| {
        placed("dns", file.dns.as_ref().and_then(door_dns::Settings::own_certificate))
    },
    has_passwords: |file| file.dns.as_ref().is_some_and(door_dns::Settings::has_passwords),
};

const PIXEL: DoorSection = DoorSection {
    door: Door::Pixel,
    is_set: |file| file.pixel.is_some(),
    check: |file| of(file.pixel.as_ref(), door_pixel::Settings::check),
    warnings: |_| Vec::new(),
    listeners: |file| of(file.pixel.as_ref(), |pixel| entries("pixel", &pixel.listen)),
    // Its certificates are made in the handshake, for blocked names.
    own_certificates: |_| Vec::new(),
    has_passwords: |_| false,
};

const PROXY: DoorSection = DoorSection {
    door: Door::Proxy,
    is_set: |file| file.proxy.is_some(),
    check: |file| of(file.proxy.as_ref(), door_proxy::Settings::check),
    warnings: |file| of(file.proxy.as_ref(), door_proxy::Settings::warnings),
    listeners: |file| of(file.proxy.as_ref(), |proxy| entries("proxy", &proxy.listen)),
    own_certificates: |file| {
        placed("proxy", file.proxy.as_ref().and_then(door_proxy::Settings::own_certificate))
    },
    has_passwords: |file| file.proxy.as_ref().is_some_and(door_proxy::Settings::has_passwords),
};

const WEB: DoorSection = DoorSection {
    door: Door::Web,
    is_set: |file| !file.web.is_empty(),
    check: |file| door_web::check(&file.web),
    warnings: |_| Vec::new(),
    listeners: sites_listeners,
    own_certificates: |file| {
        let sites = file.web.iter().enumerate();
        sites
            .flat_map(|(index, site)| placed(&format!("web.{index}"), site.own_certificate()))
            .collect()
    },
    has_passwords: |_| false,
};

const GATEWAY: DoorSection = DoorSection {
    door: Door::Gateway,
    is_set: |file| file.gateway.is_some(),
    check: |file| of(file.gateway.as_ref(), door_gateway::Settings::check),
    warnings: |_| Vec::new(),
    listeners: |file| of(file.gateway.as_ref(), |gateway| entries("gateway", &gateway.listen)),
    own_certificates: |file| {
        placed("gateway", file.gateway.as_ref().and_then(door_gateway::Settings::own_certificate))
    },
    has_passwords: |_| false,
};

/// The section of a door.
pub fn door_section(door: Door) -> &'static DoorSection {
    const SECTIONS: &[DoorSection; Door::ALL.len()] = &DOOR_SECTIONS;
    SECTIONS.iter().find(|section| section.door == door).expect("every door has a section")
}

/// What `tell` says of a section, if there is one.
fn of<S, T>(section: Option<&S>, tell: impl FnOnce(&S) -> Vec<T>) -> Vec<T> {
    section.map_or_else(Vec::new, tell)
}

fn entries(section: &str, listen: &[Text<Listen>]) -> Vec<(String, Listen)> {
    let numbered = listen.iter().enumerate();
    numbered.map(|(index, entry)| (format!("{section}.listen.{index}"), entry.0.clone())).collect()
}

/// Sites may share an address: the host name tells them apart.
fn sites_listeners(file: &ConfigFile) -> Vec<(String, Listen)> {
    let mut shared: Vec<SocketAddr> = Vec::new();
    let mut all = Vec::new();
    for (index, site) in file.web.iter().enumerate() {
        for (path, listen) in entries(&format!("web.{index}"), &site.listen) {
            if !shared.contains(&listen.address) {
                shared.push(listen.address);
                all.push((path, listen));
            }
        }
    }
    all
}

fn placed(section: &str, certificate: Option<OwnCertificate>) -> Vec<PlacedCertificate> {
    let section = section.to_owned();
    certificate.map(|certificate| PlacedCertificate { section, certificate }).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_door_has_its_section_in_the_order_of_the_doors() {
        assert_eq!(DOOR_SECTIONS.map(|section| section.door), Door::ALL);
        for door in Door::ALL {
            assert_eq!(door_section(door).door, door);
            assert!(!(door_section(door).is_set)(&ConfigFile::default()), "{door}");
        }
    }
}
