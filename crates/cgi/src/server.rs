//! One `FastCGI` server: its connections, and a script of it that is asked.

use crate::address::FastcgiAddress;
use crate::call::{ScriptCall, variables};
use crate::exchange::{ScriptRequest, drive};
use crate::failure::{ScriptBroken, ScriptFailure};
use crate::pool::{FastcgiPool, SocketAge, SocketLease};
use crate::records::{KeepConnection, parameter};
use crate::sized::sized;
use crate::stage::{BodyWanted, ScriptAnswer};
use crate::stderr::ScriptStderr;
use bytes::BytesMut;
use http::Method;
use http_engine::Body;
use ledger::Ledger;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::spawn_local;
use vocab::Now;

/// Options of a `FastCGI` server.
#[derive(Clone, Debug)]
pub struct FastcgiOptions {
    /// Address.
    pub address: FastcgiAddress,
    /// Connections left open between requests.
    pub keep: u32,
    /// Connections at most.
    pub connections: u32,
    /// More variables, or others in place of ours.
    pub params: BTreeMap<String, String>,
    /// The site's folder as the server sees it, where that is another one.
    pub root: Option<PathBuf>,
    /// Time for which it may be silent.
    pub timeout: Duration,
    /// Bytes of a body.
    pub body_max: u64,
}

/// A `FastCGI` server.
pub struct FastcgiServer {
    options: FastcgiOptions,
    pool: Arc<FastcgiPool>,
}

impl FastcgiServer {
    /// One that is asked over connections made when they are needed.
    pub fn new(options: FastcgiOptions) -> Self {
        let pool = FastcgiPool::new(options.address.clone(), options.keep, options.connections);
        Self { options, pool }
    }

    /// Connections opened so far.
    pub fn opened(&self) -> u32 {
        self.pool.opened()
    }

    /// Asks a script; `call.body_len` is filled in here. Within a `LocalSet` or local run time
    /// only.
    pub async fn ask(
        &self,
        mut call: ScriptCall<'_>,
        body: Body,
        ledger: &Ledger,
        now: Now,
    ) -> Result<ScriptAnswer, ScriptFailure> {
        let options = &self.options;
        let (body, len) = sized(body, options.body_max, options.timeout).await?;
        call.body_len = len;
        if let Some(root) = &options.root {
            call.root = root;
        }
        let mut parameters = BytesMut::with_capacity(2048);
        variables(&call, &options.params, &mut |name, value| {
            parameter(&mut parameters, name, value);
        });
        let wanted = BodyWanted::of(call.method);
        let keep = if options.keep > 0 { KeepConnection::Open } else { KeepConnection::Close };
        let mut request = Some(ScriptRequest {
            opening: ScriptRequest::opening(&parameters, len, keep),
            body,
            body_len: len,
            wanted,
            timeout: options.timeout,
            keep,
        });
        // A kept connection may close just as it is used. What has no body and changes nothing may
        // be asked once more on a new one.
        let may_repeat = len == 0 && (*call.method == Method::HEAD || *call.method == Method::GET);
        let mut age = SocketAge::Reused;
        loop {
            let lease = self.pool.acquire(age, options.timeout).await?;
            let was_reused = lease.age == SocketAge::Reused;
            let Some(this) = request.take() else { return Err(ScriptFailure::Busy) };
            if may_repeat && was_reused {
                request = Some(this.retry_copy());
            }
            let script = [call.host, call.script_name].concat();
            let stderr = ScriptStderr::new(ledger.clone(), &script, now);
            match begun(lease, this, stderr).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(ScriptBroken::Closed | ScriptBroken::Io(_))) if request.is_some() => {
                    age = SocketAge::Fresh;
                }
                Ok(Err(why)) => return Err(why.into()),
                Err(_) => return Err(ScriptFailure::Bad("the exchange was cut off".into())),
            }
        }
    }
}

/// Carries a request on here until its answer begins; what is left of it then gets a task of its
/// own, which most answers need not.
async fn begun(
    lease: SocketLease,
    request: ScriptRequest,
    stderr: ScriptStderr,
) -> Result<Result<ScriptAnswer, ScriptBroken>, oneshot::error::RecvError> {
    let (sender, mut receiver) = oneshot::channel();
    let mut exchange = Box::pin(drive(lease, request, stderr, sender));
    let mut stage = ExchangeStage::GoesOn;
    let answer = poll_fn(|cx| {
        if exchange.as_mut().poll(cx).is_ready() {
            stage = ExchangeStage::Over;
        }
        // The sender goes with the exchange: one that is over does not leave this waiting.
        Pin::new(&mut receiver).poll(cx)
    })
    .await;
    if stage == ExchangeStage::GoesOn {
        spawn_local(exchange);
    }
    answer
}

/// Tells whether an exchange has come to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExchangeStage {
    GoesOn,
    Over,
}
