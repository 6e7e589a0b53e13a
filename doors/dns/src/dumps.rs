//! Files that a mosdns or OxiDNS file keeps its caches in over a restart (`dump_file`).
//!
//! They are written in our own form; one in a peer's is neither read nor written over, which is
//! told. It reads and writes nothing itself but the first bytes of a file. Made with
//! [`crate::ForeignConfig`], carried out by the binary.

use mosdns_compat::compile::{CacheSpec, CompiledPipeline};
use resolver::{CacheId, DumpFile};
use std::path::PathBuf;
use std::time::Duration;
use vocab::Complaint;

/// How often a cache is written where 0 is said: what both peers do then.
const INTERVAL_USUAL: Duration = Duration::from_mins(10);

/// Where one cache is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheDump {
    /// Which.
    pub cache: CacheId,
    /// The file, from the working directory as with both peers.
    pub file: PathBuf,
    /// How often it is written, besides at the end.
    pub interval: Duration,
    foreign: Complaint,
}

impl CacheDump {
    fn new(number: usize, spec: &CacheSpec) -> Option<Self> {
        let file = spec.dump_file.as_ref().filter(|it| !it.text.trim().is_empty())?;
        let told = format!("{} is not in Tidegate's form, and is left as it is", file.text);
        let remedy = "remove it, or name another; until then the cache is kept in the state folder";
        Some(Self {
            // There are no more than CACHES_MAX.
            cache: CacheId(number as u16),
            file: file.text.trim().into(),
            interval: if spec.dump_interval.is_zero() {
                INTERVAL_USUAL
            } else {
                spec.dump_interval
            },
            foreign: file.position.complaint(told).remedy(remedy),
        })
    }

    /// All of `compiled`; two caches cannot have one file.
    pub(crate) fn of(compiled: &CompiledPipeline, complaints: &mut Vec<Complaint>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (number, spec) in compiled.caches.iter().enumerate() {
            let Some(dump) = Self::new(number, spec) else { continue };
            if all.iter().any(|other| other.file == dump.file) {
                let message = format!("another cache is kept in {} too", dump.file.display());
                let complaint = Complaint { message, ..dump.foreign.clone() };
                complaints.push(complaint.remedy("give each cache a file of its own"));
            }
            all.push(dump);
        }
        all
    }

    /// Returns what is to be told of the file as it is now: that it is a peer's.
    pub fn warning(&self) -> Option<&Complaint> {
        matches!(DumpFile::at(&self.file), Ok(DumpFile::Foreign)).then_some(&self.foreign)
    }
}
