//! Connections to the servers: opened with RESP3, a time limit and a bound for what comes in, and
//! the reasons why not.
//!
//! Every command has an end: a server that hangs is a server that is away. Called by the session.

use crate::bounded_stream::BoundedStream;
use crate::cluster_map::ClusterMap;
use crate::server_place::ServerPlace;
use crate::settings::{BadServer, LiveSettings, sentinel_address};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, ErrorKind, ProtocolVersion, RedisConnectionInfo, RedisError,
    RedisResult, Value, cmd,
};
use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use transport::ClientTls;
use transport::tls::{ClientTlsOptions, ConnectError};

/// Time that a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// Time that a command may take; leases have less.
pub(crate) const COMMAND_MAX: Duration = Duration::from_secs(1);
/// Time for which the reader of streams waits at the server.
pub(crate) const STREAM_WAIT: Duration = Duration::from_secs(1);
/// Longest reason that is told: servers choose their words.
const REASON_CHARS_MAX: usize = 300;

/// The way to the servers.
#[derive(Clone)]
pub(crate) struct ServerAddress {
    place: ServerPlace,
    login: RedisConnectionInfo,
    tls: Option<ClientTls>,
    /// Sentinels, which know the primary; where there are none, the place is the server's own.
    sentinels: Vec<SentinelAddress>,
    /// Nodes of a cluster beside the place.
    cluster: Vec<ServerPlace>,
}

/// The way to a Sentinel.
#[derive(Clone)]
struct SentinelAddress {
    place: ServerPlace,
    login: RedisConnectionInfo,
    tls: Option<ClientTls>,
}

/// Purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionUse {
    /// Commands that are answered at once.
    Commands,
    /// Waiting for what comes in streams.
    Streams,
}

/// Connection with the task that drives it, which ends with it.
pub(crate) struct ServerLink {
    pub(crate) connection: MultiplexedConnection,
    driver: JoinHandle<()>,
}

/// Reason why the server is away.
#[derive(Debug)]
pub(crate) enum LiveFailure {
    /// The server or the way to it.
    Server(RedisError),
    /// No TLS with it.
    Tls(ConnectError),
    /// An answer that is none to what was asked.
    Answer(&'static str),
    /// More of something than there can be.
    TooMany(&'static str),
    /// Leases took too long.
    Slow,
    /// No Sentinel knows a primary of this name.
    NoPrimary,
    /// The cluster has no node for a key.
    NoNode,
}

impl ServerAddress {
    /// The address of the settings; files are read from `base`. An error says what is wrong.
    pub(crate) fn new(settings: &LiveSettings, base: &Path) -> Result<Self, BadServer> {
        let own = settings.address()?;
        let authorities = settings.authorities(base)?;
        let options =
            ClientTlsOptions { authorities: authorities.as_deref(), ..ClientTlsOptions::default() };
        let tls = || ClientTls::new().with_options(&options).map_err(BadServer::Authorities);
        let login = |login: &RedisConnectionInfo| {
            let login = login.clone().set_protocol(ProtocolVersion::RESP3);
            login.set_skip_set_lib_name()
        };
        let mut sentinels = Vec::new();
        for told in settings.sentinels.iter().filter_map(|it| sentinel_address(it)) {
            let tls = told.is_tls.then(tls).transpose()?;
            sentinels.push(SentinelAddress { place: told.place, login: login(&told.login), tls });
        }
        Ok(Self {
            login: login(&own.login),
            tls: own.is_tls.then(tls).transpose()?,
            place: own.place,
            sentinels,
            cluster: settings.cluster.iter().filter_map(|it| ServerPlace::parse(it)).collect(),
        })
    }

    pub(crate) fn is_cluster(&self) -> bool {
        !self.cluster.is_empty()
    }

    /// The server to be spoken to now, where there is one.
    pub(crate) async fn server(&self) -> Result<ServerPlace, LiveFailure> {
        if self.sentinels.is_empty() {
            return Ok(self.place.clone());
        }
        let mut failure = LiveFailure::NoPrimary;
        for sentinel in &self.sentinels {
            match sentinel.primary(&self.place.host).await {
                Ok(Some((host, port))) => return Ok(ServerPlace { host, port }),
                Ok(None) => {}
                Err(why) => failure = why,
            }
        }
        Err(failure)
    }

    /// The cluster as a node of it tells; the first that is asked is one by chance.
    pub(crate) async fn cluster(&self, chance: u64) -> Result<ClusterMap, LiveFailure> {
        let mut nodes: Vec<&ServerPlace> = self.cluster.iter().collect();
        nodes.push(&self.place);
        let first = (chance % nodes.len() as u64) as usize;
        nodes.rotate_left(first);
        let mut failure = LiveFailure::NoNode;
        for node in nodes {
            let asked = async {
                let link = self.open(node, ConnectionUse::Commands).await?;
                cluster_map(&link.connection, node).await
            };
            match asked.await {
                Ok(map) => return Ok(map),
                Err(why) => failure = why,
            }
        }
        Err(failure)
    }

    /// Opens a connection to one server.
    pub(crate) async fn open(
        &self,
        place: &ServerPlace,
        purpose: ConnectionUse,
    ) -> Result<ServerLink, LiveFailure> {
        let patience = match purpose {
            ConnectionUse::Commands => COMMAND_MAX,
            ConnectionUse::Streams => STREAM_WAIT + COMMAND_MAX,
        };
        ServerLink::open(place, &self.login, self.tls.as_ref(), patience).await
    }
}

/// The cluster as this node tells.
pub(crate) async fn cluster_map(
    connection: &MultiplexedConnection,
    node: &ServerPlace,
) -> Result<ClusterMap, LiveFailure> {
    let mut ask = cmd("CLUSTER");
    let told: Value = ask.arg("SLOTS").query_async(&mut connection.clone()).await?;
    ClusterMap::read(told, node).ok_or(LiveFailure::Answer("CLUSTER SLOTS"))
}

impl SentinelAddress {
    /// The primary of this name as the Sentinel knows it; none where it knows none.
    async fn primary(&self, name: &str) -> Result<Option<(String, u16)>, LiveFailure> {
        let link = ServerLink::open(&self.place, &self.login, self.tls.as_ref(), COMMAND_MAX);
        let link = link.await?;
        let mut ask = cmd("SENTINEL");
        ask.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
        Ok(ask.query_async(&mut link.connection.clone()).await?)
    }
}

impl ServerLink {
    async fn open(
        place: &ServerPlace,
        login: &RedisConnectionInfo,
        tls: Option<&ClientTls>,
        patience: Duration,
    ) -> Result<Self, LiveFailure> {
        let opened = async {
            let stream = TcpStream::connect((place.host.as_str(), place.port)).await?;
            stream.set_nodelay(true)?;
            match tls {
                Some(tls) => {
                    let stream = tls.connect(stream, &place.host, &[]).await;
                    Self::over(stream.map_err(LiveFailure::Tls)?, login, patience).await
                }
                None => Self::over(stream, login, patience).await,
            }
        };
        let late = || io::Error::new(io::ErrorKind::TimedOut, "no connection within two seconds");
        tokio::time::timeout(CONNECT_MAX, opened).await.map_err(|_| late())?
    }

    async fn over<S>(
        stream: S,
        login: &RedisConnectionInfo,
        patience: Duration,
    ) -> Result<Self, LiveFailure>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(patience));
        let stream = BoundedStream::new(stream);
        let made: RedisResult<_> =
            MultiplexedConnection::new_with_config(login, stream, config).await;
        let (connection, driver) = made?;
        Ok(Self { connection, driver: tokio::spawn(driver) })
    }
}

