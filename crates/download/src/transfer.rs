//! One download from its URL to its file, through as many tries as it takes.

use crate::exchange::{self, ServerRoute, UnusableAnswer};
use crate::save::{self, ChecksumMatch, ExistingFile, ExpectedChecksum, PartFile, PartValidator};
use http::header::{
    CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, LAST_MODIFIED,
};
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use http_engine::Incoming;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use transport::ClientTls;
use url::Url;

/// A server that sends nothing for so long has hung.
const STALL: Duration = Duration::from_mins(1);
/// The first wait before another try; each next is twice as long, up to the most.
const WAIT_FIRST: Duration = Duration::from_secs(1);
const WAIT_MOST: Duration = Duration::from_secs(30);
/// Answers that a server may take back.
const TRANSIENT: [StatusCode; 6] = [
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::TOO_MANY_REQUESTS,
    StatusCode::INTERNAL_SERVER_ERROR,
    StatusCode::BAD_GATEWAY,
    StatusCode::SERVICE_UNAVAILABLE,
    StatusCode::GATEWAY_TIMEOUT,
];
const NAMELESS: &str = "index.html";

/// Settings that all downloads of a run share.
#[derive(Debug)]
pub struct TransferContext {
    /// Authorities that servers are trusted by.
    pub tls: ClientTls,
    /// A proxy on the way; none: that of the environment, if it names one.
    pub proxy: Option<Url>,
    /// The folder of files without a name of their own.
    pub dir: PathBuf,
    /// Number of times that one that broke off is taken up again.
    pub retries: u16,
    /// Treatment of a file that is there already.
    pub existing: ExistingFile,
}

/// One download.
#[derive(Debug)]
pub struct DownloadJob {
    /// The URL.
    pub url: Url,
    /// The file, `-` for standard output; none: the name in the URL.
    pub output: Option<PathBuf>,
    /// The hash that it must have.
    pub checksum: Option<ExpectedChecksum>,
}

/// A download that is whole.
#[derive(Debug)]
pub struct DownloadDone {
    /// Number of bytes.
    pub bytes: u64,
    /// The file, in words.
    pub place: String,
}

/// Reason why a download stopped.
#[derive(Debug)]
pub enum DownloadStop {
    /// No answer that could be used.
    Unanswered(UnusableAnswer),
    /// The answer ended too soon.
    Broke(String),
    /// The file could not be written.
    Disk(PathBuf, io::Error),
    /// A file of that name is there.
    Exists(PathBuf),
    /// What came has another hash.
    Wrong(String),
}

/// Reports on how far a download is.
pub trait DownloadProgress {
    /// A transfer of `total` bytes begins, if that is known, of which `have` are here already.
    fn started(&self, name: &str, have: u64, total: Option<u64>);

    /// So many bytes more are here.
    fn moved(&self, bytes: u64);

    /// The transfer broke off and is tried again after `wait`.
    fn retrying(&self, why: &DownloadStop, wait: Duration);
}

/// Downloads `job`.
pub async fn run(
    common: &TransferContext,
    job: DownloadJob,
    bar: &dyn DownloadProgress,
) -> Result<DownloadDone, DownloadStop> {
    let proxy = common.proxy.clone().or_else(|| from_environment(&job.url));
    let route = ServerRoute { tls: &common.tls, proxy: proxy.as_ref() };
    let mut wait = WAIT_FIRST;
    let mut tries = 0;
    let mut has_begun = false;
    loop {
        let outcome = attempt(common, &route, &job, bar).await;
        match outcome {
            Err(why)
                if (why.is_transient() || has_begun && why.is_unreachable())
                    && tries < common.retries
                    && !job.is_to_stdout() =>
            {
                tries += 1;
                // A server that sent some of it and is gone may be starting anew.
                has_begun |= matches!(why, DownloadStop::Broke(_));
                bar.retrying(&why, wait);
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(WAIT_MOST);
            }
            outcome => return outcome,
        }
    }
}

