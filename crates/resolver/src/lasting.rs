//! What a name stands for, and for how long: for those who ask again when that is over.
//!
//! Unlike [`Resolver::addresses`], which wants any address soon, each question is asked to its end,
//! and "nothing" is an answer. Called by the crate `origins`.

use crate::handle::Resolver;
use crate::local_overrides::LOCAL_OVERRIDE_TTL_S;
use crate::question::NoAddresses;
use dns_wire::reply::ServiceTarget;
use dns_wire::{WireAnswer, record_type};
use std::net::IpAddr;
use vocab::{Name, Source};

const NOERROR: u8 = 0;
const NXDOMAIN: u8 = 3;

/// Holds what was found, if anything is there, and for how many seconds it holds from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastingResult<T> {
    /// Addresses or services; empty where the name has none.
    pub found: Vec<T>,
    /// Seconds from now.
    pub ttl_s: u32,
}

impl Resolver {
    /// The addresses of `host` in one family. An error where an upstream failed, not where there is
    /// none.
    pub async fn addresses_in(
        &self,
        host: Name<'_>,
        family: AddressFamily,
    ) -> Result<LastingResult<IpAddr>, NoAddresses> {
        let qtype = match family {
            AddressFamily::V4 => record_type::A,
            AddressFamily::V6 => record_type::AAAA,
        };
        self.lookup_with_ttl(host, qtype, |answer| answer.addresses().collect()).await
    }

    /// Hosts and ports of the service `owner`, such as `_http._tcp.app.internal` (RFC 2782). Errors
    /// are those of [`Self::addresses_in`].
    pub async fn services(
        &self,
        owner: Name<'_>,
    ) -> Result<LastingResult<ServiceTarget>, NoAddresses> {
        self.lookup_with_ttl(owner, record_type::SRV, |answer| answer.services().collect()).await
    }

    async fn lookup_with_ttl<T>(
        &self,
        name: Name<'_>,
        qtype: u16,
        read: impl FnOnce(&WireAnswer) -> Vec<T>,
    ) -> Result<LastingResult<T>, NoAddresses> {
        let looked_up = self.dialled(name, qtype).await?.resolution;
        let (answer, age_s) = looked_up.result.map_err(NoAddresses::Failed)?;
        let is_own = looked_up.source == Source::Local;
        let ttl_s = if is_own { LOCAL_OVERRIDE_TTL_S } else { answer.ttl().saturating_sub(age_s) };
        match answer.rcode() {
            NOERROR | NXDOMAIN => Ok(LastingResult { found: read(&answer), ttl_s }),
            _ => Err(NoAddresses::UpstreamFailed),
        }
    }
}

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressFamily {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}
