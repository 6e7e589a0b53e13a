//! Where a download goes: `NAME.part` until it is whole, then `NAME`; and what is needed to go on
//! with a part later.
//!
//! A part may only be continued if the server still has the same thing, which is asked by the
//! validator (RFC 9110 §13.1.5) that came with it, kept in `NAME.part.from`.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use sha2::{Digest, Sha256, Sha512};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Bytes of a name that is taken from a URL or a header, at most: file systems take 255 with
/// `.part`.
const NAME_BYTES_MAX: usize = 200;
/// A validator longer than this is not kept: the download starts anew instead.
const VALIDATOR_BYTES_MAX: u64 = 1024;
const HASHED_AT_ONCE_BYTES: usize = 256 << 10;

/// Treatment of a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingFile {
    /// Kept: the download is refused.
    Kept,
    /// Replaced once the download is whole.
    Replaced,
}

/// The hash that a file must have: `sha256:HEX` or `sha512:HEX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedChecksum {
    algorithm: HashAlgorithm,
    wanted: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HashAlgorithm {
    Sha256,
    Sha512,
}

/// A file that is being downloaded.
#[derive(Debug)]
pub(crate) struct PartFile {
    name: PathBuf,
    unfinished: PathBuf,
    from: PathBuf,
}

/// Holds what a server said of the thing a part is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartValidator(pub(crate) String);

impl PartFile {
    pub(crate) fn of(name: PathBuf) -> Self {
        let beside = |ending: &str| {
            let mut path = name.clone().into_os_string();
            path.push(ending);
            PathBuf::from(path)
        };
        Self { unfinished: beside(".part"), from: beside(".part.from"), name }
    }

    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Bytes that are here, and of what; nothing if they cannot be continued.
    pub(crate) fn resume_point(&self) -> Option<(u64, PartValidator)> {
        let have = fs::metadata(&self.unfinished).ok().filter(fs::Metadata::is_file)?.len();
        let mut text = String::new();
        File::open(&self.from).ok()?.take(VALIDATOR_BYTES_MAX).read_to_string(&mut text).ok()?;
        let text = text.trim_end();
        (have > 0 && !text.is_empty()).then(|| (have, PartValidator(text.to_owned())))
    }

    /// The part, emptied, and what it is of.
    pub(crate) fn restart(&self, validator: Option<&PartValidator>) -> io::Result<File> {
        // First: a part without a validator is never continued, one with a wrong validator could
        // be.
        match fs::remove_file(&self.from) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            _ => {}
        }
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).open(&self.unfinished)?;
        if let Some(validator) = validator.filter(|it| it.0.len() as u64 <= VALIDATOR_BYTES_MAX) {
            fs::write(&self.from, &validator.0)?;
        }
        Ok(file)
    }

    /// The part, to be appended to.
    pub(crate) fn continued(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(&self.unfinished)
    }

    /// Gives the whole file its name.
    pub(crate) fn finish(&self, existing: ExistingFile) -> io::Result<()> {
        match existing {
            ExistingFile::Replaced => fs::rename(&self.unfinished, &self.name)?,
            // Something may have come to be there meanwhile.
            ExistingFile::Kept => {
                let (from, to) = (&self.unfinished, &self.name);
                match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
                    // Not every file system can tell.
                    Err(Errno::INVAL | Errno::NOSYS) if !to.exists() => fs::rename(from, to)?,
                    renamed => renamed?,
                }
            }
        }
        drop(fs::remove_file(&self.from));
        Ok(())
    }

    /// Hashes the part, and removes it if the hash is wrong.
    pub(crate) fn verify(&self, checksum: &ExpectedChecksum) -> io::Result<ChecksumMatch> {
        let found = checksum.algorithm.of(File::open(&self.unfinished)?)?;
        if found == checksum.wanted {
            return Ok(ChecksumMatch::Same);
        }
        fs::remove_file(&self.unfinished)?;
        drop(fs::remove_file(&self.from));
        Ok(ChecksumMatch::Other { found: hex(&found) })
    }
}

