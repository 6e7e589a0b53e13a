//! One file, fetched if it changed, and swapped in if it is good.
//!
//! What comes is written to a file beside the old one, looked at, and put in its place with one
//! rename; until then, and whenever something fails, the old file stays. It streams to disk:
//! whatever the file's size, no more of it is in memory than one piece of the HTTP connection (at
//! most some 400 KiB) and a decoder's window. Must be called within a local runtime. Called by
//! downloads and subscriptions.

use super::exchange::{FetchError, RepeatableRequest, fetch};
use super::record::{FetchRecord, FileVersion, create_private, part_path};
use super::url::Url;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
};
use http::{Method, Response, StatusCode};
use http_body_util::BodyExt;
use http_engine::Body;
use http_engine::encoding::decode::{BodyDecoder, DECODABLE, coding_of};
use origins::{Origins, SendError};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::spawn_blocking;

/// Looks at a fetched file before it takes the old one's place; says why it must not.
pub type CheckFile = Arc<dyn Fn(&mut FileCandidate<'_>) -> Result<(), String> + Send + Sync>;

/// Redirects that are followed: release pages of code hosts take two or three.
const REDIRECTS_MAX: u8 = 5;

/// A file that may take the place of another.
pub struct FileCandidate<'c> {
    /// Where it would be, and where the old one is.
    pub path: &'c Path,
    /// Length.
    pub bytes: u64,
    /// What it holds, from the beginning.
    pub content: &'c mut dyn BufRead,
}

/// Holds what is to be kept, and within which bounds.
#[derive(Clone)]
pub struct FileRequest {
    /// Where it is fetched from.
    pub url: Url,
    /// Where it is kept.
    pub path: PathBuf,
    /// Largest size, in bytes, as it is sent and as it is kept.
    pub size_max: u64,
    /// Time for which the server may send nothing of it.
    pub stall: Duration,
    /// The SHA-256 that it must have, in lower-case hexadecimal.
    pub sha256: Option<String>,
    /// What else it must be.
    pub check: CheckFile,
}

/// Tells what a server said of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOutcome {
    /// The file is another now.
    Changed,
    /// Is as it was.
    Same,
}

/// Why a file was not fetched; the old one stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchFailure {
    /// Trying again soon may help.
    ForNow(String),
    /// Will not, until the server has something else.
    ForGood(String),
}

/// Fetches `wanted` unless the server says that it is what is there.
pub async fn keep(origins: &Origins, wanted: &FileRequest) -> Result<FileOutcome, FetchFailure> {
    let now_s = transport::clock::now().unix_secs();
    let known = blocking({
        let wanted = wanted.clone();
        move || Ok(true_version(&wanted))
    })
    .await?;
    let outgoing = RepeatableRequest {
        method: Method::GET,
        url: wanted.url.clone(),
        headers: questions(known.as_ref()),
        body: Bytes::new(),
    };
    let response = fetch(origins, outgoing, REDIRECTS_MAX).await.map_err(|why| missed(&why))?;
    match (response.status(), known) {
        (StatusCode::NOT_MODIFIED, Some(known)) => {
            let (path, url) = (wanted.path.clone(), wanted.url.to_string());
            let note =
                move || FetchRecord::good(&url, known, now_s).write(&path).map_err(no_disk(&path));
            blocking(note).await?;
            Ok(FileOutcome::Same)
        }
        (StatusCode::OK, _) => store(response, wanted, now_s).await,
        (status, _) if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            Err(FetchFailure::ForNow(format!("the server answered {status}")))
        }
        (status, _) => Err(FetchFailure::ForGood(format!("the server answered {status}"))),
    }
}

/// Returns what is known of the file that is there, if all of it is still so and it is what is
/// wanted.
fn true_version(wanted: &FileRequest) -> Option<FileVersion> {
    let version = FetchRecord::read(&wanted.path, &wanted.url.to_string())?.version?;
    if wanted.sha256.as_ref().is_some_and(|pinned| *pinned != version.sha256) {
        return None;
    }
    let mut hash = FileHash(Sha256::new());
    io::copy(&mut File::open(&wanted.path).ok()?, &mut hash).ok()?;
    (hash.hex() == version.sha256).then_some(version)
}

