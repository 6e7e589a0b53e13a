//! Where a fetched file came from, kept in a small file beside it.
//!
//! `.NAME.source` holds the URL, what the server said to recognise the file by, its length and
//! SHA-256, when it was asked for last and what went wrong since. It is never needed to use the
//! file: without it, or where it is not true of the file any more, the file is fetched anew.
//! Written by [`super::keep()`].

use durable_file::{DraftName, FileReplacement, NameDurability};
use http::HeaderMap;
use http::header::{ETAG, HeaderName, LAST_MODIFIED};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Bytes of a source file that are read; what we write is shorter.
const BYTES_MAX: u64 = 64 << 10;
/// Bytes of an `ETag` or a date that are kept; a longer one is not, and the file is fetched whole
/// the next time.
const VALIDATOR_BYTES_MAX: usize = 1024;
/// Bytes that are kept of why a fetch failed.
const FAILURE_BYTES_MAX: usize = 512;

/// Holds what is known of a file and of the tries to fetch it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchRecord {
    url: String,
    /// What the file holds; none before the first success, or if it was changed by someone else.
    pub version: Option<FileVersion>,
    /// When the server was asked last, in seconds since 1970; 0 if never.
    pub checked_s: u64,
    /// Tries that failed since the last that did not.
    pub failures: u32,
    /// Why the last of them did; at most 512 bytes, one line.
    pub failure: Option<String>,
}

/// A version of a file that was accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileVersion {
    /// Length, in bytes.
    pub bytes: u64,
    /// SHA-256, in lower-case hexadecimal.
    pub sha256: String,
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
    /// When it was fetched, in seconds since 1970.
    pub fetched_s: u64,
}

impl FileVersion {
    pub(super) fn new(headers: &HeaderMap, bytes: u64, sha256: String, fetched_s: u64) -> Self {
        let text = |name: HeaderName| {
            let value = headers.get(name)?.to_str().ok()?;
            (value.len() <= VALIDATOR_BYTES_MAX).then(|| value.to_owned())
        };
        Self { bytes, sha256, etag: text(ETAG), last_modified: text(LAST_MODIFIED), fetched_s }
    }
}

impl FetchRecord {
    /// Returns what is noted of the file at `path`, if it is of `url`. The length is compared, no
    /// more.
    pub fn read(path: &Path, url: &str) -> Option<Self> {
        let beside = source_path(path);
        if std::fs::metadata(&beside).ok()?.len() > BYTES_MAX {
            return None;
        }
        let mut record = Self::parse(&std::fs::read_to_string(beside).ok()?)?;
        if record.url != url {
            return None;
        }
        let length = std::fs::metadata(path).ok().map(|it| it.len());
        record.version = record.version.filter(|version| Some(version.bytes) == length);
        Some(record)
    }

    /// After a success: this version is what the server has.
    pub(super) fn good(url: &str, version: FileVersion, checked_s: u64) -> Self {
        Self { url: url.into(), version: Some(version), checked_s, failures: 0, failure: None }
    }

    /// Notes that a try at `now_s`, in seconds since 1970, failed; the file stays what it is.
    pub fn note_failure(path: &Path, url: &str, why: &str, now_s: u64) -> io::Result<Self> {
        let mut record = Self::read(path, url).unwrap_or_default();
        url.clone_into(&mut record.url);
        record.checked_s = now_s;
        record.failures = record.failures.saturating_add(1);
        let cut = &why[..why.floor_char_boundary(FAILURE_BYTES_MAX)];
        record.failure = Some(cut.replace(char::is_control, " "));
        record.write(path)?;
        Ok(record)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut record = Self::default();
        let mut version = FileVersion::default();
        for line in text.lines() {
            let (key, value) = line.split_once(' ')?;
            match key {
                "url" => record.url = value.into(),
                "checked" => record.checked_s = value.parse().ok()?,
                "failures" => record.failures = value.parse().ok()?,
                "failure" => record.failure = Some(value.into()),
                "etag" => version.etag = Some(value.into()),
                "last-modified" => version.last_modified = Some(value.into()),
                "bytes" => version.bytes = value.parse().ok()?,
                "sha256" => version.sha256 = value.into(),
                "fetched" => version.fetched_s = value.parse().ok()?,
                _ => return None,
            }
        }
        // Nothing is believed to be a file that cannot be told from another.
        record.version = (!version.sha256.is_empty()).then_some(version);
        Some(record)
    }