impl Drop for ServerLink {
    fn drop(&mut self) {
        // By itself the driver waits for answers that may never come.
        self.driver.abort();
    }
}

impl From<RedisError> for LiveFailure {
    fn from(why: RedisError) -> Self {
        Self::Server(why)
    }
}

impl From<io::Error> for LiveFailure {
    fn from(why: io::Error) -> Self {
        Self::Server(why.into())
    }
}

impl fmt::Display for LiveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(why) => {
                let plain = |it: char| if it.is_control() { ' ' } else { it };
                let said = why.to_string();
                let told: String = said.chars().take(REASON_CHARS_MAX).map(plain).collect();
                f.write_str(&told)?;
                f.write_str(remedy(why).unwrap_or_default())
            }
            Self::Tls(why) => why.fmt(f),
            Self::Answer(which) => write!(f, "its answer to {which} is none"),
            Self::TooMany(what) => write!(f, "it holds more {what} than there can be"),
            Self::NoPrimary => {
                f.write_str("no Sentinel knows a primary of the name that is the host of url")
            }
            Self::NoNode => f.write_str("the cluster has no node for the slot of the fleet's keys"),
            Self::Slow => f.write_str("it took over 100 ms for a lease"),
        }
    }
}

/// Remedy for the owner of the server.
fn remedy(why: &RedisError) -> Option<&'static str> {
    match (why.kind(), why.code()) {
        (ErrorKind::AuthenticationFailed, _) | (_, Some("WRONGPASS" | "NOAUTH")) => {
            Some("; look at the user and password in url, or in sentinels")
        }
        (_, Some("NOPERM")) => {
            Some("; the user needs the keys ~PREFIX:* and the commands that the manual lists")
        }
        (_, Some("OOM")) => Some("; raise maxmemory, or let it evict"),
        (_, Some("READONLY")) => Some("; url names a replica: name the primary"),
        (_, Some("MOVED")) => Some("; it is a node of a cluster: name others in cluster"),
        _ => None,
    }
}

impl std::error::Error for LiveFailure {}
