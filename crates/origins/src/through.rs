//! Requests and tunnels by a [`ProxyRoute`]: to the origin itself or through parent proxies.
//!
//! An HTTP parent is asked for `http` URLs as such and for everything else by `CONNECT`; a SOCKS5
//! parent by its own protocol. Names go to the parent as names. An address that the client must not
//! reach is not asked of a parent either; where a name leads, the parent alone knows. A request of
//! which anything was sent is never sent another way. The proxy door calls it.

use super::dialer::{AnyDestination, CONNECT_TIMEOUT, DialGuard, Dialer};
use super::error::{DialError, SendError, UnansweredRequest};
use super::origin::{Origin, OriginScheme, UrlHost};
use super::origin_connection::OriginConnection;
use super::parent::{ParentKind, ParentProxy};
use super::proxy_route::{KnownParent, ProxyRoute, RouteStep};
use super::send::{Origins, SendOptions, send_on};
use super::socks4a;
use super::speak::speak_as_agreed;
use super::versions::UsableVersions;
use http::header::{HOST, HeaderMap, PROXY_AUTHORIZATION, VIA};
use http::{Request, Response, StatusCode, Uri};
use http_engine::client::connect_http1;
use http_engine::{Body, upgrade};
use resolver::connect_through;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::timeout;
use vocab::Now;

/// Time that a parent may take to open a tunnel: it looks up and connects in turn.
const TUNNEL_TIMEOUT: Duration = Duration::from_secs(30);

impl Origins {
    /// Sends `request` to `origin` by `way`. As [`Origins::send`], but for the way.
    pub async fn send_by(
        &self,
        way: &ProxyRoute,
        origin: &Origin,
        request: Box<Request<Body>>,
        guard: &dyn DialGuard,
        now: Now,
    ) -> Result<Response<Body>, UnansweredRequest> {
        let (mut request, mut failure) = (request, SendError::Closed);
        for step in way.in_order(now) {
            let sent = match step {
                RouteStep::Direct => self.send(origin, request, guard).await,
                RouteStep::Through(known) => self.send_through(known, origin, request, guard).await,
            };
            let unanswered = match sent {
                Ok(response) => {
                    step.serves();
                    return Ok(response);
                }
                Err(unanswered) => unanswered,
            };
            match unanswered.unsent_request {
                Some(unsent) if step.allows_failover(&unanswered.error, now) => {
                    (request, failure) = (unsent, unanswered.error);
                }
                unsent => {
                    return Err(UnansweredRequest {
                        error: unanswered.error,
                        unsent_request: unsent,
                    });
                }
            }
        }
        Err(UnansweredRequest { error: failure, unsent_request: Some(request) })
    }

    async fn send_through(
        &self,
        known: &KnownParent,
        origin: &Origin,
        mut request: Box<Request<Body>>,
        guard: &dyn DialGuard,
    ) -> Result<Response<Body>, UnansweredRequest> {
        if !is_allowed_target(&origin.host, origin.port, guard) {
            let why = DialError::Forbidden.into();
            return Err(UnansweredRequest { error: why, unsent_request: Some(request) });
        }
        let parent = &known.parent;
        if !parent.kind.speaks_http() || origin.scheme == OriginScheme::Https {
            let via = request.headers().clone();
            let versions = UsableVersions::default_for(origin, &via);
            let course = self.default_options(origin.clone(), known.number, versions);
            return send_on(&course, request, guard_of_parents(), async |place| {
                let dialer = self.dialer();
                let (connection, peer) =
                    dialer.tunnel_through(parent, &origin.host, origin.port, &via).await?;
                let connection = match origin.scheme {
                    OriginScheme::Http => connection,
                    OriginScheme::Https => {
                        dialer.secure(connection, &origin.host, versions).await?
                    }
                };
                speak_as_agreed(connection, peer, course.caps.answer, place).await
            })
            .await;
        }
        let path = request.uri().clone();
        let Ok(absolute) = format!("{origin}{path}").parse::<Uri>() else {
            let why = SendError::BadResponse("the URL cannot be sent on".into());
            return Err(UnansweredRequest { error: why, unsent_request: Some(request) });
        };
        *request.uri_mut() = absolute;
        if let Some(field) = parent.authorization() {
            request.headers_mut().insert(PROXY_AUTHORIZATION, field);
        }
        // Connections to the parent itself are for all origins: they are not counted.
        let course = SendOptions {
            places: None,
            ..self.default_options(parent.origin(), known.number, UsableVersions::Http1)
        };
        let sent = send_on(&course, request, guard_of_parents(), async |_| {
            let (connection, peer) = self.dialer().dial_parent(parent).await?;
            speak_as_agreed(connection, peer, course.caps.answer, None).await
        });
        sent.await.map_err(|mut unanswered| {
            if let Some(unsent) = &mut unanswered.unsent_request {
                *unsent.uri_mut() = path;
                unsent.headers_mut().remove(PROXY_AUTHORIZATION);
            }
            unanswered
        })
    }
}

/// A parent is where the owner's configuration says.
fn guard_of_parents() -> &'static dyn DialGuard {
    &AnyDestination
}

/// True if a parent may be asked for this host: an address counts as it would here.
fn is_allowed_target(host: &UrlHost, port: u16, guard: &dyn DialGuard) -> bool {
    let known = host.known_addresses().unwrap_or_default();
    known.into_iter().all(|address| guard.permits(SocketAddr::new(address, port)))
}

