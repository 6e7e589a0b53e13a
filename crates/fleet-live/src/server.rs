//! Connections to the server: opened with RESP3 and a time limit, and the reasons why not.
//!
//! Every command has an end: a server that hangs is a server that is away. Called by the session.

use crate::settings::{BadServer, LiveSettings, sentinel_address};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind, ProtocolVersion,
    RedisError, RedisResult, TlsCertificates,
};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// Time that a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// Time that a command may take; leases have less.
pub(crate) const COMMAND_MAX: Duration = Duration::from_secs(1);
/// Time for which the reader of streams waits at the server.
pub(crate) const STREAM_WAIT: Duration = Duration::from_secs(1);

/// The way to the server.
#[derive(Clone)]
pub(crate) struct ServerAddress {
    info: ConnectionInfo,
    authorities: Option<Vec<u8>>,
    /// Sentinels, which know the primary; where there are none, the address is the server's own.
    sentinels: Vec<ConnectionInfo>,
}

/// Purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionUse {
    /// Commands that are answered at once.
    Commands,
    /// Waiting for what comes in streams.
    Streams,
}

/// Reason why the server is away.
#[derive(Debug)]
pub(crate) enum LiveFailure {
    /// The server or the way to it.
    Server(RedisError),
    /// An answer that is none to what was asked.
    Answer(&'static str),
    /// Leases took too long.
    Slow,
    /// No Sentinel knows a primary of this name.
    NoPrimary,
}

impl ServerAddress {
    /// The address of the settings; files are read from `base`. An error says what is wrong.
    pub(crate) fn new(settings: &LiveSettings, base: &Path) -> Result<Self, BadServer> {
        let info = settings.address()?;
        let own = info.redis_settings().clone();
        let own = own.set_protocol(ProtocolVersion::RESP3).set_skip_set_lib_name();
        let info: ConnectionInfo = info.set_redis_settings(own);
        // The client of Redis takes the process's own; an error says that there is one already.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let sentinels = settings.sentinels.iter().filter_map(|it| sentinel_address(it)).collect();
        let made = Self { info, authorities: settings.authorities(base)?, sentinels };
        // Now rather than at each connection: whoever starts is told.
        made.client(made.info.clone()).map_err(BadServer::Refused)?;
        Ok(made)
    }

    fn client(&self, info: ConnectionInfo) -> RedisResult<Client> {
        match &self.authorities {
            Some(pem) => {
                let root_cert = Some(pem.clone());
                Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })
            }
            None => Client::open(info),
        }
    }

    /// The server to be spoken to now.
    async fn server(&self) -> Result<ConnectionInfo, LiveFailure> {
        if self.sentinels.is_empty() {
            return Ok(self.info.clone());
        }
        let (ConnectionAddr::Tcp(name, _) | ConnectionAddr::TcpTls { host: name, .. }) =
            self.info.addr()
        else {
            return Err(LiveFailure::Answer("url"));
        };
        let mut failure = LiveFailure::NoPrimary;
        for sentinel in &self.sentinels {
            match primary_at(sentinel, name).await {
                Ok(Some((host, port))) => {
                    let addr = match self.info.addr().clone() {
                        ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                            ConnectionAddr::TcpTls { host, port, insecure, tls_params }
                        }
                        _ => ConnectionAddr::Tcp(host, port),
                    };
                    return Ok(self.info.clone().set_addr(addr));
                }
                Ok(None) => {}
                Err(why) => failure = LiveFailure::Server(why),
            }
        }
        Err(failure)
    }

    pub(crate) async fn open(
        &self,
        purpose: ConnectionUse,
    ) -> Result<MultiplexedConnection, LiveFailure> {
        let patience = match purpose {
            ConnectionUse::Commands => COMMAND_MAX,
            ConnectionUse::Streams => STREAM_WAIT + COMMAND_MAX,
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_MAX))
            .set_response_timeout(Some(patience));
        let client = self.client(self.server().await?)?;
        Ok(client.get_multiplexed_async_connection_with_config(&config).await?)
    }
}

/// The primary of this name as a Sentinel knows it; none where it knows none.
async fn primary_at(
    sentinel: &ConnectionInfo,
    name: &str,
) -> Result<Option<(String, u16)>, RedisError> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(COMMAND_MAX))
        .set_response_timeout(Some(COMMAND_MAX));
    let client = Client::open(sentinel.clone())?;
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    let mut ask = redis::cmd("SENTINEL");
    ask.arg("GET-MASTER-ADDR-BY-NAME").arg(name).query_async(&mut connection).await
}

impl From<RedisError> for LiveFailure {
    fn from(why: RedisError) -> Self {
        Self::Server(why)
    }
}

impl fmt::Display for LiveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(why) => {
                write!(f, "{why}")?;
                f.write_str(remedy(why).unwrap_or_default())
            }
            Self::Answer(which) => write!(f, "its answer to {which} is none"),
            Self::NoPrimary => {
                f.write_str("no Sentinel knows a primary of the name that is the host of url")
            }
            Self::Slow => f.write_str("it took over 100 ms for a lease"),
        }
    }
}

/// Remedy for the owner of the server.
fn remedy(why: &RedisError) -> Option<&'static str> {
    match (why.kind(), why.code()) {
        (ErrorKind::AuthenticationFailed, _) | (_, Some("WRONGPASS" | "NOAUTH")) => {
            Some("; look at the user and password in url")
        }
        (_, Some("NOPERM")) => {
            Some("; the user needs the keys ~PREFIX:* and the commands that the manual lists")
        }
        (_, Some("OOM")) => Some("; raise maxmemory, or let it evict"),
        (_, Some("READONLY")) => Some("; url names a replica: name the primary"),
        _ => None,
    }
}

impl std::error::Error for LiveFailure {}
