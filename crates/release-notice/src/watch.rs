//! The question, again and again, on a thread of its own.

use crate::release::{NewerRelease, newer_than};
use crate::settings::UpdateSettings;
use bytes::Bytes;
use fetch::{RepeatableRequest, Url, WholeBounds, whole};
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use origins::{Dialer, OriginLimits, Origins};
use semver::Version;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions};

/// Bytes of an answer that are read: notes of a release are in it.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Time for an answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// Redirects that are followed.
const REDIRECTS_MAX: u8 = 3;

/// Notice of the latest release; dropped, it asks no more.
#[derive(Debug, Default)]
pub struct ReleaseWatch(Arc<WatchState>);

#[derive(Debug, Default)]
struct WatchState {
    inner: Mutex<WatchInner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WatchInner {
    /// Counts what is to be asked: a thread of an earlier turn ends.
    turn: u64,
    settings: UpdateSettings,
    newer: Option<NewerRelease>,
}

impl ReleaseWatch {
    /// Asks as these settings say from now on; `running` is the version that runs.
    ///
    /// # Errors
    /// There is no thread for it.
    pub fn follow(
        &self,
        settings: &UpdateSettings,
        dialer: Dialer,
        running: &str,
    ) -> io::Result<()> {
        let mut inner = self.0.lock();
        if inner.settings == *settings {
            return Ok(());
        }
        let turn = inner.turn + 1;
        *inner = WatchInner { turn, settings: settings.clone(), newer: None };
        drop(inner);
        self.0.changed.notify_all();
        let Some(url) = settings.releases.as_deref().and_then(|it| Url::parse(it).ok()) else {
            return Ok(());
        };
        let running = Version::parse(running).map_err(io::Error::other)?;
        let (state, refresh) = (Arc::clone(&self.0), settings.refresh());
        let question = ReleaseQuestion { url, dialer, running };
        let asked = std::thread::Builder::new().name("releases".into());
        asked.spawn(move || state.ask_again(turn, &question, refresh)).map(drop)
    }

    /// The release that is newer than what runs, if one was told.
    pub fn newer(&self) -> Option<NewerRelease> {
        self.0.lock().newer.clone()
    }
}

impl Drop for ReleaseWatch {
    fn drop(&mut self) {
        self.0.lock().turn += 1;
        self.0.changed.notify_all();
    }
}

struct ReleaseQuestion {
    url: Url,
    dialer: Dialer,
    running: Version,
}

impl ReleaseQuestion {
    fn ask(&self) -> Result<Option<NewerRelease>, Box<dyn std::error::Error>> {
        let runtime =
            Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
        let answer = runtime.block_on(async {
            let origins = Origins::new(self.dialer.clone(), OriginLimits::default());
            let headers =
                HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
            let url = self.url.clone();
            let request =
                RepeatableRequest { method: Method::GET, url, headers, body: Bytes::new() };
            let bounds = WholeBounds {
                redirects: REDIRECTS_MAX,
                body: ANSWER_BYTES_MAX,
                time: ANSWER_TIME_MAX,
            };
            whole(&origins, request, bounds).await
        })?;
        match answer.status {
            StatusCode::OK => Ok(newer_than(&self.running, &answer.body)?),
            status => Err(format!("the server answered {status}").into()),
        }
    }
}

impl WatchState {
    fn lock(&self) -> MutexGuard<'_, WatchInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask_again(&self, turn: u64, question: &ReleaseQuestion, refresh: Duration) {
        loop {
            let told = question.ask();
            let mut inner = self.lock();
            if inner.turn != turn {
                return;
            }
            match told {
                Ok(newer) => {
                    if let Some(it) = newer.as_ref().filter(|_| newer != inner.newer) {
                        log::info!(target: "program", "version {} is there", it.version);
                    }
                    inner.newer = newer;
                }
                // What was told before still holds.
                Err(why) => {
                    log::warn!(target: "program", "updates.releases: {why}");
                }
            }
            let span = refresh.mul_f64(0.9 + 0.2 * random_share());
            let woken = self.changed.wait_timeout_while(inner, span, |it| it.turn == turn);
            if woken.unwrap_or_else(PoisonError::into_inner).0.turn != turn {
                return;
            }
        }
    }
}

/// A number from 0 to 1.
fn random_share() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness all come at the same time of day, which is slow and not wrong.
    let _ = getrandom::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}