impl Dialer {
    /// Connects to `host` and `port` by `way`, without TLS. A parent is shown the `Via` of
    /// `headers`, by which circles are noticed.
    pub async fn dial_by(
        &self,
        way: &ProxyRoute,
        host: &UrlHost,
        port: u16,
        headers: &HeaderMap,
        guard: &dyn DialGuard,
        now: Now,
    ) -> Result<OriginConnection, DialError> {
        let mut failure = DialError::Timeout;
        for step in way.in_order(now) {
            let dialled = match step {
                RouteStep::Direct => self
                    .dial_tcp(host, port, guard)
                    .await
                    .map(|(it, _)| OriginConnection::Plain(it)),
                RouteStep::Through(_) if !is_allowed_target(host, port, guard) => {
                    Err(DialError::Forbidden)
                }
                RouteStep::Through(known) => {
                    let tunnel = self.tunnel_through(&known.parent, host, port, headers);
                    tunnel.await.map(|(it, _)| it)
                }
            };
            match dialled {
                Ok(connection) => {
                    step.serves();
                    return Ok(connection);
                }
                Err(why) => {
                    if !step.allows_failover(&why.clone().into(), now) {
                        return Err(why);
                    }
                    failure = why;
                }
            }
        }
        Err(failure)
    }

    /// Connects to `parent` itself, with TLS where it wants that.
    async fn dial_parent(
        &self,
        parent: &ParentProxy,
    ) -> Result<(OriginConnection, SocketAddr), DialError> {
        let dialled = self.dial(&parent.origin(), UsableVersions::Http1, &AnyDestination).await;
        dialled.map_err(|why| DialError::Parent(format!("{parent:?}: {why}")))
    }

    /// Has `parent` connect to `host` and `port`.
    async fn tunnel_through(
        &self,
        parent: &ParentProxy,
        host: &UrlHost,
        port: u16,
        headers: &HeaderMap,
    ) -> Result<(OriginConnection, SocketAddr), DialError> {
        let (mut connection, peer) = self.dial_parent(parent).await?;
        let connection = match parent.kind {
            ParentKind::Socks5 | ParentKind::Socks4a => {
                let asked = ask_socks(&mut connection, parent, host, port);
                let done = timeout(CONNECT_TIMEOUT.max(TUNNEL_TIMEOUT), asked).await;
                match done {
                    Ok(Ok(())) => connection,
                    Ok(Err(why)) if why.kind() == io::ErrorKind::PermissionDenied => {
                        let target = format!("{parent:?} does not connect to {host}:{port}");
                        return Err(DialError::ParentRefused(target));
                    }
                    Ok(Err(why)) => return Err(DialError::Parent(format!("{parent:?}: {why}"))),
                    Err(_) => return Err(DialError::Timeout),
                }
            }
            ParentKind::Http | ParentKind::Https => {
                let asked = connect(connection, parent, host, port, headers);
                // Boxed: few connections begin so.
                match timeout(TUNNEL_TIMEOUT, Box::pin(asked)).await {
                    Ok(connection) => connection?,
                    Err(_) => return Err(DialError::Timeout),
                }
            }
        };
        Ok((connection, peer))
    }
}

/// Has a SOCKS proxy connect to `host` and `port`.
async fn ask_socks(
    connection: &mut OriginConnection,
    parent: &ParentProxy,
    host: &UrlHost,
    port: u16,
) -> io::Result<()> {
    if parent.kind == ParentKind::Socks4a {
        return socks4a::connect_through(connection, host, port).await;
    }
    let target = match host {
        UrlHost::Name(name) => resolver::UpstreamHost::Name(name.clone()),
        UrlHost::Address(address) => resolver::UpstreamHost::Ip(*address),
    };
    connect_through(connection, parent.credentials.as_ref(), &target, port).await
}

/// Asks an HTTP parent for a tunnel (RFC 9110 §9.3.6).
async fn connect(
    connection: OriginConnection,
    parent: &ParentProxy,
    host: &UrlHost,
    port: u16,
    headers: &HeaderMap,
) -> Result<OriginConnection, DialError> {
    let trouble = |why: String| DialError::Parent(format!("{parent:?}: {why}"));
    let authority = format!("{host}:{port}");
    let mut asking = Request::connect(authority.as_str()).header(HOST, &authority);
    for via in headers.get_all(VIA) {
        asking = asking.header(VIA, via);
    }
    if let Some(field) = parent.authorization() {
        asking = asking.header(PROXY_AUTHORIZATION, field);
    }
    let asking = asking.body(Body::empty()).map_err(|why| trouble(why.to_string()))?;
    let mut sender = connect_http1(connection);
    let mut answer = sender.send(asking).await.map_err(|why| trouble(why.to_string()))?;
    if !answer.status().is_success() {
        let status = answer.status();
        let why = format!("{parent:?} answered {status} for {authority}");
        return Err(if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            // It serves others, not us, until its password is right.
            DialError::Parent(why)
        } else {
            DialError::ParentRefused(why)
        });
    }
    let carried = upgrade::stream(upgrade::on(&mut answer)).await;
    carried
        .map(|it| OriginConnection::Tunnelled(Box::new(it)))
        .map_err(|why| trouble(why.to_string()))
}
