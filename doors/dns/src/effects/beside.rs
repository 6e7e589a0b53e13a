//! Where a fetched file came from, kept in a small file beside it.
//!
//! `.NAME.source` holds the URL, what the server said to recognise the file by, and its length: if
//! that is no longer true of the file, it was changed by someone else and is fetched anew. Called by
//! downloads.

use http::HeaderMap;
use http::header::{ETAG, HeaderName, LAST_MODIFIED};
use std::ffi::OsString;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of a source file that are read; what we write is shorter.
const BYTES_MAX: u64 = 64 << 10;
/// Bytes of an `ETag` or a date that are kept; a longer one is not, and the file is fetched whole
/// the next time.
const VALIDATOR_BYTES_MAX: usize = 1024;

/// What is known of a fetched file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Source {
    url: String,
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
    pub(super) bytes: u64,
}

impl Source {
    pub(super) fn new(url: &str, headers: &HeaderMap, bytes: u64) -> Self {
        let text = |name: HeaderName| {
            let value = headers.get(name)?.to_str().ok()?;
            (value.len() <= VALIDATOR_BYTES_MAX).then(|| value.to_owned())
        };
        Self { url: url.into(), etag: text(ETAG), last_modified: text(LAST_MODIFIED), bytes }
    }

    /// What is known of the file at `path`, if it is still what was fetched from `url`.
    pub(super) fn of(path: &Path, url: &str) -> Option<Self> {
        let beside = source_path(path);
        if std::fs::metadata(&beside).ok()?.len() > BYTES_MAX {
            return None;
        }
        let source = Self::parse(&std::fs::read_to_string(beside).ok()?)?;
        let length = std::fs::metadata(path).ok()?.len();
        (source.url == url && source.bytes == length).then_some(source)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut source = Self::default();
        for line in text.lines() {
            let (key, value) = line.split_once(' ')?;
            match key {
                "url" => source.url = value.into(),
                "etag" => source.etag = Some(value.into()),
                "last-modified" => source.last_modified = Some(value.into()),
                "bytes" => source.bytes = value.parse().ok()?,
                _ => return None,
            }
        }
        Some(source)
    }

    /// Keeps it beside the file at `path`. If the process ends in between, the old text is there.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = format!("url {}\nbytes {}\n", self.url, self.bytes);
        for (key, value) in [("etag", &self.etag), ("last-modified", &self.last_modified)] {
            if let Some(value) = value {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{key} {value}");
            }
        }
        let beside = source_path(path);
        let part = part_path(&beside);
        std::fs::write(&part, text)?;
        std::fs::rename(part, beside)
    }
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

    #[test]
    fn a_source_is_believed_while_its_file_is_the_same() {
        let folder = std::env::temp_dir().join(format!("tidegate-beside-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        let path = folder.join("ads.txt");
        std::fs::write(&path, "12345").expect("written");
        let mut headers = HeaderMap::new();
        headers.insert(ETAG, "\"a b\"".parse().expect("a value"));
        let source = Source::new("http://a.example/ads.txt", &headers, 5);
        source.write(&path).expect("written");
        assert_eq!(Source::of(&path, "http://a.example/ads.txt"), Some(source));
        assert_eq!(Source::of(&path, "http://b.example/ads.txt"), None);
        std::fs::write(&path, "123456").expect("written");
        assert_eq!(Source::of(&path, "http://a.example/ads.txt"), None);
        let _ = std::fs::remove_dir_all(folder);
    }

    #[test]
    fn a_spoilt_source_is_none() {
        assert_eq!(Source::parse("url"), None);
        assert_eq!(Source::parse("bytes many\n"), None);
        assert_eq!(Source::parse("colour red\n"), None);
    }
}
