//! Requests to the proxy, read: who asks, for what, and whether that is served here.
//!
//! Made by `request`, which then decides about it.

use crate::connection::{PinnedDestination, ProxyConnection};
use crate::decide::ProxyQuery;
use crate::door::ProxyDoor;
use crate::headers::max_forwards;
use crate::local_endpoints::{self, LocalEndpoint};
use crate::mirror::{self, TargetForm};
use crate::refusal::ProxyRefusal;
use crate::setup::ProxySetup;
use crate::target::{self, ProxyTarget};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Request};
use http_engine::{Incoming, kind};
use http_front::{RequestTicket, page_of};
use ledger::EventSubject;
use origins::DialError;
use std::sync::Arc;
use vocab::{DomainName, Now, RequestKind};

/// A client's request, once it is understood.
pub(crate) struct ProxyRequest {
    pub(crate) target: ProxyTarget,
    pub(crate) form: TargetForm,
    /// The address that it goes to in place of any of its host's.
    pub(crate) pinned: Option<PinnedDestination>,
    /// An alias of its host that is blocked, found when it was held against its connection.
    pub(crate) blocked_alias: Option<DialError>,
    pub(crate) host: DomainName,
    pub(crate) page: Option<DomainName>,
    pub(crate) kind: RequestKind,
    pub(crate) user: Option<Arc<str>>,
    /// The URL, or `host:port` of a tunnel: for the policy, the ledger and people.
    pub(crate) subject: String,
}

impl ProxyRequest {
    /// Reads a request, and lets its client in.
    pub(crate) async fn read(
        door: &ProxyDoor,
        setup: &ProxySetup,
        caller: &ProxyConnection,
        request: &Request<Incoming>,
        now: Now,
    ) -> Result<Self, ProxyRefusal> {
        if !setup.serves(caller.client()) {
            return Err(ProxyRefusal::ClientNotAllowed);
        }
        let (method, headers) = (request.method(), request.headers());
        let (target, form) = match &caller.intercepted {
            None => read_target(setup, caller, request)?,
            Some(intercepted) => {
                let (client, uri) = (caller.client(), request.uri());
                let target = intercepted.target(setup, client, method, uri, headers)?;
                (target, TargetForm::Intercepted)
            }
        };
        let user = match &setup.access {
            None => None,
            // Whoever knows of no proxy sends it no password.
            Some(access) if form == TargetForm::Intercepted => {
                if !access.spares(caller.client()) {
                    return Err(ProxyRefusal::ClientNotAllowed);
                }
                None
            }
            Some(access) => {
                let admitted =
                    access.admit(&door.failed_logins, caller.client(), headers, now).await;
                admitted.map_err(ProxyRefusal::Denied)?
            }
        };
        let page = page_of(headers);
        let (host, kind, subject) = match &target {
            ProxyTarget::Local(own) => return Err(ProxyRefusal::Local(*own)),
            ProxyTarget::Tunnel(to) if !setup.tunnels_to(to.port) => {
                return Err(ProxyRefusal::Port(Method::CONNECT, to.port));
            }
            ProxyTarget::Tunnel(to) => {
                (to.host.to_name(), RequestKind::Tunnel, format!("{}:{}", to.host, to.port))
            }
            ProxyTarget::Fetch { .. } if method == Method::TRACE => {
                return Err(ProxyRefusal::Trace);
            }
            ProxyTarget::Fetch { .. } if ends_here(method, headers) => {
                return Err(ProxyRefusal::EndsHere);
            }
            ProxyTarget::Fetch { origin, .. } if !setup.fetches_from(origin.port) => {
                return Err(ProxyRefusal::Port(method.clone(), origin.port));
            }
            ProxyTarget::Fetch { origin, path } => {
                let kind = kind::of_request(method, request.uri(), headers);
                (origin.host.to_name(), kind, origin.url(path))
            }
        };
        let (pinned, blocked_alias) = (None, None);
        Ok(Self { target, form, pinned, blocked_alias, host, page, kind, user, subject })
    }

    pub(crate) fn query<'w>(&'w self, method: &'w Method) -> ProxyQuery<'w> {
        ProxyQuery {
            method,
            host: self.host.as_name(),
            page: self.page.as_ref().map(DomainName::as_name),
            kind: self.kind,
            user: self.user.as_deref(),
            url: match self.target {
                ProxyTarget::Fetch { .. } => Some(&self.subject),
                ProxyTarget::Tunnel(_) | ProxyTarget::Local(_) => None,
            },
        }
    }

    /// Notes who asks, and what for.
    pub(crate) fn note_in(&self, ticket: &mut RequestTicket) {
        ticket.asked(self.kind, self.recorded());
        ticket.user(self.user.as_ref());
    }

    fn recorded(&self) -> EventSubject {
        match self.target {
            ProxyTarget::Fetch { .. } => EventSubject::url(&self.subject),
            ProxyTarget::Tunnel(_) | ProxyTarget::Local(_) => {
                EventSubject::name(self.host.as_name())
            }
        }
    }
}

/// The target of a request by a client that knows of us.
fn read_target(
    setup: &ProxySetup,
    caller: &ProxyConnection,
    request: &Request<Incoming>,
) -> Result<(ProxyTarget, TargetForm), ProxyRefusal> {
    let (method, uri) = (request.method(), request.uri());
    let mirrored = |path: &str, own| {
        let target = mirror::read(setup, method, path).ok_or(ProxyRefusal::Local(own))?;
        Ok((target, TargetForm::Mirror))
    };
    match target::read(method, uri).map_err(ProxyRefusal::Target)? {
        ProxyTarget::Local(own) => {
            mirrored(uri.path_and_query().map_or("/", PathAndQuery::as_str), own)
        }
        ProxyTarget::Fetch { origin, path } if local_endpoints::is_self(caller, &origin, &path) => {
            mirrored(&path, LocalEndpoint::at(method, &path))
        }
        other => Ok((other, TargetForm::Proxy)),
    }
}

/// RFC 9110 §7.6.2: with no forward left, the recipient answers in place of the origin.
fn ends_here(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && max_forwards(headers) == Some(0)
}
