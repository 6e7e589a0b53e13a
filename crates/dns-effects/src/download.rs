//! Files that are fetched: lists, most of the time.
//!
//! How one file is fetched and swapped in is [`keep`]'s; here stand which files, how often they are
//! tried, and that neither an empty file nor a web page takes a file's place. Called by the
//! effects' thread.

use super::proxy_route::{CertificateChecking, Detour};
use super::settings::{DOWNLOADS_MAX, DownloadItem, DownloadSpec};
use super::{EffectFailure, bounds};
use fetch::{CheckFile, FetchFailure, FileCandidate, FileOutcome, FileRequest as File, Url, keep};
use origins::Origins;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use vocab::Complaint;

const TIMEOUT_MIN: Duration = Duration::from_millis(100);
const HOUR: Duration = Duration::from_hours(1);
const RETRIES_MAX: u8 = 10;
const RETRY_MAX: Duration = Duration::from_mins(10);
const SIZE_MAX: u64 = 1 << 30;

/// A download effect, read.
#[derive(Debug)]
pub(super) struct DownloadEffect {
    items: Vec<FileToFetch>,
    pub(super) proxy: Detour,
    timeout: Duration,
    size_max: u64,
    retries: u8,
    retry_after: Duration,
    pub(super) jitter: Duration,
    pub(super) at_start: AtStart,
}

/// Tells what is fetched at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtStart {
    /// What is not there.
    Missing,
    /// Nothing.
    Nothing,
}

/// One file.
#[derive(Debug)]
struct FileToFetch {
    url: Url,
    path: PathBuf,
}

/// Which files of an effect are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WantedFiles {
    All,
    Missing,
}

/// Holds what a run brought.
#[derive(Debug, Default)]
pub(super) struct FetchedFiles {
    /// Files that are different now.
    pub(super) changed: Vec<PathBuf>,
    /// Files that could not be fetched, and why.
    pub(super) failures: Vec<String>,
}

impl DownloadSpec {
    /// Reads the short form of OxiDNS: `URL FOLDER`.
    pub fn from_short_form(text: &str) -> Result<Self, String> {
        let (url, dir) = text
            .trim()
            .split_once(|it: char| it.is_ascii_whitespace())
            .ok_or_else(|| format!("{text:?} should be URL FOLDER"))?;
        let item = DownloadItem { url: url.into(), dir: dir.trim().into(), filename: None };
        Ok(Self { downloads: vec![item], ..Self::default() })
    }

    /// Everything that is wrong with it.
    pub fn check(&self) -> Vec<Complaint> {
        DownloadEffect::read(self).err().unwrap_or_default()
    }
}

