//! A block list of any bytes: compiled, asked, explained; nothing panics, no answer contradicts its
//! explanation.
#![no_main]

use libfuzzer_sys::fuzz_target;
use policy::{Ask, ClientProfiles, ListKind, ListSource, Policy};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use vocab::{Door, Name, Now, RequestKind};

const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 1 };
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fuzz_target!(|data: &[u8]| {
    let rules = policy::compile(
        &[ListSource { name: "fuzz", kind: ListKind::Block, text: data, files: &[] }],
        7,
    );
    let policy = Policy::new(Arc::new(rules), ClientProfiles::everyone());
    for host in ["ads.example", "www.example", "a.b.c.d.example", "localhost"] {
        let host = Name::from_lowercase(host).expect("written above");
        let url = format!("https://{host}/ad/banner.js?x=1&utm=2");
        for ask in [
            Ask::lookup(host, 1, CLIENT),
            Ask {
                door: Door::Proxy,
                client: CLIENT,
                identity: None,
                host,
                kind: RequestKind::Script,
                url: Some(&url),
                page: Some(host),
            },
        ] {
            let verdict = policy.decide(&ask, NOW);
            assert_eq!(verdict, policy.explain(&ask, NOW).verdict);
        }
    }
});
