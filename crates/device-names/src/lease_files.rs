//! Lease files as they were read last: read again when they change.
//!
//! A look costs a `stat` of each file every few seconds at most. A file that cannot be read keeps
//! what was read of it, and is told of. Called for each question about devices.

use crate::leases::{LeaseTable, parse_leases};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use vocab::{MacAddress, Now};

/// Bytes of a file that are read; what is beyond is passed over.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Time between two looks at whether a file has changed.
const LOOK_MS: u64 = 5_000;

/// All files.
#[derive(Debug, Default)]
pub(crate) struct LeaseFiles {
    files: Vec<LeaseFile>,
    looked_ms: Option<u64>,
    /// Names by hardware address: of addresses that a device has made up besides (SLAAC).
    by_mac: HashMap<MacAddress, String>,
}

#[derive(Debug)]
struct LeaseFile {
    path: PathBuf,
    state: Option<FileState>,
    leases: LeaseTable,
    trouble: Option<String>,
}

/// By which an unchanged file is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    modified: Option<SystemTime>,
    bytes: u64,
}

impl LeaseFiles {
    /// Reads what has changed.
    pub(crate) fn refresh(&mut self, paths: &[PathBuf], now: Now) {
        let is_same = self.files.iter().map(|file| &file.path).eq(paths);
        let is_fresh = |at: u64| now.mono_ms.saturating_sub(at) < LOOK_MS;
        if is_same && self.looked_ms.is_some_and(is_fresh) {
            return;
        }
        self.looked_ms = Some(now.mono_ms);
        if !is_same {
            let mut known: HashMap<_, _> =
                self.files.drain(..).map(|file| (file.path.clone(), file)).collect();
            let file = |path: &PathBuf| known.remove(path).unwrap_or_else(|| LeaseFile::of(path));
            self.files = paths.iter().map(file).collect();
        }
        for file in &mut self.files {
            file.read();
        }
        let leases = self.files.iter().flat_map(|file| file.leases.values());
        let named = leases.filter_map(|lease| Some((lease.mac?, lease.name.clone()?)));
        self.by_mac = named.collect();
    }

    /// The name of a device, by its address or by that of its hardware.
    pub(crate) fn name_of(
        &self,
        address: IpAddr,
        mac: Option<MacAddress>,
        now: Now,
    ) -> Option<&str> {
        let leases = self.files.iter().filter_map(|file| file.leases.get(&address));
        // An address that came to another device since is not the first one's any more.
        let mut held = leases.filter(|lease| {
            lease.until_s.is_none_or(|until| until >= now.unix_secs())
                && (mac.is_none() || lease.mac.is_none() || lease.mac == mac)
        });
        let by_address = held.find_map(|lease| lease.name.as_deref());
        by_address.or_else(|| self.by_mac.get(&mac?).map(String::as_str))
    }

    /// Faults that the operator should know of.
    pub(crate) fn troubles(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter_map(|file| file.trouble.as_deref())
    }
}

impl LeaseFile {
    fn of(path: &Path) -> Self {
        Self { path: path.into(), state: None, leases: LeaseTable::new(), trouble: None }
    }

    fn read(&mut self) {
        match self.read_changed() {
            Ok(()) => self.trouble = None,
            Err(why) => {
                self.state = None;
                self.trouble = Some(format!(
                    "devices.leases: {}: {why}; names of its devices are those read before: name \
                     the file that the DHCP server writes, and let this user read it",
                    self.path.display()
                ));
            }
        }
    }

    fn read_changed(&mut self) -> io::Result<()> {
        // A pipe would have us wait for whoever writes there.
        if !self.path.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let mut file = File::open(&self.path)?;
        let facts = file.metadata()?;
        let state = FileState::of(&facts);
        if self.state == Some(state) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        Read::take(&mut file, FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        self.leases = parse_leases(&String::from_utf8_lossy(&bytes));
        self.state = Some(state);
        Ok(())
    }
}

impl FileState {
    fn of(facts: &Metadata) -> Self {
        Self { modified: facts.modified().ok(), bytes: facts.len() }
    }
}
