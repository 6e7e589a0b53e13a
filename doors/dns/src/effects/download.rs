//! Files that are fetched: lists, most of the time.
//!
//! What comes is written to a file beside the old one, looked at, and put in its place with one
//! rename; until then, and whenever something fails, the old file stays. A file that the server says
//! is unchanged is not fetched. It streams to disk: whatever the file's size, no more of it is in
//! memory than one piece of the HTTP connection (at most some 400 KiB) and one on its way to the
//! disk. Called by the effects' thread.

use super::beside::{Source, part_path};
use super::detour::{Certificates, Detour};
use super::fetch::{FetchError, Outgoing, fetch};
use super::settings::{DOWNLOADS_MAX, DownloadItem, DownloadSpec};
use super::url::Url;
use super::{Failure, bounds};
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
};
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::BodyExt;
use http_engine::Body;
use std::collections::{BTreeSet, HashSet};
use std::io::{self, BufRead, BufReader};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use upstream::origins::{Origins, SendError};
use vocab::Complaint;

/// Looks at a fetched file before it takes the old one's place: given where it will be and what it
/// holds, says why it must not.
pub type CheckFile = Arc<dyn Fn(&Path, &mut dyn BufRead) -> Result<(), String> + Send + Sync>;

/// Redirects that are followed: release pages of code hosts take two or three.
const REDIRECTS_MAX: u8 = 5;
const TIMEOUT_MIN: Duration = Duration::from_millis(100);
const HOUR: Duration = Duration::from_hours(1);
const RETRIES_MAX: u8 = 10;
const RETRY_MAX: Duration = Duration::from_mins(10);
const SIZE_MAX: u64 = 1 << 30;

/// A download effect, read.
#[derive(Debug)]
pub(super) struct Download {
    items: Vec<Item>,
    pub(super) detour: Detour,
    timeout: Duration,
    size_max: u64,
    retries: u8,
    retry_after: Duration,
    pub(super) jitter: Duration,
    pub(super) at_start: AtStart,
}

/// What is fetched at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtStart {
    /// What is not there.
    Missing,
    /// Nothing.
    Nothing,
}

/// One file.
#[derive(Debug)]
struct Item {
    url: Url,
    path: PathBuf,
}

/// Which files of an effect are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    All,
    Missing,
}

/// What a run brought.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    /// Files that are different now.
    pub(super) changed: Vec<PathBuf>,
    /// Files that could not be fetched, and why.
    pub(super) failures: Vec<String>,
}

/// What a single try came to.
#[derive(Debug)]
enum Missed {
    /// Trying again may help.
    ForNow(String),
    /// It will not.
    ForGood(String),
}

/// What a server said of a file.
enum Outcome {
    Changed,
    Same,
}

impl DownloadSpec {
    /// Reads the short form of OxiDNS: `URL FOLDER`.
    pub fn from_quick(text: &str) -> Result<Self, String> {
        let (url, dir) = text
            .trim()
            .split_once(|it: char| it.is_ascii_whitespace())
            .ok_or_else(|| format!("{text:?} should be URL FOLDER"))?;
        let item = DownloadItem { url: url.into(), dir: dir.trim().into(), filename: None };
        Ok(Self { downloads: vec![item], ..Self::default() })
    }

    /// Everything that is wrong with it.
    pub fn check(&self) -> Vec<Complaint> {
        Download::read(self).err().unwrap_or_default()
    }
}