fn questions(known: Option<&FileVersion>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_ENCODING, DECODABLE);
    for (name, value) in [
        (IF_NONE_MATCH, known.and_then(|it| it.etag.as_deref())),
        (IF_MODIFIED_SINCE, known.and_then(|it| it.last_modified.as_deref())),
    ] {
        if let Some(value) = value.and_then(|it| HeaderValue::from_str(it).ok()) {
            headers.insert(name, value);
        }
    }
    headers
}

async fn store(
    response: Response<Body>,
    wanted: &FileRequest,
    now_s: u64,
) -> Result<FileOutcome, FetchFailure> {
    let (head, body) = response.into_parts();
    let coding = coding_of(&head.headers).map_err(|why| FetchFailure::ForGood(why.to_string()))?;
    let length = head.headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > wanted.size_max) {
        return Err(FetchFailure::ForGood(TooLarge(wanted.size_max).to_string()));
    }
    let part = PartialFile::claim(part_path(&wanted.path))
        .ok_or_else(|| FetchFailure::ForNow("it is being fetched already".into()))?;
    let opened = {
        let (path, size_max) = (part.0.clone(), wanted.size_max);
        blocking(move || {
            let sink = BoundedSink::open(&path, size_max).map_err(no_disk(&path))?;
            BodyDecoder::new(coding, sink).map_err(|why| FetchFailure::ForGood(why.to_string()))
        })
    };
    let sink = receive(body, opened.await?, wanted).await?;
    let wanted = wanted.clone();
    blocking(move || part.place(sink, &wanted, &head.headers, now_s)).await
}

/// Writes the body aside, a piece at a time.
async fn receive(
    mut body: Body,
    mut decoder: BodyDecoder<BoundedSink>,
    wanted: &FileRequest,
) -> Result<BoundedSink, FetchFailure> {
    let mut received = 0;
    loop {
        let Ok(frame) = tokio::time::timeout(wanted.stall, body.frame()).await else {
            let stall = wanted.stall.as_millis();
            return Err(FetchFailure::ForNow(format!("the server sent nothing for {stall} ms")));
        };
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|_| FetchFailure::ForNow("the answer broke off".into()))?;
        let Ok(piece) = frame.into_data() else { continue };
        received += piece.len() as u64;
        if received > wanted.size_max {
            return Err(FetchFailure::ForGood(TooLarge(wanted.size_max).to_string()));
        }
        decoder = blocking(move || match decoder.write(&piece) {
            Ok(()) => Ok(decoder),
            Err(why) => Err(spoilt(&why)),
        })
        .await?;
    }
    blocking(move || {
        let sink = decoder.finish().map_err(|why| spoilt(&why))?;
        sink.file.sync_all().map_err(|why| spoilt(&io::Error::other(NoDisk(why))))?;
        Ok(sink)
    })
    .await
}

/// Disks may be slow: never on the thread that serves others.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FetchFailure> + Send + 'static,
) -> Result<T, FetchFailure> {
    spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(FetchFailure::ForGood("the work on it broke off".into())))
}

fn missed(why: &FetchError) -> FetchFailure {
    match why {
        FetchError::Send(
            SendError::Dial(_)
            | SendError::Busy(_)
            | SendError::Closed
            | SendError::Timeout
            | SendError::BadResponse(_),
        ) => FetchFailure::ForNow(why.to_string()),
        FetchError::Send(SendError::BodyTooLarge | SendError::BodyBroken)
        | FetchError::Location(_)
        | FetchError::Insecure
        | FetchError::Redirects => FetchFailure::ForGood(why.to_string()),
    }
}

/// Returns whether the size, the disk or the coding failed: the first two come out of the decoder
/// as they went into it.
fn spoilt(why: &io::Error) -> FetchFailure {
    let ours = why.get_ref().is_some_and(|it| it.is::<TooLarge>() || it.is::<NoDisk>());
    if ours {
        FetchFailure::ForGood(why.to_string())
    } else {
        FetchFailure::ForNow(format!("its coding is spoilt: {why}"))
    }
}

fn no_disk(path: &Path) -> impl Fn(io::Error) -> FetchFailure {
    move |why| FetchFailure::ForGood(format!("{} cannot be written: {why}", path.display()))
}

