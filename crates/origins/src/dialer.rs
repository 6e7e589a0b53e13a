//! From a host to an open connection.
//!
//! Names go through the resolver, which asks the configuration first; literals do not. Addresses
//! are tried in turn, each with a head start before the next joins (RFC 8305), and the first that
//! connects wins. Every address passes the caller's [`DialGuard`] first: a name that resolves to
//! where its client must not go is refused after resolution, where no second answer can slip in
//! between.

use super::error::DialError;
use super::origin::{Origin, OriginScheme, UrlHost};
use super::origin_connection::OriginConnection;
use super::outgoing::OutgoingAddresses;
use super::server::{OriginServer, ServerAddress};
use super::versions::UsableVersions;
use resolver::{LocalOverride, NoAddresses, ResolveError, Resolver, SocksProxy, connect_through};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use transport::tls::{Alpn, BadPem, ClientTls, VerifyMode};
use transport::{DialReason, Stream};
use vocab::{DomainName, Name};

/// Time that an address has before the next is tried beside it (RFC 8305 §8: 150 to 500 ms).
const HEAD_START: Duration = Duration::from_millis(300);
/// Time that one address may take to connect, and then TLS to shake hands.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Addresses of one host that are tried; the rest is ignored.
const ADDRESSES_MAX: usize = 8;

/// Says where a client may be taken.
pub trait DialGuard {
    /// True if a connection to `address` may be made or used.
    fn permits(&self, address: SocketAddr) -> bool;

    /// True if a host may be connected to whose name upstreams say is an alias (CNAME) of this one.
    /// Asked after its look-up, before anything is connected to; a connection that is open is used
    /// on.
    fn permits_alias(&self, _alias: Name<'_>) -> bool {
        true
    }
}

/// Permits every address: for hosts that the owner's configuration names.
#[derive(Clone, Copy, Debug)]
pub struct AnyDestination;

impl DialGuard for AnyDestination {
    fn permits(&self, _: SocketAddr) -> bool {
        true
    }
}

/// Opens connections. Cheap to clone.
#[derive(Clone)]
pub struct Dialer {
    resolver: Resolver,
    tls: ClientTls,
    proxy: Option<SocksProxy>,
    outgoing: Arc<OutgoingAddresses>,
}

impl Dialer {
    /// Resolves names through `resolver` and trusts what `tls` trusts.
    pub fn new(resolver: Resolver, tls: ClientTls) -> Self {
        Self { resolver, tls, proxy: None, outgoing: Arc::default() }
    }

    /// The same through a SOCKS5 proxy. Names are the proxy's to look up, so a [`DialGuard`] sees
    /// its address alone: for hosts that the owner's configuration names.
    #[must_use]
    pub fn through(self, proxy: SocksProxy) -> Self {
        Self { proxy: Some(proxy), ..self }
    }

    /// A dialer like it, whose connections leave so.
    #[must_use]
    pub fn leaving_by(self, outgoing: OutgoingAddresses) -> Self {
        Self { outgoing: Arc::new(outgoing), ..self }
    }

    /// The addresses that connections leave from.
    pub fn outgoing(&self) -> &OutgoingAddresses {
        &self.outgoing
    }

    /// The same with certificates checked so.
    #[must_use]
    pub fn checking(self, verify: VerifyMode) -> Self {
        Self { tls: self.tls.checking(verify, &[]), ..self }
    }

    /// The same trusting these authorities too, given as PEM.
    pub fn trusting(self, pem: &[u8]) -> Result<Self, BadPem> {
        Ok(Self { tls: self.tls.trusting(pem)?, ..self })
    }

    /// The same trusting the authorities in this file too.
    ///
    /// # Errors
    /// As [`ClientTls::trusting_file`] says.
    pub fn trusting_file(self, file: &Path) -> io::Result<Self> {
        Ok(Self { tls: self.tls.trusting_file(file)?, ..self })
    }

    /// Connects to `origin`, with TLS, in which `versions` are offered, where its scheme asks for
    /// it.
    pub(super) async fn dial(
        &self,
        origin: &Origin,
        versions: UsableVersions,
        guard: &dyn DialGuard,
    ) -> Result<(OriginConnection, SocketAddr), DialError> {
        let (stream, address) = self.dial_tcp(&origin.host, origin.port, guard).await?;
        Ok((self.wrap_tls(stream, origin, versions).await?, address))
    }

    /// Connects to `origin` once more, as [`Self::dial`] that has found it at `address`.
    pub(super) async fn redial(
        &self,
        origin: &Origin,
        versions: UsableVersions,
        address: SocketAddr,
    ) -> Result<OriginConnection, DialError> {
        let (stream, _) = match &self.proxy {
            Some(proxy) => {
                self.dial_through(proxy, &origin.host, origin.port, &AnyDestination).await?
            }
            None => connect(address, CONNECT_TIMEOUT, &self.outgoing).await?,
        };
        self.wrap_tls(stream, origin, versions).await
    }

