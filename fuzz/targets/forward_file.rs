//! A configuration of a DNS forwarder or a forward proxy of any text; the first byte says whose.
//! What comes of it is read by us, or each fault names a file.
#![no_main]

use import_report::{ImportFault, ImportSurroundings, ImportedConfig};
use libfuzzer_sys::fuzz_target;
use std::io;
use std::path::{Path, PathBuf};

/// Every file that it names is itself; no folder is there.
struct OneText<'t>(&'t str);

impl ImportSurroundings for OneText<'_> {
    fn read(&self, _: &Path) -> io::Result<String> {
        Ok(self.0.to_owned())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        Err(io::Error::other("no folder"))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

type ReadConfig =
    fn(&[PathBuf], &dyn ImportSurroundings) -> Result<ImportedConfig, Vec<ImportFault>>;

const READERS: [(&str, ReadConfig); 11] = [
    ("AdGuardHome.yaml", forward_imports::from_adguard_home),
    ("pihole.toml", forward_imports::from_pihole),
    ("setupVars.conf", forward_imports::from_pihole),
    ("domainlist.json", forward_imports::from_pihole),
    ("dnsmasq.conf", forward_imports::from_dnsmasq),
    ("unbound.conf", forward_imports::from_unbound),
    ("config.yml", forward_imports::from_blocky),
    ("squid.conf", forward_imports::from_squid),
    ("config", forward_imports::from_privoxy),
    ("user.action", forward_imports::from_privoxy),
    ("S80pixelserv", forward_imports::from_pixelserv),
];

fuzz_target!(|data: &[u8]| {
    let Some((which, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let includes = ["include", "conf-", "addn", "resolv-file", "actionsfile", "hosts", "servers-file"];
    // Brackets in quotes count for the reader's bound on nesting, and a text may include itself.
    let brackets = text.bytes().filter(|it| matches!(it, b'[' | b'{')).count();
    if brackets > 40 || includes.iter().map(|it| text.matches(it).count()).sum::<usize>() > 1 {
        return;
    }
    let (name, read) = READERS[usize::from(which.wrapping_sub(b'a')) % READERS.len()];
    match read(&[name.into()], &OneText(text)) {
        Err(faults) => assert!(!faults.is_empty()),
        // Its values are ours to check; its form is not to be wrong.
        Ok(made) => {
            let yaml = made.commented();
            if let Err(complaints) = config::parse(&yaml, Path::new("made.yaml")) {
                assert!(complaints.iter().all(|it| !it.path.is_empty()), "{yaml}\n{complaints:?}");
            }
        }
    }
});