/// One try; it goes on where an earlier one stopped.
async fn attempt(
    common: &TransferContext,
    route: &ServerRoute<'_>,
    job: &DownloadJob,
    bar: &dyn DownloadProgress,
) -> Result<DownloadDone, DownloadStop> {
    if job.is_to_stdout() {
        let (_, answer) =
            exchange::ask(route, &job.url, None).await.map_err(DownloadStop::Unanswered)?;
        return whole_to_stdout(check_response(answer)?, bar).await;
    }
    // Known before the answer only where it was said: a redirect or a header may change it.
    let told = job.output.clone().unwrap_or_else(|| common.dir.join(name_in(&job.url)));
    let part = PartFile::of(told);
    let begun = part.resume_point();
    let range = begun.as_ref().map(|(have, validator)| (*have, validator.0.as_str()));
    let (url, answer) =
        exchange::ask(route, &job.url, range).await.map_err(DownloadStop::Unanswered)?;
    if answer.status() == StatusCode::RANGE_NOT_SATISFIABLE && begun.is_some() {
        // All of it was here, or it has shrunk: the next try starts anew.
        part.restart(None).map_err(|why| DownloadStop::Disk(part.name().to_owned(), why))?;
        return Err(DownloadStop::Broke("what is here is no part of it any more".into()));
    }
    let answer = check_response(answer)?;
    let continued = begun.filter(|(have, _)| continues(&answer, *have));
    let part = match (&continued, &job.output) {
        (None, None) => PartFile::of(common.dir.join(suggested(&url, answer.headers()))),
        _ => part,
    };
    if common.existing == ExistingFile::Kept && part.name().exists() {
        return Err(DownloadStop::Exists(part.name().to_owned()));
    }
    let disk = |why| DownloadStop::Disk(part.name().to_owned(), why);
    let have = continued.map_or(0, |(have, _)| have);
    let file = if have > 0 {
        part.continued()
    } else {
        part.restart(validator(answer.headers()).as_ref())
    };
    let bytes = have + received(answer, file.map_err(disk)?, have, &part, bar).await?;
    if let Some(checksum) = &job.checksum
        && let ChecksumMatch::Other { found } = part.verify(checksum).map_err(disk)?
    {
        return Err(DownloadStop::Wrong(found));
    }
    part.finish(common.existing).map_err(disk)?;
    Ok(DownloadDone { bytes, place: part.name().display().to_string() })
}

/// The thing itself, whole or in part; anything else is a failure.
fn check_response(answer: Response<Incoming>) -> Result<Response<Incoming>, DownloadStop> {
    match answer.status() {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(answer),
        other => Err(DownloadStop::Unanswered(UnusableAnswer::Status(other))),
    }
}

/// Writes what comes to `file`; says how much it was.
async fn received(
    answer: Response<Incoming>,
    mut file: File,
    have: u64,
    part: &PartFile,
    bar: &dyn DownloadProgress,
) -> Result<u64, DownloadStop> {
    let due = number(answer.headers(), CONTENT_LENGTH.as_str());
    let name = part.name().file_name().map(|it| it.to_string_lossy().into_owned());
    bar.started(&name.unwrap_or_default(), have, due.map(|due| have + due));
    let mut body = answer.into_body();
    let mut came = 0;
    while let Some(piece) = next(&mut body).await? {
        file.write_all(&piece).map_err(|why| DownloadStop::Disk(part.name().to_owned(), why))?;
        came += piece.len() as u64;
        bar.moved(piece.len() as u64);
    }
    file.sync_all().map_err(|why| DownloadStop::Disk(part.name().to_owned(), why))?;
    Ok(came)
}

async fn whole_to_stdout(
    answer: Response<Incoming>,
    bar: &dyn DownloadProgress,
) -> Result<DownloadDone, DownloadStop> {
    bar.started("standard output", 0, number(answer.headers(), CONTENT_LENGTH.as_str()));
    let mut body = answer.into_body();
    let mut bytes = 0;
    while let Some(piece) = next(&mut body).await? {
        save::to_stdout(&piece).map_err(|why| DownloadStop::Disk("standard output".into(), why))?;
        bytes += piece.len() as u64;
        bar.moved(piece.len() as u64);
    }
    Ok(DownloadDone { bytes, place: "standard output".into() })
}

async fn next(body: &mut Incoming) -> Result<Option<bytes::Bytes>, DownloadStop> {
    loop {
        let frame = tokio::time::timeout(STALL, body.frame()).await;
        match frame
            .map_err(|_| DownloadStop::Broke(format!("nothing came for {} s", STALL.as_secs())))?
        {
            None => return Ok(None),
            Some(Err(why)) => return Err(DownloadStop::Broke(why.to_string())),
            Some(Ok(frame)) => {
                if let Ok(piece) = frame.into_data() {
                    return Ok(Some(piece));
                }
            }
        }
    }
}

/// True if the answer goes on at byte `have`.
fn continues(answer: &Response<Incoming>, have: u64) -> bool {
    let range = answer.headers().get(CONTENT_RANGE).and_then(|it| it.to_str().ok());
    answer.status() == StatusCode::PARTIAL_CONTENT
        && range.is_some_and(|it| it.starts_with(&format!("bytes {have}-")))
}