    /// With TLS, in which `versions` are offered, where the scheme of `origin` asks for it.
    async fn wrap_tls(
        &self,
        stream: Stream,
        origin: &Origin,
        versions: UsableVersions,
    ) -> Result<OriginConnection, DialError> {
        let connection = OriginConnection::Plain(stream);
        match origin.scheme {
            OriginScheme::Http => Ok(connection),
            OriginScheme::Https => self.secure(connection, &origin.host, versions).await,
        }
    }

    /// Speaks TLS over `connection` with `host`, offering `versions`.
    pub(super) async fn secure(
        &self,
        connection: OriginConnection,
        host: &UrlHost,
        versions: UsableVersions,
    ) -> Result<OriginConnection, DialError> {
        let name = tls_name(host);
        let shaken = tls_handshake(&self.tls, connection, &name, versions.alpn());
        timeout(CONNECT_TIMEOUT, shaken).await.unwrap_or(Err(DialError::Timeout))
    }

    /// Returns what the configuration itself says of `host`, which upstreams are then not asked
    /// for.
    pub fn local_override(&self, host: &DomainName) -> LocalOverride {
        self.resolver.local_override(host.as_name())
    }

    /// Returns whom it asks for names.
    /// Digest of what the configuration says of names.
    pub(super) fn local_overrides_digest(&self) -> u64 {
        self.resolver.local_overrides_digest()
    }

    pub(super) const fn resolver(&self) -> &Resolver {
        &self.resolver
    }

    /// With what it speaks TLS.
    pub(super) const fn tls(&self) -> &ClientTls {
        &self.tls
    }

    /// Connects to `server` without TLS, wherever that is. One address may take `patience`.
    pub(super) async fn connect(
        &self,
        server: &OriginServer,
        patience: Duration,
    ) -> Result<(OriginConnection, Option<SocketAddr>), DialError> {
        let (stream, peer) = match server.dial_address() {
            ServerAddress::Socket(path) => return Ok((connect_socket(path).await?, None)),
            ServerAddress::Found(_, address) => {
                let host = UrlHost::Address(address.ip());
                self.dial_with_timeout(&host, address.port(), &AnyDestination, patience).await?
            }
            ServerAddress::Origin(origin) => {
                self.dial_with_timeout(&origin.host, origin.port, &AnyDestination, patience).await?
            }
        };
        Ok((OriginConnection::Plain(stream), Some(peer)))
    }

    /// Connects to `host` and `port` without TLS.
    pub async fn dial_tcp(
        &self,
        host: &UrlHost,
        port: u16,
        guard: &dyn DialGuard,
    ) -> Result<(Stream, SocketAddr), DialError> {
        self.dial_with_timeout(host, port, guard, CONNECT_TIMEOUT).await
    }

    async fn dial_with_timeout(
        &self,
        host: &UrlHost,
        port: u16,
        guard: &dyn DialGuard,
        patience: Duration,
    ) -> Result<(Stream, SocketAddr), DialError> {
        if let Some(proxy) = &self.proxy {
            return self.dial_through(proxy, host, port, guard).await;
        }
        let found = self.addresses(host, guard).await?;
        let found = self.outgoing.usable(found)?;
        let mut permitted: Vec<SocketAddr> = interleave_families(found)
            .map(|address| SocketAddr::new(address, port))
            .filter(|address| guard.permits(*address))
            .collect();
        permitted.truncate(ADDRESSES_MAX);
        match permitted.as_slice() {
            [] => Err(DialError::Forbidden),
            [only] => connect(*only, patience, &self.outgoing).await,
            [_, _, ..] => race(permitted, patience, &self.outgoing).await,
        }
    }

    /// Has `proxy` connect to `host` and `port`.
    async fn dial_through(
        &self,
        proxy: &SocksProxy,
        host: &UrlHost,
        port: u16,
        guard: &dyn DialGuard,
    ) -> Result<(Stream, SocketAddr), DialError> {
        if !guard.permits(proxy.address) {
            return Err(DialError::Forbidden);
        }
        let (mut stream, address) = connect(proxy.address, CONNECT_TIMEOUT, &self.outgoing).await?;
        let host = match host {
            UrlHost::Name(name) => resolver::UpstreamHost::Name(name.clone()),
            UrlHost::Address(address) => resolver::UpstreamHost::Ip(*address),
        };
        let asked = connect_through(&mut stream, proxy.credentials.as_ref(), &host, port);
        match timeout(CONNECT_TIMEOUT, asked).await {
            Ok(Ok(())) => Ok((stream, address)),
            Ok(Err(why)) => Err(DialError::Refused(format!("the proxy {}: {why}", proxy.address))),
            Err(_) => Err(DialError::Timeout),
        }
    }

    /// The addresses of a host, whatever `guard` thinks of them: it is asked about aliases alone.
    pub async fn addresses(
        &self,
        host: &UrlHost,
        guard: &dyn DialGuard,
    ) -> Result<Vec<IpAddr>, DialError> {
        match host.known_addresses() {
            Some(known) => Ok(known),
            None => self.look_up(host, guard).await,
        }
    }