impl DownloadEffect {
    pub(super) fn read(spec: &DownloadSpec) -> Result<Self, Vec<Complaint>> {
        let mut wrong = Vec::new();
        let (timeout, jitter, retry) = (spec.timeout.0.0, spec.jitter.0.0, spec.retry_after.0.0);
        let size_max = spec.max_size.0.bytes();
        bounds(&mut wrong, "timeout", &timeout, &(TIMEOUT_MIN..=HOUR), "from 100ms to 1h");
        bounds(&mut wrong, "max_size", &size_max, &(1..=SIZE_MAX), "from 1 to 1GiB");
        bounds(&mut wrong, "retries", &spec.retries, &(0..=RETRIES_MAX), "at most 10");
        bounds(&mut wrong, "retry_after", &retry, &(Duration::ZERO..=RETRY_MAX), "at most 10m");
        bounds(&mut wrong, "jitter", &jitter, &(Duration::ZERO..=HOUR), "at most 1h");
        let count = spec.downloads.len();
        bounds(&mut wrong, "downloads", &count, &(1..=DOWNLOADS_MAX), "from 1 to 256 files");
        let certificates = if spec.insecure_skip_verify {
            CertificateChecking::Unchecked
        } else {
            CertificateChecking::Checked
        };
        let detour = Detour::read(spec.socks5.as_deref(), certificates, &mut wrong);
        let mut items = Vec::new();
        let mut paths = HashSet::new();
        for (index, item) in spec.downloads.iter().enumerate() {
            let under = format!("downloads.{index}");
            match FileToFetch::read(item) {
                Ok(item) if !paths.insert(item.path.clone()) => {
                    let message = format!("{} is fetched twice", item.path.display());
                    wrong.push(Complaint::new(under, message).remedy("give one another filename"));
                }
                Ok(item) => items.push(item),
                Err(complaint) => wrong.push(complaint.under(&under)),
            }
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let at_start = if spec.startup_if_missing { AtStart::Missing } else { AtStart::Nothing };
        let (retries, retry_after) = (spec.retries, retry);
        Ok(Self { items, proxy: detour, timeout, size_max, retries, retry_after, jitter, at_start })
    }

    /// Fetches what is wanted, one file after the other.
    pub(super) async fn run(
        &self,
        origins: &Origins,
        check: &CheckFile,
        wanted: WantedFiles,
    ) -> FetchedFiles {
        let mut fetched = FetchedFiles::default();
        for item in &self.items {
            if wanted == WantedFiles::Missing && item.path.exists() {
                continue;
            }
            match self.fetch(origins, check, item).await {
                Ok(FileOutcome::Changed) => fetched.changed.push(item.path.clone()),
                Ok(FileOutcome::Same) => {}
                Err(why) => {
                    let path = item.path.display();
                    fetched.failures.push(format!("{}: {why}; {path} stays as it is", item.url));
                }
            }
        }
        fetched
    }

    async fn fetch(
        &self,
        origins: &Origins,
        check: &CheckFile,
        item: &FileToFetch,
    ) -> Result<FileOutcome, String> {
        let check = Arc::clone(check);
        let file = File {
            url: item.url.clone(),
            path: item.path.clone(),
            size_max: self.size_max,
            // The whole of it has no longer.
            stall: self.timeout,
            sha256: None,
            check: Arc::new(move |it| no_page(it).and_then(|()| check(it))),
        };
        let mut wait = self.retry_after;
        let mut left = self.retries;
        loop {
            let why = match tokio::time::timeout(self.timeout, keep(origins, &file)).await {
                Ok(Ok(kept)) => return Ok(kept),
                Ok(Err(FetchFailure::ForGood(why))) => return Err(why),
                Ok(Err(FetchFailure::ForNow(why))) => why,
                Err(_) => "it did not come within the timeout".to_owned(),
            };
            if left == 0 {
                return Err(why);
            }
            left -= 1;
            tokio::time::sleep(wait + super::up_to(wait / 4)).await;
            wait = (wait * 2).min(RETRY_MAX);
        }
    }
}

impl FileToFetch {
    fn read(item: &DownloadItem) -> Result<Self, Complaint> {
        let url = Url::parse(item.url.trim()).map_err(|why| {
            Complaint::new("url", why.to_string()).remedy("as in https://lists.example/ads.txt")
        })?;
        let name = item.filename.as_deref().map(str::trim).filter(|it| !it.is_empty());
        let name = name.unwrap_or(url.file_name()).to_owned();
        let mut parts = Path::new(&name).components();
        // One plain part: nothing that leads out of the folder.
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
            || name.starts_with('.')
        {
            let message = format!("{name:?} is no name for a file");
            return Err(Complaint::new("filename", message).remedy("as in ads.txt"));
        }
        if item.dir.as_os_str().is_empty() {
            return Err(
                Complaint::new("dir", "no folder is named").remedy("as in /etc/tidegate/lists")
            );
        }
        let path = item.dir.join(name);
        Ok(Self { url, path })
    }
}

fn no_page(candidate: &mut FileCandidate<'_>) -> Result<(), String> {
    if candidate.bytes == 0 {
        return Err("it is empty".into());
    }
    let begin = candidate.content.fill_buf().map_err(|why| why.to_string())?;
    if is_page(begin) {
        return Err("it is a web page, no list: a sign-in page, perhaps".into());
    }
    Ok(())
}

/// Networks that want a sign-in answer every request with a page.
fn is_page(begin: &[u8]) -> bool {
    let begin = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin).trim_ascii_start();
    [&b"<!doctype html"[..], b"<html"]
        .iter()
        .any(|mark| begin.get(..mark.len()).is_some_and(|it| it.eq_ignore_ascii_case(mark)))
}

impl FetchedFiles {
    /// As the outcome of an effect.
    pub(super) fn outcome(&self) -> Result<(), EffectFailure> {
        match self.failures.as_slice() {
            [] => Ok(()),
            failures => Err(EffectFailure::new(failures.join("; "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stays_in_its_folder() {
        let read = |url: &str, filename: Option<&str>| {
            let item = DownloadItem {
                url: url.into(),
                dir: "/lists".into(),
                filename: filename.map(str::to_owned),
            };
            FileToFetch::read(&item).map(|it| it.path).map_err(|it| it.path)
        };
        let named = |name: &str| read("http://a.example/x/ads.txt?v=1", Some(name));
        assert_eq!(read("http://a.example/x/ads.txt?v=1", None), Ok("/lists/ads.txt".into()));
        assert_eq!(named("mine"), Ok("/lists/mine".into()));
        for wrong in ["../up", "/etc/passwd", "a/b", ".", "..", ".hidden"] {
            assert_eq!(named(wrong), Err("filename".into()), "{wrong}");
        }
        assert_eq!(read("http://a.example/", None), Err("filename".into()));
        assert_eq!(read("ftp://a.example/x", None), Err("url".into()));
    }

    #[test]
    fn the_short_form_is_read() {
        let spec =
            DownloadSpec::from_short_form(" http://a.example/ads.txt  /my lists ").expect("right");
        assert_eq!(spec.downloads[0].dir, Path::new("/my lists"));
        assert!(spec.check().is_empty());
        assert!(DownloadSpec::from_short_form("http://a.example/ads.txt").is_err());
    }

    #[test]
    fn pages_are_known_by_their_beginning() {
        assert!(is_page(b"\xef\xbb\xbf \r\n<!DOCTYPE HTML><html>"));
        assert!(is_page(b"<HTML lang=en>"));
        assert!(!is_page(b"! <html> in a comment"));
        assert!(!is_page(b""));
    }
}