/// Returns what tells this version of the thing from others: a strong tag, else its date.
fn validator(headers: &HeaderMap) -> Option<PartValidator> {
    let text = |name| headers.get(name).and_then(|it| it.to_str().ok());
    let tag = text(ETAG).filter(|it| !it.starts_with("W/"));
    tag.or_else(|| text(LAST_MODIFIED)).map(|it| PartValidator(it.to_owned()))
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

/// The name that the server suggests (RFC 6266), else the one in the URL.
fn suggested(url: &Url, headers: &HeaderMap) -> String {
    let disposition = headers.get(CONTENT_DISPOSITION).and_then(|it| it.to_str().ok());
    let name = disposition.and_then(|it| {
        it.split(';')
            .find_map(|part| part.trim().strip_prefix("filename="))
            .map(|it| it.trim_matches('"'))
    });
    name.and_then(save::safe_file_name).unwrap_or_else(|| name_in(url))
}

fn name_in(url: &Url) -> String {
    let last = url.path_segments().and_then(|mut it| it.next_back()).unwrap_or("");
    let decoded = percent_decode_str(last).decode_utf8_lossy();
    save::safe_file_name(&decoded).unwrap_or_else(|| NAMELESS.to_owned())
}

/// The proxy that the environment names for `url`.
fn from_environment(url: &Url) -> Option<Url> {
    let read = |name: &str| std::env::var(name).ok().filter(|it| !it.is_empty());
    let host = url.host_str()?;
    let spared = read("no_proxy").or_else(|| read("NO_PROXY")).unwrap_or_default();
    if spared.split(',').map(str::trim).any(|it| bypasses_proxy(host, it)) {
        return None;
    }
    // HTTP_PROXY in capitals is not read: behind CGI a client can set it.
    let named = match url.scheme() {
        "https" => read("https_proxy").or_else(|| read("HTTPS_PROXY")),
        _ => read("http_proxy"),
    };
    let proxy = Url::parse(&named.or_else(|| read("all_proxy"))?).ok()?;
    (proxy.scheme() == "http").then_some(proxy)
}

fn bypasses_proxy(host: &str, entry: &str) -> bool {
    let domain = entry.trim_start_matches("*.").trim_start_matches('.');
    entry == "*"
        || (!domain.is_empty()
            && host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

impl DownloadJob {
    fn is_to_stdout(&self) -> bool {
        self.output.as_deref() == Some(Path::new("-"))
    }
}

impl DownloadStop {
    /// True if nobody is there, as far as can be told.
    fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unanswered(UnusableAnswer::Unreachable(_)))
    }

    /// True if another try may help.
    fn is_transient(&self) -> bool {
        match self {
            Self::Unanswered(UnusableAnswer::Network(_)) | Self::Broke(_) => true,
            Self::Unanswered(UnusableAnswer::Status(status)) => TRANSIENT.contains(status),
            Self::Unanswered(UnusableAnswer::Refused(_) | UnusableAnswer::Unreachable(_))
            | Self::Disk(..)
            | Self::Exists(_)
            | Self::Wrong(_) => false,
        }
    }
}

impl fmt::Display for DownloadStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered(why) => why.fmt(f),
            Self::Broke(why) => write!(f, "it broke off: {why}"),
            Self::Disk(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Exists(path) => {
                write!(
                    f,
                    "{} is there already; name another with --output, or say --overwrite",
                    path.display()
                )
            }
            Self::Wrong(found) => {
                write!(f, "the checksum is wrong: what came has {found}, and was removed")
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_called_as_the_server_says_or_the_url() {
        let url = Url::parse("http://a.test/pub/a%20b.iso?x=1").unwrap();
        let mut headers = HeaderMap::new();
        assert_eq!(suggested(&url, &headers), "a b.iso");
        headers.insert(CONTENT_DISPOSITION, "attachment; filename=\"../c.zip\"".parse().unwrap());
        assert_eq!(suggested(&url, &headers), "c.zip");
        assert_eq!(name_in(&Url::parse("http://a.test/").unwrap()), NAMELESS);
        assert_eq!(name_in(&Url::parse("http://a.test/%2e%2e%2fx").unwrap()), "x");
    }

    #[test]
    fn hosts_are_spared_the_proxy_by_name_or_domain() {
        assert!(
            bypasses_proxy("a.corp.test", "corp.test") && bypasses_proxy("corp.test", ".corp.test")
        );
        assert!(bypasses_proxy("x.test", "*") && bypasses_proxy("a.test", "*.test"));
        assert!(!bypasses_proxy("acorp.test", "corp.test") && !bypasses_proxy("a.test", ""));
    }
}
