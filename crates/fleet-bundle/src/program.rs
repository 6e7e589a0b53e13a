//! Program of a revision: the Tidegate that edges are to run, a build for each machine.
//!
//! A publisher reads from the builds themselves what they are, so that no number typed by hand says
//! otherwise. Nothing here starts anything.

use crate::chunks::ChunkRef;
use crate::digest::ContentDigest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// Builds of one release.
const BUILDS_MAX: usize = 8;
/// Bytes of one build.
pub const PROGRAM_BYTES_MAX: u64 = 1 << 30;
/// Characters of a version.
const VERSION_LENGTH_MAX: usize = 64;
/// First words of the mark that each program bears. In two pieces, so that this list of words is no
/// mark itself.
const MARK_WORDS: [&str; 2] = ["tidegate-program", "version="];

/// Release of Tidegate that the edges of a revision run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramRelease {
    /// Version, as the program says it itself.
    pub version: String,
    /// Builds, one for each machine.
    pub builds: Vec<ProgramBuild>,
}

/// One build of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramBuild {
    /// Machine that it is for.
    pub machine: ProgramMachine,
    /// Bytes.
    pub size: u64,
    /// Digest of it.
    pub digest: ContentDigest,
    /// Chunks, in their order.
    pub chunks: Vec<ChunkRef>,
}

/// Processor of a machine with Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramMachine {
    /// 64-bit x86.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

/// Version and machine of a program, read from its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramMark {
    /// Version.
    pub version: String,
    /// Machine.
    pub machine: ProgramMachine,
}

/// Reason why a file is no program that a fleet could run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramFault {
    /// Nothing that Linux would start on such a machine.
    NoProgram,
    /// A program that does not say that it is Tidegate.
    NoMark,
    /// Builds of two versions.
    Versions(String, String),
    /// Two builds for one machine.
    Twice(ProgramMachine),
    /// A version that is none, no builds, too many, or one whose chunks do not add up.
    NotWhole,
}

impl ProgramMachine {
    /// The machine that this program runs on; none of another kind.
    pub const fn own() -> Option<Self> {
        if cfg!(target_arch = "x86_64") {
            Some(Self::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Self::Aarch64)
        } else {
            None
        }
    }

    /// The machine of an ELF file; none of other files and other machines.
    fn of_elf(bytes: &[u8]) -> Option<Self> {
        // ELF, 64 bits, little-endian; the machine is a number at 18.
        let is_elf = bytes.get(..6)? == [0x7f, b'E', b'L', b'F', 2, 1];
        match bytes.get(18..20)? {
            [62, 0] if is_elf => Some(Self::X86_64),
            [183, 0] if is_elf => Some(Self::Aarch64),
            _ => None,
        }
    }
}

impl ProgramMark {
    /// Reads the mark of a program.
    ///
    /// # Errors
    /// [`ProgramFault::NoProgram`], [`ProgramFault::NoMark`].
    pub fn read(bytes: &[u8]) -> Result<Self, ProgramFault> {
        let machine = ProgramMachine::of_elf(bytes).ok_or(ProgramFault::NoProgram)?;
        let words = MARK_WORDS.join(" ");
        let marks = memchr::memmem::find_iter(bytes, words.as_bytes());
        let version = marks.filter_map(|at| version_at(&bytes[at + words.len()..])).last();
        version.map(|version| Self { version, machine }).ok_or(ProgramFault::NoMark)
    }
}

/// The version that stands before a semicolon.
fn version_at(bytes: &[u8]) -> Option<String> {
    let near = &bytes[..bytes.len().min(VERSION_LENGTH_MAX + 1)];
    let end = memchr::memchr(b';', near)?;
    let version = std::str::from_utf8(&near[..end]).ok()?;
    is_version(version).then(|| version.to_owned())
}

fn is_version(text: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '+');
    !text.is_empty() && text.len() <= VERSION_LENGTH_MAX && text.chars().all(is_plain)
}

impl ProgramRelease {
    /// Takes one more build in.
    ///
    /// # Errors
    /// [`ProgramFault::Versions`], [`ProgramFault::Twice`].
    pub fn join(
        release: Option<Self>,
        version: &str,
        build: ProgramBuild,
    ) -> Result<Self, ProgramFault> {
        let fresh = || Self { version: version.to_owned(), builds: Vec::new() };
        let mut release = release.unwrap_or_else(fresh);
        if release.version != version {
            return Err(ProgramFault::Versions(release.version, version.to_owned()));
        }
        if release.build(build.machine).is_some() {
            return Err(ProgramFault::Twice(build.machine));
        }
        release.builds.push(build);
        Ok(release)
    }