impl Download {
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
        let certificates =
            if spec.insecure_skip_verify { Certificates::Unchecked } else { Certificates::Checked };
        let detour = Detour::read(spec.socks5.as_deref(), certificates, &mut wrong);
        let mut items = Vec::new();
        let mut paths = HashSet::new();
        for (index, item) in spec.downloads.iter().enumerate() {
            let under = format!("downloads.{index}");
            match Item::read(item) {
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
        Ok(Self { items, detour, timeout, size_max, retries, retry_after, jitter, at_start })
    }

    /// Fetches what is wanted, one file after the other.
    pub(super) async fn run(
        &self,
        origins: &Origins,
        check: &CheckFile,
        wanted: Wanted,
    ) -> Fetched {
        let mut fetched = Fetched::default();
        for item in &self.items {
            if wanted == Wanted::Missing && item.path.exists() {
                continue;
            }
            match self.fetch(origins, check, item).await {
                Ok(Outcome::Changed) => fetched.changed.push(item.path.clone()),
                Ok(Outcome::Same) => {}
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
        item: &Item,
    ) -> Result<Outcome, String> {
        let mut wait = self.retry_after;
        let mut left = self.retries;
        loop {
            let tried =
                tokio::time::timeout(self.timeout, self.attempt(origins, check, item)).await;
            let why = match tried {
                Ok(Ok(outcome)) => return Ok(outcome),
                Ok(Err(Missed::ForGood(why))) => return Err(why),
                Ok(Err(Missed::ForNow(why))) => why,
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

    async fn attempt(
        &self,
        origins: &Origins,
        check: &CheckFile,
        item: &Item,
    ) -> Result<Outcome, Missed> {
        let known = Source::of(&item.path, &item.url.to_string());
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        for (name, value) in [
            (IF_NONE_MATCH, known.as_ref().and_then(|it| it.etag.as_deref())),
            (IF_MODIFIED_SINCE, known.as_ref().and_then(|it| it.last_modified.as_deref())),
        ] {
            if let Some(value) = value.and_then(|it| HeaderValue::from_str(it).ok()) {
                headers.insert(name, value);
            }
        }
        let (method, url, body) = (Method::GET, item.url.clone(), Bytes::new());
        let outgoing = Outgoing { method, url, headers, body };
        let response = fetch(origins, outgoing, REDIRECTS_MAX).await.map_err(|why| missed(&why))?;
        match response.status() {
            StatusCode::NOT_MODIFIED if known.is_some() => return Ok(Outcome::Same),
            StatusCode::OK => {}
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                return Err(Missed::ForNow(format!("the server answered {status}")));
            }
            status => return Err(Missed::ForGood(format!("the server answered {status}"))),
        }
        if response.headers().get(CONTENT_ENCODING).is_some_and(|it| it != "identity") {
            return Err(Missed::ForGood("it came compressed, which was not asked for".into()));
        }
        self.store(response, check, item).await
    }

    async fn store(
        &self,
        response: Response<Body>,
        check: &CheckFile,
        item: &Item,
    ) -> Result<Outcome, Missed> {
        let part = Part::claim(part_path(&item.path))
            .ok_or_else(|| Missed::ForNow("it is being fetched already".into()))?;
        let (head, body) = response.into_parts();
        let bytes = self.write(body, item, &part).await?;
        let source = Source::new(&item.url.to_string(), &head.headers, bytes);
        let (path, check) = (item.path.clone(), Arc::clone(check));
        let placed = tokio::task::spawn_blocking(move || part.place(&path, &check, &source)).await;
        match placed {
            Ok(Ok(())) => Ok(Outcome::Changed),
            Ok(Err(why)) => Err(Missed::ForGood(why)),
            Err(_) => Err(Missed::ForGood("the check of it broke off".into())),
        }
    }

    /// Writes the body aside; returns its length.
    async fn write(&self, mut body: Body, item: &Item, part: &Part) -> Result<u64, Missed> {
        let at_disk = |why: io::Error| {
            Missed::ForGood(format!("{} cannot be written: {why}", part.0.display()))
        };
        if let Some(folder) = item.path.parent() {
            tokio::fs::create_dir_all(folder).await.map_err(at_disk)?;
        }
        let mut file = File::create(&part.0).await.map_err(at_disk)?;
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Missed::ForNow("the answer broke off".into()))?;
            let Ok(piece) = frame.into_data() else { continue };
            bytes += piece.len() as u64;
            if bytes > self.size_max {
                let why = format!("it is larger than max_size, {} bytes", self.size_max);
                return Err(Missed::ForGood(why));
            }
            file.write_all(&piece).await.map_err(at_disk)?;
        }
        file.flush().await.map_err(at_disk)?;
        file.sync_all().await.map_err(at_disk)?;
        Ok(bytes)
    }
}

fn missed(why: &FetchError) -> Missed {
    match why {
        FetchError::Send(
            SendError::Dial(_) | SendError::Closed | SendError::Timeout | SendError::BadResponse(_),
        ) => Missed::ForNow(why.to_string()),
        FetchError::Send(SendError::BodyTooLarge | SendError::BodyBroken)
        | FetchError::Location(_)
        | FetchError::Insecure
        | FetchError::Redirects => Missed::ForGood(why.to_string()),
    }
}

impl Item {
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

/// A file that is being written, removed with this unless it took its place.
struct Part(PathBuf);

/// Files being written now: several effects may fetch one file, and those of before a reload may not
/// be done yet.
static WRITING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

impl Part {
    /// None while another writes it.
    fn claim(path: PathBuf) -> Option<Self> {
        let mut writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        // Not `then_some`: a `Part` made for nothing would remove the other's file.
        writing.insert(path.clone()).then(|| Self(path))
    }

    /// Looks at it, puts it where it belongs and notes where it came from.
    fn place(self, path: &Path, check: &CheckFile, source: &Source) -> Result<(), String> {
        let at_disk = |why: io::Error| format!("{} cannot be replaced: {why}", path.display());
        if source.bytes == 0 {
            return Err("it is empty".into());
        }
        let mut content = BufReader::new(std::fs::File::open(&self.0).map_err(at_disk)?);
        if is_page(content.fill_buf().map_err(at_disk)?) {
            return Err("it is a web page, no list: a sign-in page, perhaps".into());
        }
        check(path, &mut content).map_err(|why| format!("it was refused: {why}"))?;
        std::fs::rename(&self.0, path).map_err(at_disk)?;
        if let Some(folder) = path.parent() {
            // The rename itself must reach the disk.
            std::fs::File::open(folder).and_then(|it| it.sync_all()).map_err(at_disk)?;
        }
        source.write(path).map_err(at_disk)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Gone already if it took its place.
        let _ = std::fs::remove_file(&self.0);
        WRITING.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Networks that want a sign-in answer every request with a page.
fn is_page(begin: &[u8]) -> bool {
    let begin = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin).trim_ascii_start();
    [&b"<!doctype html"[..], b"<html"]
        .iter()
        .any(|mark| begin.get(..mark.len()).is_some_and(|it| it.eq_ignore_ascii_case(mark)))
}

impl Fetched {
    /// As the outcome of an effect.
    pub(super) fn outcome(&self) -> Result<(), Failure> {
        match self.failures.as_slice() {
            [] => Ok(()),
            failures => Err(Failure::new(failures.join("; "))),
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
            Item::read(&item).map(|it| it.path).map_err(|it| it.path)
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
            DownloadSpec::from_quick(" http://a.example/ads.txt  /my lists ").expect("right");
        assert_eq!(spec.downloads[0].dir, Path::new("/my lists"));
        assert!(spec.check().is_empty());
        assert!(DownloadSpec::from_quick("http://a.example/ads.txt").is_err());
    }

    #[test]
    fn a_file_is_written_by_one_at_a_time() {
        let path = std::env::temp_dir().join(format!("tidegate-claim-{}", std::process::id()));
        let first = Part::claim(path.clone());
        assert!(first.is_some() && Part::claim(path.clone()).is_none());
        drop(first);
        assert!(Part::claim(path).is_some());
    }

    #[test]
    fn pages_are_known_by_their_beginning() {
        assert!(is_page(b"\xef\xbb\xbf \r\n<!DOCTYPE HTML><html>"));
        assert!(is_page(b"<HTML lang=en>"));
        assert!(!is_page(b"! <html> in a comment"));
        assert!(!is_page(b""));
    }
}
