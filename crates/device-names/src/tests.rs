//! Names of devices, out of files and from a resolver.

use crate::{AskedDevice, DeviceNames, DeviceSettings, NameSource, ReverseLookups};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use vocab::{MacAddress, Name, Now};

const MAC: MacAddress = MacAddress([0, 0x11, 0x22, 0x33, 0x44, 0x55]);

/// A resolver that knows one name, and who was asked for.
#[derive(Default)]
struct Resolver {
    is_there: AtomicBool,
    asked: Mutex<Vec<String>>,
}

impl ReverseLookups for Resolver {
    fn is_there(&self) -> bool {
        self.is_there.load(Relaxed)
    }

    fn name_of(&self, reverse: Name<'_>) -> Option<String> {
        self.asked.lock().unwrap().push(reverse.as_str().to_owned());
        (reverse.as_str() == "7.1.168.192.in-addr.arpa").then(|| "nas".into())
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("tidegate-devices-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, text: &str) {
        std::fs::write(self.0.join("leases"), text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn at(secs: u64) -> Now {
    Now { unix_ms: 1_795_262_400_000 + secs * 1000, mono_ms: 10_000 + secs * 1000 }
}

fn device(address: &str, mac: Option<MacAddress>) -> AskedDevice {
    AskedDevice { address: address.parse().unwrap(), mac }
}

#[test]
fn a_lease_file_is_read_again_when_it_changes() {
    let folder = Folder::new();
    let names = DeviceNames::new(Arc::new(Resolver::default()));
    let settings = DeviceSettings { leases: vec!["leases".into()], mdns: false, makers: None };
    let ask = |secs, device| names.facts(&settings, &folder.0, &[device], at(secs)).remove(0).name;
    let phone = device("192.168.1.5", None);
    assert_eq!(ask(0, phone), None);
    let troubles = names.troubles();
    assert!(
        troubles[0].contains("leases: ") && troubles[0].contains("DHCP server"),
        "{troubles:?}"
    );
    folder.write("0 00:11:22:33:44:55 192.168.1.5 phone *\n");
    assert_eq!(ask(4, phone), None, "a look every five seconds");
    let by_dhcp = |name: &str| Some((name.to_owned(), NameSource::Dhcp));
    assert_eq!(ask(5, phone), by_dhcp("phone"));
    assert_eq!(names.troubles(), [] as [String; 0]);
    folder.write("0 00:11:22:33:44:55 192.168.1.5 annas-phone *\n");
    assert_eq!(ask(10, phone), by_dhcp("annas-phone"));
    assert_eq!(ask(10, device("fd00::99", Some(MAC))), by_dhcp("annas-phone"), "by its hardware");
    let other = MacAddress([0, 1, 2, 3, 4, 5]);
    assert_eq!(ask(10, device("192.168.1.5", Some(other))), None, "another device's by now");
    std::fs::remove_file(folder.0.join("leases")).unwrap();
    assert_eq!(ask(15, phone), by_dhcp("annas-phone"), "what was read is kept");
    assert_eq!(names.troubles().len(), 1);
    folder.write(&format!("{} 00:11:22:33:44:55 192.168.1.5 old *\n", at(25).unix_secs()));
    assert_eq!(ask(25, phone), by_dhcp("old"));
    assert_eq!(ask(26, phone), None, "its lease is over");
}

#[test]
fn a_resolver_is_asked_for_private_addresses_and_only_where_there_is_one() {
    let folder = Folder::new();
    let resolver = Arc::new(Resolver::default());
    let names = DeviceNames::new(resolver.clone());
    let settings = DeviceSettings { mdns: false, ..DeviceSettings::default() };
    let devices = [
        device("192.168.1.7", None),
        device("203.0.113.9", None),
        device("10.0.0.1", None),
        device("127.0.0.1", None),
    ];
    let ask = |secs| names.facts(&settings, &folder.0, &devices, at(secs));
    assert!(ask(0).iter().all(|facts| facts.name.is_none()));
    assert_eq!(resolver.asked.lock().unwrap().len(), 0, "there is none");
    resolver.is_there.store(true, Relaxed);
    // The question is asked on another thread: the answer is there when it has come.
    let nas = loop {
        if let Some(name) = ask(1).remove(0).name {
            break name;
        }
        std::thread::yield_now();
    };
    assert_eq!(nas, ("nas".into(), NameSource::Reverse));
    while resolver.asked.lock().unwrap().len() < 2 {
        std::thread::yield_now();
    }
    assert!(ask(300)[1].name.is_none());
    let asked = resolver.asked.lock().unwrap().clone();
    assert_eq!(asked, ["7.1.168.192.in-addr.arpa", "1.0.0.10.in-addr.arpa"], "each once");
}