    /// The build for a machine.
    pub fn build(&self, machine: ProgramMachine) -> Option<&ProgramBuild> {
        self.builds.iter().find(|it| it.machine == machine)
    }

    /// Chunks of all builds.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = &ChunkRef> {
        self.builds.iter().flat_map(|build| &build.chunks)
    }

    pub(crate) fn check(&self) -> Result<(), ProgramFault> {
        let is_whole = |build: &ProgramBuild| {
            let sizes = build.chunks.iter().map(|chunk| u64::from(chunk.size));
            build.size <= PROGRAM_BYTES_MAX && sizes.sum::<u64>() == build.size
        };
        let is_counted = (1..=BUILDS_MAX).contains(&self.builds.len());
        if !is_counted || !is_version(&self.version) || !self.builds.iter().all(is_whole) {
            return Err(ProgramFault::NotWhole);
        }
        let mut machines = BTreeSet::new();
        match self.builds.iter().find(|it| !machines.insert(it.machine)) {
            Some(again) => Err(ProgramFault::Twice(again.machine)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ProgramMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        })
    }
}

impl fmt::Display for ProgramFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgram => f.write_str("this is no program for Linux on x86_64 or aarch64"),
            Self::NoMark => f.write_str("this program is no Tidegate, or one that is too old"),
            Self::Versions(one, other) => {
                write!(f, "the builds are of two versions, {one} and {other}")
            }
            Self::NotWhole => f.write_str("it has no version, no builds, or is not whole"),
            Self::Twice(machine) => write!(f, "there are two builds for {machine}"),
        }
    }
}

impl std::error::Error for ProgramFault {}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u8, rest: &str) -> Vec<u8> {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, 1];
        bytes.resize(18, 0);
        bytes.extend([machine, 0]);
        bytes.extend(rest.as_bytes());
        bytes
    }

    #[test]
    fn a_program_says_its_version_and_its_machine() {
        let bytes =
            elf(62, "words tidegate-program version=/x; tidegate-program version=1.4.0-rc.1;");
        let mark = ProgramMark { version: "1.4.0-rc.1".into(), machine: ProgramMachine::X86_64 };
        assert_eq!(ProgramMark::read(&bytes), Ok(mark));
        let arm = ProgramMark::read(&elf(183, "tidegate-program version=2;")).map(|it| it.machine);
        assert_eq!(arm, Ok(ProgramMachine::Aarch64));
    }

    #[test]
    fn what_is_no_program_or_another_is_refused() {
        let long = format!("tidegate-program version={};", "1".repeat(65));
        for (bytes, fault) in [
            (Vec::new(), ProgramFault::NoProgram),
            (b"#!/bin/sh\n# tidegate-program version=1;".to_vec(), ProgramFault::NoProgram),
            (elf(3, "tidegate-program version=1;"), ProgramFault::NoProgram),
            (elf(62, "tidegate-program version=1"), ProgramFault::NoMark),
            (elf(62, "tidegate-program version=;"), ProgramFault::NoMark),
            (elf(62, &long), ProgramFault::NoMark),
        ] {
            assert_eq!(ProgramMark::read(&bytes), Err(fault));
        }
    }

    #[test]
    fn builds_of_one_release_are_of_one_version_and_each_for_another_machine() {
        let build = |machine| ProgramBuild {
            machine,
            size: 1,
            digest: ContentDigest::of(b"a"),
            chunks: vec![ChunkRef { digest: ContentDigest::of(b"a"), size: 1 }],
        };
        let one = ProgramRelease::join(None, "1", build(ProgramMachine::X86_64)).unwrap();
        let two = ProgramRelease::join(Some(one), "1", build(ProgramMachine::Aarch64)).unwrap();
        assert_eq!(two.check(), Ok(()));
        let again = ProgramRelease::join(Some(two.clone()), "1", build(ProgramMachine::Aarch64));
        assert_eq!(again, Err(ProgramFault::Twice(ProgramMachine::Aarch64)));
        let other = ProgramRelease::join(Some(two.clone()), "2", build(ProgramMachine::Aarch64));
        assert_eq!(other, Err(ProgramFault::Versions("1".into(), "2".into())));
        let mut wrong = two.clone();
        wrong.builds[0].size = 2;
        assert_eq!(wrong.check(), Err(ProgramFault::NotWhole));
        let wrong = ProgramRelease { version: "../1".into(), ..two };
        assert_eq!(wrong.check(), Err(ProgramFault::NotWhole));
    }
}