/// More than may come.
#[derive(Debug)]
struct TooLarge(u64);

#[derive(Debug)]
struct NoDisk(io::Error);

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it is larger than max_size, {} bytes", self.0)
    }
}

impl fmt::Display for NoDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it cannot be written: {}", self.0)
    }
}

impl std::error::Error for TooLarge {}
impl std::error::Error for NoDisk {}

/// Takes bytes up to a number of them.
struct BoundedSink {
    file: File,
    hash: FileHash,
    bytes: u64,
    bytes_max: u64,
}

struct FileHash(Sha256);

impl FileHash {
    fn hex(self) -> String {
        self.0.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a String takes everything");
            text
        })
    }
}

impl BoundedSink {
    fn open(path: &Path, bytes_max: u64) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        Ok(Self { file: create_private(path)?, hash: FileHash(Sha256::new()), bytes: 0, bytes_max })
    }
}

impl Write for FileHash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for BoundedSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len() as u64;
        if self.bytes > self.bytes_max {
            return Err(io::Error::other(TooLarge(self.bytes_max)));
        }
        self.file.write_all(bytes).map_err(|why| io::Error::other(NoDisk(why)))?;
        self.hash.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is being written, removed with this unless it took its place.
struct PartialFile(PathBuf);

/// Files being written now: several callers may fetch one file, and those of before a reload may
/// not be done yet.
static WRITING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

impl PartialFile {
    /// None while another writes it.
    fn claim(path: PathBuf) -> Option<Self> {
        let mut writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        // Not `then_some`: a `PartialFile` made for nothing would remove the other's file.
        writing.insert(path.clone()).then(|| Self(path))
    }

    /// Looks at it, puts it where it belongs and notes where it came from.
    fn place(
        self,
        sink: BoundedSink,
        wanted: &FileRequest,
        headers: &HeaderMap,
        now_s: u64,
    ) -> Result<FileOutcome, FetchFailure> {
        let (path, bytes, sha256) = (&wanted.path, sink.bytes, sink.hash.hex());
        if let Some(pinned) = wanted.sha256.as_ref().filter(|pinned| **pinned != sha256) {
            return Err(FetchFailure::ForGood(format!("its SHA-256 is {sha256}, not {pinned}")));
        }
        let mut content = BufReader::new(File::open(&self.0).map_err(no_disk(path))?);
        let mut candidate = FileCandidate { path, bytes, content: &mut content };
        (wanted.check)(&mut candidate)
            .map_err(|why| FetchFailure::ForGood(format!("it was refused: {why}")))?;
        let url = wanted.url.to_string();
        // A server that knows no validators sends the same bytes again and again.
        let before = FetchRecord::read(path, &url).and_then(|it| it.version);
        let is_same =
            before.is_some_and(|it| it.sha256 == sha256) && true_version(wanted).is_some();
        if !is_same {
            if let Ok(before) = path.metadata() {
                // Its owner may have let others read it. Where that cannot be said, nobody may.
                drop(std::fs::set_permissions(&self.0, before.permissions()));
            }
            std::fs::rename(&self.0, path).map_err(no_disk(path))?;
            if let Some(folder) = path.parent() {
                // The rename itself must reach the disk.
                File::open(folder).and_then(|it| it.sync_all()).map_err(no_disk(path))?;
            }
        }
        let version = FileVersion::new(headers, bytes, sha256, now_s);
        FetchRecord::good(&url, version, now_s).write(path).map_err(no_disk(path))?;
        Ok(if is_same { FileOutcome::Same } else { FileOutcome::Changed })
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // Gone already if it took its place.
        let _ = std::fs::remove_file(&self.0);
        WRITING.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

impl fmt::Display for FetchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForNow(why) | Self::ForGood(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for FetchFailure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_by_one_at_a_time() {
        let path = std::env::temp_dir().join(format!("tidegate-claim-{}", std::process::id()));
        let first = PartialFile::claim(path.clone());
        assert!(first.is_some() && PartialFile::claim(path.clone()).is_none());
        drop(first);
        assert!(PartialFile::claim(path).is_some());
    }
}
