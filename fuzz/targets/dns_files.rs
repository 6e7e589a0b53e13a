//! Any bytes as a `geosite.dat`, a `geoip.dat`, or a cache's snapshot: rules, networks or answers,
//! or a reason. The first byte says which; a snapshot gets the sum that it needs to be looked into.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pipeline::sets::dat::{DatSelector, networks, sites};
use resolver::check_snapshot;
use sha2::{Digest, Sha256};

fuzz_target!(|data: &[u8]| {
    let Some((which, data)) = data.split_first() else { return };
    let selectors = match which & 0x80 {
        0 => Vec::new(),
        _ => {
            vec![DatSelector::parse("cn").expect("one"), DatSelector::parse("us@ads").expect("one")]
        }
    };
    match which & 3 {
        0 => {
            let mut taken = 0_usize;
            let _ = sites(data, &selectors, |_| {
                taken += 1;
                Ok(())
            });
            // Each rule has a tag and a length at least.
            assert!(taken <= data.len() / 2);
        }
        1 => {
            let _ = networks(data, &selectors, |it| {
                assert!(it.prefix <= if it.address.is_ipv4() { 32 } else { 128 });
                Ok(())
            });
        }
        _ => {
            let whole = [data, &Sha256::digest(data)[..]].concat();
            if let Ok(count) = check_snapshot(&whole) {
                assert!(count <= data.len() / 12);
            }
        }
    }
});