    /// Keeps it beside the file at `path`, with write, fsync and rename.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut text =
            format!("url {}\nchecked {}\nfailures {}\n", self.url, self.checked_s, self.failures);
        let mut line = |key: &str, value: Option<&str>| {
            if let Some(value) = value {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{key} {value}");
            }
        };
        line("failure", self.failure.as_deref());
        if let Some(version) = &self.version {
            line("bytes", Some(&version.bytes.to_string()));
            line("sha256", Some(&version.sha256));
            line("fetched", Some(&version.fetched_s.to_string()));
            line("etag", version.etag.as_deref());
            line("last-modified", version.last_modified.as_deref());
        }
        let beside = source_path(path);
        if let Some(folder) = beside.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let record = FileReplacement {
            draft: DraftName::Hidden,
            // Without it the file is fetched anew.
            durability: NameDurability::Left,
            ..FileReplacement::private(&beside)
        };
        record.write(text.as_bytes()).map(drop)
    }
}

/// Begins a file that its owner alone may read: lists say what somebody is kept from.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn source_path(path: &Path) -> PathBuf {
    renamed(path, ".source")
}

/// Where a file is written before it takes its place, in the same folder.
pub(super) fn part_path(path: &Path) -> PathBuf {
    renamed(path, ".part")
}

fn renamed(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(ending);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://a.example/ads.txt";

    fn folder(name: &str) -> PathBuf {
        let name = format!("tidegate-record-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("made");
        folder
    }

    #[test]
    fn a_version_is_believed_while_its_file_is_the_same() {
        let folder = folder("same");
        let path = folder.join("ads.txt");
        std::fs::write(&path, "12345").expect("written");
        let mut headers = HeaderMap::new();
        headers.insert(ETAG, "\"a b\"".parse().expect("a value"));
        let record = FetchRecord::good(URL, FileVersion::new(&headers, 5, "00ff".into(), 7), 9);
        record.write(&path).expect("written");
        assert_eq!(FetchRecord::read(&path, URL), Some(record));
        assert_eq!(FetchRecord::read(&path, "http://b.example/ads.txt"), None);
        std::fs::write(&path, "123456").expect("written");
        assert_eq!(
            FetchRecord::read(&path, URL).map(|it| (it.version, it.checked_s)),
            Some((None, 9))
        );
        let _ = std::fs::remove_dir_all(folder);
    }

    #[test]
    fn failures_are_counted_beside_the_version_that_stays() {
        let folder = folder("failures");
        let path = folder.join("lists/ads.txt");
        let first = FetchRecord::note_failure(&path, URL, "no\nanswer", 5).expect("written");
        assert_eq!((first.failures, first.failure.as_deref()), (1, Some("no answer")));
        assert_eq!(first.version, None);
        std::fs::write(&path, "12345").expect("written");
        let version = FileVersion::new(&HeaderMap::new(), 5, "00ff".into(), 7);
        FetchRecord::good(URL, version.clone(), 7).write(&path).expect("written");
        for _ in 0..2 {
            FetchRecord::note_failure(&path, URL, &"ü".repeat(999), 8).expect("written");
        }
        let record = FetchRecord::read(&path, URL).expect("there");
        assert_eq!((record.failures, record.checked_s), (2, 8));
        assert_eq!(record.version, Some(version));
        assert_eq!(record.failure.map(|it| it.len()), Some(FAILURE_BYTES_MAX));
        let _ = std::fs::remove_dir_all(folder);
    }

    #[test]
    fn a_spoilt_record_is_none() {
        assert_eq!(FetchRecord::parse("url"), None);
        assert_eq!(FetchRecord::parse("bytes many\n"), None);
        assert_eq!(FetchRecord::parse("colour red\n"), None);
        assert_eq!(FetchRecord::parse("url x\nbytes 5\n").map(|it| it.version), Some(None));
    }
}