impl HashAlgorithm {
    fn of(self, file: File) -> io::Result<Vec<u8>> {
        match self {
            Self::Sha256 => hashed::<Sha256>(file),
            Self::Sha512 => hashed::<Sha512>(file),
        }
    }
}

fn hashed<D: Digest>(mut file: File) -> io::Result<Vec<u8>> {
    let mut digest = D::new();
    let mut piece = vec![0; HASHED_AT_ONCE_BYTES];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(digest.finalize().to_vec()),
            count => digest.update(&piece[..count]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Outcome of comparing a file with what it should hash to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChecksumMatch {
    Same,
    /// In hexadecimal digits.
    Other {
        found: String,
    },
}

/// A checksum that is written wrongly, with what to write.
#[derive(Debug, PartialEq, Eq)]
pub enum BadChecksum {
    /// No algorithm in front.
    NoAlgorithm,
    /// Another algorithm than the two.
    UnknownAlgorithm(String),
    /// Not as many hexadecimal digits as the algorithm has.
    Digits {
        /// As many as that.
        expected: usize,
    },
}

impl fmt::Display for BadChecksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAlgorithm => f.write_str("write sha256:HEX or sha512:HEX"),
            Self::UnknownAlgorithm(other) => {
                write!(f, "{other} is not known: sha256 and sha512 are")
            }
            Self::Digits { expected } => write!(f, "that takes {expected} hexadecimal digits"),
        }
    }
}

impl std::error::Error for BadChecksum {}

impl FromStr for ExpectedChecksum {
    type Err = BadChecksum;

    fn from_str(text: &str) -> Result<Self, BadChecksum> {
        let (algorithm, digits) = text.split_once(':').ok_or(BadChecksum::NoAlgorithm)?;
        let (algorithm, len) = match algorithm {
            "sha256" => (HashAlgorithm::Sha256, 32),
            "sha512" => (HashAlgorithm::Sha512, 64),
            other => return Err(BadChecksum::UnknownAlgorithm(other.to_owned())),
        };
        let nibbles: Option<Vec<u32>> = digits.chars().map(|it| it.to_digit(16)).collect();
        let nibbles = nibbles.filter(|it| it.len() == 2 * len);
        let nibbles = nibbles.ok_or(BadChecksum::Digits { expected: 2 * len })?;
        let wanted = nibbles.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect();
        Ok(Self { algorithm, wanted })
    }
}

/// Standard output, for `-o -`.
pub(crate) fn to_stdout(piece: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(piece)?;
    out.flush()
}

/// A file name that a server suggested, made harmless: one segment, no dot in front, no controls.
pub(crate) fn safe_file_name(suggested: &str) -> Option<String> {
    let last = suggested.rsplit(['/', '\\']).next().unwrap_or("");
    let shown: String = last.chars().filter(|it| !it.is_control()).collect();
    let mut name = shown.trim_matches(['.', ' ']).to_owned();
    while name.len() > NAME_BYTES_MAX {
        name.pop();
    }
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_suggested_name_cannot_leave_the_folder() {
        let name = |text| safe_file_name(text);
        assert_eq!(name("a.iso").as_deref(), Some("a.iso"));
        assert_eq!(name("../../etc/passwd").as_deref(), Some("passwd"));
        assert_eq!(name("C:\\x\\y.exe").as_deref(), Some("y.exe"));
        assert_eq!(name(".bashrc").as_deref(), Some("bashrc"));
        assert_eq!(name("a\r\n\0b").as_deref(), Some("ab"));
        assert_eq!(name(".."), None);
        assert_eq!(name("dir/"), None);
        assert_eq!(name(&"é".repeat(300)).unwrap().len(), NAME_BYTES_MAX);
    }

    #[test]
    fn checksums_are_read_whole_or_not_at_all() {
        let ok = format!("sha256:{}", "0aF".repeat(21) + "f");
        assert_eq!(ok.parse::<ExpectedChecksum>().unwrap().wanted[..2], [0x0a, 0xf0]);
        for wrong in ["abc", "md5:00", "sha256:00", "sha256:zz", "sha512:0"] {
            assert!(wrong.parse::<ExpectedChecksum>().is_err(), "{wrong}");
        }
    }
}
