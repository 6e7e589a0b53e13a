//! Any bytes as v2ray's data files, as a line of a set of names, and as the text of a zone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pipeline::records::Zone;
use pipeline::sets::{DomainKind, DomainSet, dat, split_rules};
use vocab::Name;

fuzz_target!(|data: &[u8]| {
    let _ = dat::sites(data, &[], |_| Ok(()));
    let _ = dat::networks(data, &[], |_| Ok(()));
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut set = DomainSet::builder(7);
    for rule in split_rules(text).take(64) {
        let _ = set.add_line(rule, DomainKind::Domain);
    }
    let _ = set.build().contains(Name::from_lowercase("www.example.com").expect("a name"));
    let mut zone = Zone::builder();
    let _ = zone.add("zone", text, &mut |_, _| Err("there is none".into()));
    let _ = zone.build().len();
});
