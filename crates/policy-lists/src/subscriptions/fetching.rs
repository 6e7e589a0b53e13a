//! Fetching one subscription: its bounds, and what a text must be to take the place of the last.
//!
//! How a file is fetched and swapped in is [`fetch::keep`]'s, which the downloads of the
//! DNS door use too. A text that is no list, or only a stump of the one before, is refused and the
//! last good one stays. Called by the thread that keeps lists, and by `tidegate lists update` where
//! nothing runs.

use super::failure::{BadAuthorities, ListFetchError};
use super::{FetchOutcome, Subscription};
use crate::texts::{compiled_alone, read_capped};
use command_output::{CommandFailure, ExitReason};
use config::Plan;
use fetch::{FetchRecord, FileCandidate, FileOutcome, FileRequest, keep};
use origins::{Dialer, OriginLimits, Origins};
use policy::UnfitList;
use resolver::{LocalOverrides, Resolver};
use state_folder::StateDir;
use std::fmt::Display;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use tokio::runtime::{Builder, LocalOptions};
use transport::ClientTls;
use vocab::Now;

/// Time that one list may take, with all its redirects: 32 MiB at half a megabit a second.
const FETCH_MAX: Duration = Duration::from_mins(10);
/// Time for which a server may send nothing.
const STALL_MAX: Duration = Duration::from_secs(30);
/// Bytes of a text that are read as rules before it is accepted: enough to tell a list from what is
/// none, little beside what compiling all of it takes.
const TRIAL_BYTES: u64 = 1 << 20;
/// A text of under a tenth of the last good one is a stump: a list that was cut off or emptied.
const SHRUNK_TO: u64 = 10;
/// Lists smaller than this, in bytes, may shrink as they like: some hundred lines.
const SHRINK_FLOOR: u64 = 10 << 10;
/// Largest file of authorities, in bytes: all public ones together are a quarter of it.
const CA_BYTES_MAX: u64 = 1 << 20;
/// Time for which the files of a list that no configuration names any more are kept, should it come
/// back.
const UNNAMED_KEPT: Duration = Duration::from_hours(30 * 24);

/// Tells whether a list may be a stump of what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShrinkRule {
    /// A stump is refused.
    Refused,
    /// The text is taken, whatever its size.
    Accepted,
}

/// The bounds of a server that lists come from.
pub(crate) fn limits() -> OriginLimits {
    OriginLimits { response_timeout: STALL_MAX, ..OriginLimits::default() }
}

/// Fetches `what` unless it is still what is there. The outcome stands in its record afterwards.
pub(crate) async fn fetch(
    origins: &Origins,
    what: &Subscription,
    smaller: ShrinkRule,
) -> Result<FileOutcome, ListFetchError> {
    let wanted = FileRequest {
        url: what.url.clone(),
        path: what.path.clone(),
        size_max: what.size_max,
        stall: STALL_MAX,
        sha256: what.sha256.clone(),
        check: Arc::new(move |candidate| is_list(candidate, smaller)),
    };
    let why = match own_origins(origins, what.ca.as_deref()) {
        Err(why) => why,
        Ok(own) => {
            let origins = own.as_ref().unwrap_or(origins);
            match tokio::time::timeout(FETCH_MAX, keep(origins, &wanted)).await {
                Ok(Ok(kept)) => return Ok(kept),
                Ok(Err(failure)) => ListFetchError::Fetch(failure),
                Err(_) => ListFetchError::TooSlow { limit: FETCH_MAX },
            }
        }
    };
    let noted = {
        let (what, why) = (what.clone(), why.to_string());
        let now_s = transport::clock::now().unix_secs();
        tokio::task::spawn_blocking(move || {
            FetchRecord::note_failure(&what.path, &what.url.to_string(), &why, now_s)
        })
    };
    Err(match noted.await {
        Ok(Ok(_)) => why,
        Ok(Err(noting)) => {
            ListFetchError::NotNoted { why: Box::new(why), noting: Arc::new(noting) }
        }
        Err(_) => ListFetchError::NotingBroke { why: Box::new(why) },
    })
}

/// Where servers are trusted that the authorities in a file vouch for too.
fn own_origins(origins: &Origins, ca: Option<&Path>) -> Result<Option<Origins>, ListFetchError> {
    let Some(file) = ca else { return Ok(None) };
    let trusting = || {
        let pem = read_capped(file, CA_BYTES_MAX)
            .map_err(|why| BadAuthorities::Unreadable(Arc::new(why)))?;
        let dialer = origins.dialer().clone();
        dialer.trusting(&pem).map_err(|why| BadAuthorities::Pem(Arc::new(why)))
    };
    let bad = |why| ListFetchError::Authorities { file: file.to_owned(), why };
    Ok(Some(Origins::new(trusting().map_err(bad)?, limits())))
}

