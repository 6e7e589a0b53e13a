//! Lease files of DHCP servers, and answers of devices that are asked for their names: whatever
//! they say, a name is short and has nothing that could act where it is shown.
#![no_main]

use device_names::{LEASES_MAX, answered_name, parse_leases, reverse_name};
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr};

const DEVICE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 7));

fn check(name: &str) {
    let count = name.chars().count();
    assert!((1..=63).contains(&count), "{name:?}");
    let is_harmless = |char: char| char.is_alphanumeric() || "-_. '’()&,".contains(char);
    assert!(name.chars().all(is_harmless), "{name:?}");
}

fuzz_target!(|input: &[u8]| {
    let leases = parse_leases(&String::from_utf8_lossy(input));
    assert!(leases.len() <= LEASES_MAX);
    for name in leases.values().filter_map(|lease| lease.name.as_deref()) {
        check(name);
    }
    let asked = reverse_name(DEVICE).expect("every address has one");
    let id = input.first_chunk().map_or(0, |id| u16::from_be_bytes(*id));
    if let Some(name) = answered_name(input, asked.as_name(), id) {
        check(&name);
    }
});
