//! One connection, as its requests see it: who asks, how it came, and when it ends.
//!
//! It reads no request and answers none. Made by `serve`, once a connection.

use crate::counters::{Count, PixelCounters};
use crate::door::PixelDoor;
use http::Method;
use http_engine::upgrade::OnUpgrade;
use http_front::{ConnectionContext, ConnectionSecurity};
use null_answers::HttpCarrier;
use policy::Policy;
use signer::LeafNames;
use signer::trust::TrustSign;
use std::cell::Cell;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};
use vocab::{DomainName, LinkInfo, Name, Now};

/// One connection, as its requests see it.
pub(crate) struct PixelConnection {
    pub(crate) context: ConnectionContext<SniHandshake>,
    /// Requests so far.
    requests: Cell<u64>,
    /// A WebSocket that waits for the connection to leave HTTP.
    pub(crate) upgrade: Cell<Option<OnUpgrade>>,
    /// Outcome of carrying it to the real server.
    pub(crate) attempt: CarryAttempt,
    over: Cell<ConnectionOver>,
    waiting: Cell<Option<Waker>>,
}

/// Outcome of carrying a connection to its real server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarryAttempt {
    /// There was no reason to.
    None,
    /// Could not be: another one would not fare better.
    Failed,
}

/// Tells whether a connection is to take no more requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionOver {
    No,
    Yes,
}

/// Holds what a TLS connection was opened for.
pub(crate) struct SniHandshake {
    /// The name that was asked for; the root where there was none.
    pub(crate) server_name: DomainName,
    /// The names that its certificate is for; none where the door was given one.
    pub(crate) names: Option<Arc<LeafNames>>,
    /// The address of ours that its certificate is for, where no name was asked for.
    pub(crate) own_address: Option<IpAddr>,
}

impl SniHandshake {
    /// True if its certificate is for this host: a name, or an address, for which the root may
    /// stand.
    pub(crate) fn covers(&self, host: Name<'_>) -> bool {
        if let Some(own) = self.own_address {
            return host == Name::ROOT || host.as_str().parse() == Ok(own);
        }
        self.names.as_ref().is_some_and(|names| names.covers(host.as_str()))
    }
}

impl PixelConnection {
    pub(crate) fn new(context: ConnectionContext<SniHandshake>, attempt: CarryAttempt) -> Self {
        Self {
            context,
            attempt,
            requests: Cell::new(0),
            upgrade: Cell::new(None),
            over: Cell::new(ConnectionOver::No),
            waiting: Cell::new(None),
        }
    }

    /// The address of the client.
    pub(crate) const fn client(&self) -> IpAddr {
        self.context.client_ip()
    }

    /// Returns what the link tells of the client, as far as the policy wants to know.
    pub(crate) fn link_info(&self, policy: &Policy, now: Now) -> LinkInfo {
        self.context.link_info(policy.link_info_needs(), now)
    }

    /// Returns what carries HTTP.
    pub(crate) const fn carrier(&self) -> HttpCarrier {
        match self.context.security {
            ConnectionSecurity::Plain => HttpCarrier::Tcp,
            ConnectionSecurity::Tls(_) => HttpCarrier::Tls,
        }
    }

    /// Has the client open another connection for its next request.
    pub(crate) fn end(&self) {
        self.over.set(ConnectionOver::Yes);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    /// True if it takes no more requests.
    pub(crate) fn is_over(&self) -> bool {
        self.over.get() == ConnectionOver::Yes
    }

    /// Counts a request.
    pub(crate) fn note_request(&self, door: &PixelDoor, method: &Method) {
        self.requests.set(self.requests.get() + 1);
        door.counters.one(match *method {
            Method::GET => Count::Get,
            Method::HEAD => Count::Head,
            Method::POST => Count::Post,
            Method::OPTIONS => Count::Options,
            _ => Count::OtherMethod,
        });
        door.counters.one(match self.context.security {
            ConnectionSecurity::Plain => Count::Plain,
            ConnectionSecurity::Tls(_) => Count::Secure,
        });
        if self.requests.get() == 1 && self.context.handshake().is_some() {
            // Only who took our certificate asks for anything.
            door.parts.trust.record(self.client(), TrustSign::Request, transport::clock::now());
        }
    }
}

/// When a connection takes no more requests: the program ends, or the connection is over.
pub(crate) struct StopSignal<F> {
    pub(crate) started: F,
    pub(crate) connection: Rc<PixelConnection>,
}

impl<F: Future<Output = ()> + Unpin> Future for StopSignal<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.connection.over.get() == ConnectionOver::Yes {
            return Poll::Ready(());
        }
        // One task polls it, so the first waker is good for all.
        let waker = self.connection.waiting.take().unwrap_or_else(|| cx.waker().clone());
        self.connection.waiting.set(Some(waker));
        Pin::new(&mut self.started).poll(cx)
    }
}

/// An open connection, counted until it is dropped.
pub(crate) struct OpenCount {
    counters: Arc<PixelCounters>,
    connection: Rc<PixelConnection>,
}

impl OpenCount {
    pub(crate) fn note(counters: Arc<PixelCounters>, connection: Rc<PixelConnection>) -> Self {
        let now = counters.open.fetch_add(1, Relaxed) + 1;
        counters.open_max.fetch_max(now, Relaxed);
        Self { counters, connection }
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.counters.open.fetch_sub(1, Relaxed);
        let requests = self.connection.requests.get();
        self.counters.requests_max.fetch_max(requests, Relaxed);
        if requests == 0 {
            self.counters.one(match self.connection.context.security {
                ConnectionSecurity::Plain => Count::SilentPlain,
                ConnectionSecurity::Tls(_) => Count::SilentSecure,
            });
        }
    }
}
