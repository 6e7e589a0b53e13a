//! The addresses of a `FastCGI` server that is given by name.
//!
//! The system's resolver is asked on a thread of its own, and what it said is used for a while;
//! where it fails, what it said last goes on. It opens no connection. Called by `pool`.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::lookup_host;
use tokio::time::Instant;

/// Time for which an answer is used: long enough to cost nothing, short enough that a container
/// which comes back elsewhere is found.
const KEPT_FOR: Duration = Duration::from_secs(30);
/// After a failure the last answer is used for so long before the next question.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Addresses of one name that are tried; more are left out.
const ADDRESSES_MAX: usize = 8;

/// A name with a port, and what it stood for last.
#[derive(Debug)]
pub struct NamedServer {
    host: String,
    port: u16,
    addresses: Mutex<ServerAddresses>,
}

#[derive(Debug, Default)]
struct ServerAddresses {
    addresses: Vec<SocketAddr>,
    fresh_until: Option<Instant>,
}

impl NamedServer {
    pub(crate) fn new(host: &str, port: u16) -> Self {
        Self { host: host.to_owned(), port, addresses: Mutex::default() }
    }

    /// Returns its addresses, in the resolver's order; never none.
    pub(crate) async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let now = Instant::now();
        {
            let mut known = self.lock_addresses();
            if known.fresh_until.is_some_and(|until| now < until) {
                return Ok(known.addresses.clone());
            }
            // One question is enough: meanwhile others use what is known.
            if !known.addresses.is_empty() {
                known.fresh_until = Some(now + RETRY_AFTER);
            }
        }
        let found = lookup_host((self.host.as_str(), self.port)).await;
        let found = found.map(|all| all.take(ADDRESSES_MAX).collect::<Vec<_>>());
        let mut known = self.lock_addresses();
        match found {
            Ok(found) if !found.is_empty() => {
                *known = ServerAddresses { addresses: found, fresh_until: Some(now + KEPT_FOR) };
                Ok(known.addresses.clone())
            }
            _ if !known.addresses.is_empty() => Ok(known.addresses.clone()),
            Ok(_) => Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address")),
            Err(why) => Err(why),
        }
    }

    fn lock_addresses(&self) -> MutexGuard<'_, ServerAddresses> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_the_resolver_said_last_goes_on() {
        let named = NamedServer::new("localhost", 9000);
        let first = named.addresses().await.unwrap();
        assert!(first.iter().all(|it| it.ip().is_loopback() && it.port() == 9000), "{first:?}");
        // As if its time were over, and the resolver knew it no more.
        let gone = NamedServer::new("nothing.invalid", 9000);
        *gone.lock_addresses() = ServerAddresses { addresses: first.clone(), fresh_until: None };
        assert_eq!(gone.addresses().await.unwrap(), first);
        assert!(gone.lock_addresses().fresh_until.is_some(), "the next question waits");
        assert!(NamedServer::new("nothing.invalid", 9000).addresses().await.is_err());
    }
}
