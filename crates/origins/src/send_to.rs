//! Requests to a server that the owner's configuration names, under the terms of its pool.
//!
//! A connection is ready when it has told of its client, has TLS, knows its version of HTTP and,
//! where that is agreed, has answered `OPTIONS *`; all of it within one deadline. What goes over it
//! then is
//! [`super::send`]'s. The gateway calls it, for requests and for health checks.

use super::connection_policy::{ConnectionPolicy, FreshConnection};
use super::dialer::{AnyDestination, Dialer, tls_handshake, tls_name};
use super::error::{DialError, SendError, UnansweredRequest};
use super::origin_connection::OriginConnection;
use super::pool::{self, OpenConnection, PoolKey};
use super::send::{Origins, SendOptions, send_on};
use super::server::{OriginServer, ServerAddress};
use super::speak::{Opened, speak};
use super::versions::UsableVersions;
use http::header::{HOST, HeaderValue};
use http::{Method, Request, Response, Uri, Version};
use http_engine::body::{Body, read_all};
use http_engine::client::AnswerLimits;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use transport::proxy_protocol::ProxyEndpoints;
use transport::tls::Alpn;

/// Bytes of the answer to `OPTIONS *`, at most; a longer one means that the connection is not used.
const VERIFY_BYTES_MAX: usize = 64 << 10;

impl Origins {
    /// Sends `request` to `server` under `terms`. Its URI is the path and query alone and `Host` is
    /// set, whichever HTTP is spoken. Where connections begin with a PROXY header, `client` is whom
    /// it tells of, and the connection is used for nobody else; without one it tells of us.
    pub async fn send_to(
        &self,
        server: &OriginServer,
        terms: &ConnectionPolicy,
        request: Box<Request<Body>>,
        client: Option<ProxyEndpoints>,
    ) -> Result<Response<Body>, UnansweredRequest> {
        let options = terms.options();
        let client = client.filter(|_| options.proxy_protocol.is_some());
        let versions = terms.versions(server, request.headers());
        let course = SendOptions {
            key: PoolKey {
                owner: self.owner,
                server: server.clone(),
                parent: 0,
                policy: terms.number(),
                local_overrides: self.dialer().local_overrides_digest(),
                client,
            },
            caps: terms.caps(self.caps.total, self.caps.answer),
            versions,
            first_byte: options.first_byte.unwrap_or(self.response_timeout),
            between_bytes: options.between_bytes,
            places: None,
        };
        let fresh = ConnectionOpener {
            dialer: self.dialer(),
            server,
            policy: terms,
            versions,
            client,
            answer: self.caps.answer,
        };
        send_on(&course, request, &AnyDestination, async |_| fresh.ready().await).await
    }

    /// The server to which a connection under these terms idles on this core that was used last.
    /// Connections of HTTP/2, which carry many requests at once, do not idle.
    pub fn last_idle(&self, terms: &ConnectionPolicy) -> Option<OriginServer> {
        pool::last_idle(self.owner, terms.number())
    }

    /// Returns whether `server` takes a connection.
    pub async fn connects(
        &self,
        server: &OriginServer,
        terms: &ConnectionPolicy,
    ) -> Result<(), DialError> {
        let patience = terms.options().connect;
        let reached = self.dialer().connect(server, patience);
        timeout(patience, reached).await.unwrap_or(Err(DialError::Timeout)).map(drop)
    }
}

/// Opens connections for one request.
struct ConnectionOpener<'s> {
    dialer: &'s Dialer,
    server: &'s OriginServer,
    policy: &'s ConnectionPolicy,
    versions: UsableVersions,
    client: Option<ProxyEndpoints>,
    answer: AnswerLimits,
}

/// Outcome of verifying a connection.
enum VerifyOutcome {
    Ready(OpenConnection),
    /// Answered well, and closed.
    Closed,
}

impl ConnectionOpener<'_> {
    /// A connection that can carry a request.
    async fn ready(&self) -> Opened {
        let patience = self.policy.options().connect;
        let ready = async {
            let open = self.open(patience).await?;
            match &self.policy.options().new_connection {
                FreshConnection::Trusted => Ok(open),
                FreshConnection::Verified(target) => {
                    match self.verify(open, target, patience).await? {
                        VerifyOutcome::Ready(open) => Ok(open),
                        // Its server keeps no connection: all that can be known is known.
                        VerifyOutcome::Closed => self.open(patience).await,
                    }
                }
            }
        };
        timeout(patience, ready).await.unwrap_or_else(|_| Err(DialError::Timeout.into()))
    }

    async fn open(&self, patience: Duration) -> Opened {
        let (mut connection, peer) = self.dialer.connect(self.server, patience).await?;
        if let Some(version) = self.policy.options().proxy_protocol {
            let told = connection.write_all(&version.header(self.client)).await;
            told.map_err(|why| DialError::Refused(why.to_string()))?;
        }
        if self.server.is_secure() {
            connection = self.secure(connection).await?;
        }
        let version = match (self.versions, connection.alpn()) {
            (UsableVersions::Http2 | UsableVersions::Either, Some(Alpn::Http2)) => Version::HTTP_2,
            (UsableVersions::Http1 | UsableVersions::Either, _) => Version::HTTP_11,
            (UsableVersions::Http2, _) if self.server.is_secure() => {
                return Err(DialError::Tls("it speaks no HTTP/2".into()).into());
            }
            (UsableVersions::Http2, _) => Version::HTTP_2,
        };
        speak(connection, peer, version, self.answer).await
    }

    async fn secure(&self, connection: OriginConnection) -> Result<OriginConnection, DialError> {
        let name = match (&self.policy.options().tls.name, self.server.dial_address()) {
            (Some(name), _) => name.clone(),
            (None, ServerAddress::Origin(origin) | ServerAddress::Found(origin, _)) => {
                tls_name(&origin.host)
            }
            (None, ServerAddress::Socket(_)) => self.server.authority(),
        };
        let tls = self.policy.tls().unwrap_or(self.dialer.tls());
        tls_handshake(tls, connection, &name, self.versions.alpn()).await
    }

    /// Asks `OPTIONS` for `target`.
    async fn verify(
        &self,
        mut open: OpenConnection,
        target: &Uri,
        patience: Duration,
    ) -> Result<VerifyOutcome, SendError> {
        let unfit = |why: String| SendError::from(DialError::Refused(why));
        let host = HeaderValue::try_from(self.server.authority());
        let host = host.map_err(|why| unfit(why.to_string()))?;
        let mut question = Request::new(Body::empty());
        *question.method_mut() = Method::OPTIONS;
        *question.uri_mut() = target.clone();
        question.headers_mut().insert(HOST, host);
        if open.is_http2() {
            super::http2::prepare_request(&mut question, self.server)
                .map_err(|_| unfit("its name cannot be sent".into()))?;
        }
        open.sender.ready().await.map_err(|why| unfit(why.to_string()))?;
        let answer = open.sender.send(question).await.map_err(|why| unfit(why.to_string()))?;
        let status = answer.status();
        if status.is_server_error() || status.is_informational() {
            return Err(unfit(format!(
                "a fresh connection answered OPTIONS {target} with {status}"
            )));
        }
        let read = read_all(answer.into_body(), VERIFY_BYTES_MAX, patience).await;
        read.map_err(|why| unfit(why.to_string()))?;
        open.requests += 1;
        match open.sender.ready().await {
            Ok(()) => Ok(VerifyOutcome::Ready(open)),
            Err(_) => Ok(VerifyOutcome::Closed),
        }
    }
}