/// Says why a text must not be in force.
fn is_list(candidate: &mut FileCandidate<'_>, smaller: ShrinkRule) -> Result<(), String> {
    let mut head = Vec::new();
    let read = candidate.content.take(TRIAL_BYTES).read_to_end(&mut head);
    read.map_err(|error| error.to_string())?;
    if let Some(why) = policy::unfit(&head) {
        return Err(why.to_string());
    }
    if (head.len() as u64) < candidate.bytes {
        // The last line may be half a one.
        let end = head.iter().rposition(|byte| *byte == b'\n').unwrap_or(head.len());
        head.truncate(end);
    }
    if compiled_alone("trial", &head).lists().iter().any(|report| report.unfit.is_some()) {
        return Err(UnfitList::NoRules.to_string());
    }
    let before = std::fs::metadata(candidate.path).map_or(0, |it| it.len());
    let is_stump = before >= SHRINK_FLOOR && candidate.bytes < before / SHRUNK_TO;
    match smaller {
        ShrinkRule::Refused if is_stump => Err(format!(
            "{} bytes are less than a tenth of the {before} before; if that is right, say so with \
             tidegate lists update --even-if-smaller",
            candidate.bytes
        )),
        ShrinkRule::Refused | ShrinkRule::Accepted => Ok(()),
    }
}

/// Fetches subscriptions into the state folder while no Tidegate runs on it, one after the other.
pub fn update_offline(
    plan: &Plan,
    state_dir: &Path,
    wanted: &[Subscription],
    smaller: ShrinkRule,
) -> Result<Vec<FetchOutcome>, CommandFailure> {
    let cannot = |why: &dyn Display| CommandFailure::new(ExitReason::NotStarted, why);
    let _held = StateDir::open(state_dir).map_err(|why| cannot(&why))?;
    let tls = ClientTls::new();
    let resolver =
        Resolver::start(&plan.resolver_settings(), tls.clone()).map_err(|why| cannot(&why))?;
    let own = plan.file.dns.as_ref().and_then(|dns| door_dns::LocalNames::of(dns).ok());
    resolver.answer_from(own.map(|own| Arc::new(own) as Arc<dyn LocalOverrides>));
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .map_err(|why| cannot(&why))?;
    runtime.block_on(async {
        let origins = Origins::new(Dialer::new(resolver, tls), limits());
        let mut done = Vec::new();
        for what in wanted {
            let result = fetch(&origins, what, smaller).await;
            done.push(FetchOutcome { name: what.name.clone(), result });
        }
        Ok(done)
    })
}

/// Removes what is left of lists that no configuration has named for a month.
pub(crate) fn sweep(folder: &Path, all: &[Subscription], now: Now) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let is_named = |file: &str| {
        let mut names = all.iter().filter_map(|what| what.path.file_name()?.to_str());
        names.any(|name| file.contains(name))
    };
    for entry in entries.flatten() {
        let modified = entry.metadata().ok().and_then(|it| it.modified().ok());
        let written = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let limit = Duration::from_secs(now.unix_secs()).saturating_sub(UNNAMED_KEPT);
        let is_old = written.is_some_and(|at| at < limit);
        if is_old && entry.file_name().to_str().is_some_and(|file| !is_named(file)) {
            // What cannot be removed costs room and nothing else.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &[u8], before: Option<&[u8]>, smaller: ShrinkRule) -> Result<(), String> {
        let name = format!("tidegate-fetching-{:?}", std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        if let Some(before) = before {
            std::fs::write(&path, before).expect("written");
        }
        let mut content = text;
        let bytes = text.len() as u64;
        let mut candidate = FileCandidate { path: &path, bytes, content: &mut content };
        let said = is_list(&mut candidate, smaller);
        let _ = std::fs::remove_file(path);
        said
    }

    #[test]
    fn what_is_no_list_says_why() {
        let check = |text: &[u8], expected: &str| {
            let why = said(text, None, ShrinkRule::Refused).expect_err("refused");
            assert!(why.contains(expected), "{why}");
        };
        check(b"<!DOCTYPE html><title>Sign in</title>", "web page");
        check(b"", "empty");
        check(b"PK\x03\x04....", "no text");
        check(b"\xff\xfea\x00", "UTF-16");
        check(b"{\"error\": \"not found\", \"code\": 404}\n", "no line of it is a rule");
        assert_eq!(said(b"||ads.example^\n", None, ShrinkRule::Refused), Ok(()));
    }

    #[test]
    fn a_long_list_is_judged_by_its_first_megabyte() {
        let long = b"||advertisements.example^\n".repeat(100_000);
        assert_eq!(said(&long, None, ShrinkRule::Refused), Ok(()));
        let long = b"{\"not\": \"a rule at all\"}\n".repeat(100_000);
        assert!(said(&long, None, ShrinkRule::Refused).is_err());
    }

    #[test]
    fn a_stump_is_refused_unless_it_is_meant() {
        let before = b"||ads.example^\n".repeat(2000);
        let check = |lines: usize, smaller| {
            said(&b"||ads.example^\n".repeat(lines), Some(&before), smaller)
        };
        assert!(
            check(199, ShrinkRule::Refused).is_err_and(|why| why.contains("--even-if-smaller"))
        );
        assert_eq!(check(200, ShrinkRule::Refused), Ok(()));
        assert_eq!(check(1, ShrinkRule::Accepted), Ok(()));
        let small = b"||ads.example^\n".repeat(600);
        assert_eq!(said(b"||ads.example^\n", Some(&small), ShrinkRule::Refused), Ok(()));
    }
}
