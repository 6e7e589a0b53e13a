//! A snapshot of any bytes: refused or loaded, and what loads answers without panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use policy::{Ask, ClientProfiles, Policy, RuleSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use vocab::{Name, Now};

fuzz_target!(|data: &[u8]| {
    if let Ok(rules) = RuleSet::from_snapshot(data, [0; 32]) {
        let policy = Policy::new(Arc::new(rules), ClientProfiles::everyone());
        let host = Name::from_lowercase("ads.example").expect("written here");
        let ask = Ask::lookup(host, 1, IpAddr::V4(Ipv4Addr::LOCALHOST));
        let _ = policy.explain(&ask, Now { unix_ms: 1, mono_ms: 1 });
    }
});
