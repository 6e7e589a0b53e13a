//! Leaves for our own servers: names and addresses that the administrator gave, addresses of ours.
//!
//! No policy is asked about them; the issuer has its own list of what is ours. Called by the TLS
//! side of servers.

use super::{DAY_MS, IssuerHandle, LeafCacheKey, LeafNameSet, Signer, WantedLeaf, issue};
use crate::coverage::RENEW_AFTER_DAYS;
use crate::issuer::{KeyKind, SigningOrder};
use crate::leaf::LeafCertificate;
use crate::mint_error::MintError;
use crate::names::{self, BadName};
use crate::subject::{CertificateSubject, IDENTITY_NAMES_MAX};
use rustls::sign::CertifiedKey;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use vocab::Now;

impl Signer {
    /// The leaf with which a server speaks TLS at `address` to a client that asks for no name. The
    /// caller knows that the address is ours; the issuer signs for local ones and for those of our
    /// listeners.
    pub async fn address_leaf(
        &self,
        address: IpAddr,
        client: IpAddr,
        now: Now,
    ) -> Result<LeafCertificate, MintError> {
        let key = LeafCacheKey { names: LeafNameSet::Address(address), kind: KeyKind::P256 };
        self.cached_or_minted(&WantedLeaf { key, names: &[], host: "", client }, now).await
    }

    /// A leaf for the administrator's own names and addresses, and the time by the wall clock, in
    /// milliseconds, within which it need not be made anew. No policy is asked: these names were
    /// written by whoever could have our key anyway. Holds up the thread for
    /// as long as `patience` until the signer's process answers.
    pub fn server_leaf(
        &self,
        subject: &CertificateSubject,
        patience: Duration,
        now: Now,
    ) -> Result<(CertifiedKey, Range<u64>), MintError> {
        let count = subject.names.len() + subject.addresses.len();
        if !(1..=IDENTITY_NAMES_MAX).contains(&count) {
            return Err(MintError::BadName(BadName::Length));
        }
        let names = subject.names.iter().map(|name| names::own_name(name));
        let names = names.collect::<Result<_, _>>().map_err(MintError::BadName)?;
        let order = SigningOrder::Own { names, addresses: subject.addresses.clone() };
        let leaf = match &self.issuer_handle {
            IssuerHandle::InProcess(issuer) => issue(issuer, &order, now),
            IssuerHandle::Process(supervisor) => {
                supervisor.order_blocking(order, patience).map_err(MintError::from)
            }
        }?;
        let certified = CertifiedKey::new(vec![leaf.into()], Arc::clone(&self.p256.signing));
        Ok((certified, now.unix_ms..now.unix_ms + RENEW_AFTER_DAYS * DAY_MS))
    }
}