    async fn look_up(
        &self,
        host: &UrlHost,
        guard: &dyn DialGuard,
    ) -> Result<Vec<IpAddr>, DialError> {
        let name = host.to_name();
        let found = self.resolver.addresses(name.as_name()).await.map_err(|why| match why {
            NoAddresses::Failed(ResolveError::Timeout) => DialError::Timeout,
            NoAddresses::Failed(_)
            | NoAddresses::NoSuchName
            | NoAddresses::None
            | NoAddresses::UpstreamFailed => DialError::NoAddress(why.to_string()),
        })?;
        match found.aliases.into_iter().find(|alias| !guard.permits_alias(alias.as_name())) {
            Some(alias) => Err(DialError::CnameBlocked(alias)),
            None => Ok(found.found),
        }
    }
}

/// The families alternate, beginning with that of the first address (RFC 8305 §4), so that a
/// broken one costs a single head start.
fn interleave_families(addresses: Vec<IpAddr>) -> impl Iterator<Item = IpAddr> {
    let first_is_v4 = addresses.first().is_some_and(IpAddr::is_ipv4);
    let (one, other): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv4() == first_is_v4);
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    let mut turn = 0_u32;
    std::iter::from_fn(move || {
        turn += 1;
        if turn % 2 == 1 {
            one.next().or_else(|| other.next())
        } else {
            other.next().or_else(|| one.next())
        }
    })
}

/// The name of `host` as certificates have it.
pub(super) fn tls_name(host: &UrlHost) -> String {
    match host {
        UrlHost::Name(name) => name.as_str().to_owned(),
        UrlHost::Address(address) => address.to_string(),
    }
}

/// Speaks TLS over `connection` with whoever is called `name`, offering `alpn`. Sets no deadline.
pub(super) async fn tls_handshake(
    tls: &ClientTls,
    connection: OriginConnection,
    name: &str,
    alpn: &[Alpn],
) -> Result<OriginConnection, DialError> {
    // Boxed: TLS may stand upon TLS, where a proxy is spoken to so.
    match Box::pin(tls.connect(connection, name, alpn)).await {
        Ok(stream) => Ok(OriginConnection::Tls(Box::new(stream))),
        Err(why) => Err(DialError::Tls(why.to_string())),
    }
}

/// The kernel takes a connection at once or not at all.
async fn connect_socket(path: &Path) -> Result<OriginConnection, DialError> {
    let refused = |why: io::Error| DialError::Refused(format!("{}: {why}", path.display()));
    UnixStream::connect(path).await.map(OriginConnection::Local).map_err(refused)
}

async fn connect(
    address: SocketAddr,
    patience: Duration,
    outgoing: &OutgoingAddresses,
) -> Result<(Stream, SocketAddr), DialError> {
    match transport::dial_with(address, patience, outgoing.to(address)).await {
        Ok(stream) => Ok((stream, address)),
        Err(why) => Err(match why.reason {
            DialReason::Timeout => DialError::Timeout,
            DialReason::Refused | DialReason::Unreachable | DialReason::Other(_) => {
                DialError::Refused(why.to_string())
            }
        }),
    }
}

/// Tries the addresses in turn; a failure or a spent head start brings in the next.
async fn race(
    addresses: Vec<SocketAddr>,
    patience: Duration,
    outgoing: &Arc<OutgoingAddresses>,
) -> Result<(Stream, SocketAddr), DialError> {
    let mut waiting = addresses.into_iter();
    let mut attempts = JoinSet::new();
    let mut failure = DialError::Timeout;
    join_in(&mut attempts, &mut waiting, patience, outgoing);
    loop {
        let more = !waiting.as_slice().is_empty();
        tokio::select! {
            ended = attempts.join_next() => match ended {
                Some(Ok(Ok(connected))) => return Ok(connected),
                Some(Ok(Err(why))) => {
                    failure = why;
                    join_in(&mut attempts, &mut waiting, patience, outgoing);
                }
                Some(Err(_)) => join_in(&mut attempts, &mut waiting, patience, outgoing),
                None => return Err(failure),
            },
            () = sleep(HEAD_START), if more => join_in(&mut attempts, &mut waiting, patience, outgoing),
        }
    }
}

type Attempts = JoinSet<Result<(Stream, SocketAddr), DialError>>;

fn join_in(
    attempts: &mut Attempts,
    waiting: &mut std::vec::IntoIter<SocketAddr>,
    patience: Duration,
    outgoing: &Arc<OutgoingAddresses>,
) {
    if let Some(address) = waiting.next() {
        let outgoing = Arc::clone(outgoing);
        attempts.spawn(async move { connect(address, patience, &outgoing).await });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_alternate_from_the_first() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        let given = ["::1", "::2", "::3", "1.1.1.1"].map(ip).to_vec();
        let order: Vec<_> = interleave_families(given).collect();
        assert_eq!(order, ["::1", "1.1.1.1", "::2", "::3"].map(ip));
    }

    #[tokio::test]
    async fn a_refusing_address_does_not_hold_up_the_next() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let open = listener.local_addr().expect("bound");
        let closed = {
            let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            gone.local_addr().expect("bound")
        };
        let (_, winner) =
            race(vec![closed, open], CONNECT_TIMEOUT, &Arc::default()).await.expect("one is open");
        assert_eq!(winner, open);
    }
}
