//! One request to a pool: which server gets it, and which the next if that one fails.
//!
//! It changes nothing of the request. Called by `passing` for what is passed on, and by `cached` for
//! what the cache fetches.

use crate::dice;
use crate::door::Setup;
use crate::pools::{Met, Pick, Pool, TRIES_MAX, Tried};
use crate::request::Outcome;
use http::header::SET_COOKIE;
use http::{Request, Response, StatusCode};
use http_engine::Body;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use transport::clock;
use upstream::origins::{Anywhere, SendError, Unanswered};
use vocab::Now;

/// What a client is told to wait for that found all servers busy.
const BUSY_RETRY_AFTER: Duration = Duration::from_secs(1);

/// For whom a request is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    pub(crate) client: IpAddr,
    pub(crate) stickiness: Stickiness,
}

/// Whether the client is to come back to the same server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stickiness {
    /// As the pool has it.
    AsSet,
    /// The answer is for everybody.
    Never,
}

/// Why a pool gave no answer.
#[derive(Clone, Debug)]
pub(crate) enum NoAnswer {
    /// A server was asked, and failed.
    Failed(SendError),
    /// No server is up: ask again after this.
    AllDown(Duration),
    /// All servers have as many requests as they may have.
    Busy,
}

impl From<NoAnswer> for Outcome {
    fn from(why: NoAnswer) -> Self {
        match why {
            NoAnswer::Failed(why) => Self::Failed(why),
            NoAnswer::AllDown(wait) => Self::Unavailable(wait),
            NoAnswer::Busy => Self::Unavailable(BUSY_RETRY_AFTER),
        }
    }
}

/// Tries servers until one answers. A request goes on to the next if nothing of it was sent.
pub(crate) async fn send(
    setup: &Setup,
    pool: &Arc<Pool>,
    mut request: Request<Body>,
    asker: Asker,
    now: Now,
) -> Result<Response<Body>, NoAnswer> {
    let mut asking = pool.asking(&request, asker.client, dice::throw());
    if asker.stickiness == Stickiness::Never {
        asking.stuck_to = None;
    }
    let (mut tried, mut now, mut failure) = (Tried::default(), now, None);
    while tried.count() < TRIES_MAX {
        let lease = match pool.pick(&asking, &mut tried, now) {
            Pick::Server(lease) => lease,
            Pick::Full | Pick::Tried => break,
            Pick::Nobody(wait_ms) => {
                let down = NoAnswer::AllDown(Duration::from_millis(wait_ms));
                return Err(failure.map_or(down, NoAnswer::Failed));
            }
        };
        let began = Instant::now();
        match setup.origins.send(lease.origin(), request, &Anywhere).await {
            Ok(mut response) => {
                now = clock::now();
                lease.took(micros(began.elapsed()), now);
                lease.met(met(response.status()), now);
                if asker.stickiness == Stickiness::AsSet
                    && let Some(cookie) = lease.cookie(asking.stuck_to)
                {
                    response.headers_mut().append(SET_COOKIE, cookie);
                }
                return Ok(response.map(|body| lease.hold(body)));
            }
            Err(Unanswered { why, unsent }) => {
                now = clock::now();
                if let Some(met) = met_failing(&why) {
                    lease.met(met, now);
                }
                match unsent {
                    Some(unsent) => request = *unsent,
                    None => return Err(NoAnswer::Failed(why)),
                }
                failure = Some(why);
            }
        }
    }
    Err(failure.map_or(NoAnswer::Busy, NoAnswer::Failed))
}

fn met(status: StatusCode) -> Met {
    // 501 says what a server cannot do at all, not that it fails.
    let failed = status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED;
    if failed { Met::Failure } else { Met::Answer }
}

/// What a failure says of the server; nothing if the client broke off.
fn met_failing(why: &SendError) -> Option<Met> {
    match why {
        SendError::Dial(_) => Some(Met::NoConnection),
        SendError::Closed | SendError::Timeout | SendError::BadResponse(_) => Some(Met::Failure),
        SendError::BodyTooLarge | SendError::BodyBroken => None,
    }
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}
