//! Who may ask, how much, and what answers may say.
//!
//! For every query the guard reads its options, says whether it is answered at all, and judges the
//! answer before it leaves. It makes only the answers that turn a query away; on the way of a query
//! it allocates nothing and takes no lock that all share. Called by `request`.

mod access;
mod ddr;
mod options;
mod rate;
mod rebinding;
mod refused;
mod responses;

pub(crate) use ddr::{DdrOutcome, DesignatedResolvers};
pub(crate) use options::{RequiredProof, SeenOptions, SenderProof};
pub(crate) use rebinding::{REBINDING_ERROR, REBINDING_WORDS};
pub(crate) use refused::write_truncated;

use crate::caller::{DnsCaller, QueryTransport};
use crate::settings::access::AccessAction;
use crate::settings::guard::GuardSettings;
use crate::settings::rate_limit::RateAction;
use access::AccessLists;
use dns_wire::options::BadOption;
use dns_wire::{BadReply, DnsQuery, Rcode, synthesize};
use options::OptionReader;
use pipeline::limiter::Seed;
use pipeline::sets::IpSet;
use rate::RateGuard;
use rebinding::RebindingGuard;
use responses::ResponseGuard;
use settings::Text;
use std::time::Duration;
use vocab::{Name, Network};

/// Random numbers that nobody outside may know, chosen once at the start and kept over reloads.
#[derive(Clone, Copy)]
pub(crate) struct GuardSecrets {
    clients: Seed,
    responses: Seed,
    cookies: [u8; 16],
}

/// The guard: access, rate limits, options, limits of responses, and rebinding protection.
#[derive(Debug)]
pub(crate) struct QueryGuard {
    access: AccessLists,
    rate: Option<RateGuard>,
    responses: Option<ResponseGuard>,
    rebinding: RebindingGuard,
    options: OptionReader,
}

/// Tells whether a query is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is.
    Admitted,
    /// Gets what says why not.
    Refused(AdmissionRefusal),
    /// Gets nothing.
    Dropped,
}

/// Why a query is turned away, and so with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdmissionRefusal {
    /// The client may not ask: REFUSED.
    Forbidden,
    /// The client asks too much: REFUSED.
    RateLimited,
    /// The client is to come again over TCP: an empty answer with TC set.
    RetryOverTcp,
    /// The client is to show our cookie: BADCOOKIE.
    CookieRequired,
    /// An option is malformed: FORMERR.
    BadOption(BadOption),
}

/// Outcome of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutgoingFate {
    /// Goes out.
    Send,
    /// An empty one with TC set goes out instead ([`write_truncated`]).
    Truncate,
    /// Nothing goes out.
    Drop,
}

impl GuardSecrets {
    /// Chosen by the system.
    pub(crate) fn choose() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 48];
        getrandom::fill(&mut bytes)?;
        Ok(Self::from_bytes(bytes))
    }

    /// Made of `bytes`, which must be random.
    pub(crate) fn from_bytes(bytes: [u8; 48]) -> Self {
        let mut words = bytes
            .chunks_exact(8)
            .map(|it| it.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        let mut word = || words.next().unwrap_or(0);
        let (clients, responses) = ([word(), word()], [word(), word()]);
        let mut cookies = [0; 16];
        cookies.copy_from_slice(&bytes[32..]);
        Self { clients, responses, cookies }
    }
}

impl QueryGuard {
    /// A guard that keeps what `before` knows of clients and floods. `idle` is how long a
    /// connection may be idle, which clients that ask are told; at most 109 minutes can be said.
    pub(crate) fn new(
        settings: GuardSettings<'_>,
        secrets: &GuardSecrets,
        idle: Duration,
        before: Option<&Self>,
    ) -> Self {
        let idle_ds = u16::try_from(idle.as_millis() / 100).unwrap_or(u16::MAX);
        Self {
            access: AccessLists::new(settings.access),
            rate: RateGuard::new(
                settings.rate_limit,
                settings.defaults,
                secrets.clients,
                before.and_then(|it| it.rate.as_ref()),
            ),
            responses: ResponseGuard::new(
                settings.response_rate_limit,
                secrets.responses,
                before.and_then(|it| it.responses.as_ref()),
            ),
            rebinding: RebindingGuard::new(settings.rebinding, settings.defaults),
            options: OptionReader::new(settings.cookies, secrets.cookies, idle_ds),
        }
    }

    /// Reads the options of a query. The same query gives the same again, as long as the day lasts.
    pub(crate) fn read(
        &self,
        query: &DnsQuery<'_>,
        caller: &DnsCaller<'_>,
    ) -> Result<SeenOptions, BadOption> {
        self.options.read(query.options, caller)
    }

    /// Writes the reply to a message that asks for nothing but a cookie (RFC 7873 §5.4), whose
    /// options these are; FORMERR where cookies are off, or its own is malformed.
    pub(crate) fn write_cookie_reply(
        &self,
        mut asking: BadReply<'_>,
        options: &[u8],
        caller: &DnsCaller<'_>,
        out: &mut Vec<u8>,
    ) {
        if let Some((rcode, given)) = self.options.cookie_only(options, caller) {
            synthesize::cookie_reply(&asking, rcode, given.as_bytes(), out);
        } else {
            asking.rcode = Rcode::FormErr;
            synthesize::bad(&asking, out);
        }
    }

    /// Returns whether a query is answered; with `seen` of [`QueryGuard::read`]. Each call counts.
    pub(crate) fn admit(
        &self,
        caller: &DnsCaller<'_>,
        seen: Result<&SeenOptions, BadOption>,
    ) -> Admission {
        let sender = sender_of(caller, seen);
        if !self.access.admits(caller.client) {
            return forbidden(self.access.action, sender);
        }
        // Before anything is counted: who forges addresses must not use up what is another's.
        match seen.map(|seen| seen.proof) {
            Ok(RequiredProof::Cookie) => {
                return Admission::Refused(AdmissionRefusal::CookieRequired);
            }
            Ok(RequiredProof::Connection) => {
                return Admission::Refused(AdmissionRefusal::RetryOverTcp);
            }
            Ok(RequiredProof::Enough) | Err(_) => {}
        }
        if let Some(rate) = &self.rate
            && !rate.allows(caller.client, caller.now)
        {
            return rate_limited(rate.action, sender);
        }
        match seen {
            Ok(_) => Admission::Admitted,
            Err(bad) => Admission::Refused(AdmissionRefusal::BadOption(bad)),
        }
    }

    /// Returns whether a message that cannot be read as a query gets an answer that says so. It
    /// counts as a query does: floods of garbage are floods.
    pub(crate) fn admit_malformed(&self, caller: &DnsCaller<'_>) -> Admission {
        let sender = unverified_sender(caller);
        if !self.access.admits(caller.client) {
            return forbidden(self.access.action, sender);
        }
        match &self.rate {
            Some(rate) if !rate.allows(caller.client, caller.now) => {
                rate_limited(rate.action, sender)
            }
            Some(_) | None => Admission::Admitted,
        }
    }

    /// Returns what becomes of `reply`, a whole answer. A reply that turns a query away is judged
    /// too.
    pub(crate) fn reply_fate(
        &self,
        caller: &DnsCaller<'_>,
        sender: SenderProof,
        reply: &[u8],
    ) -> OutgoingFate {
        match (&self.responses, sender) {
            (Some(responses), SenderProof::Claimed) => {
                responses.reply_fate(caller.client, reply, caller.now)
            }
            (None, _) | (_, SenderProof::Verified | SenderProof::Connected) => OutgoingFate::Send,
        }
    }

    /// True if `message`, what a public upstream answered for `name`, points inside and must not be
    /// passed on: it is answered as empty, with the extended error [`REBINDING_ERROR`].
    pub(crate) fn forbids(&self, name: Name<'_>, message: &[u8]) -> bool {
        self.rebinding.forbids(name, message)
    }
}

/// Where the options cannot be read, they prove nothing.
fn sender_of(caller: &DnsCaller<'_>, seen: Result<&SeenOptions, BadOption>) -> SenderProof {
    seen.map_or_else(|_| unverified_sender(caller), |seen| seen.sender)
}

/// The sender of what proves nothing by itself.
fn unverified_sender(caller: &DnsCaller<'_>) -> SenderProof {
    match caller.transport {
        QueryTransport::Udp => SenderProof::Claimed,
        QueryTransport::Tcp
        | QueryTransport::Tls
        | QueryTransport::Https
        | QueryTransport::Quic => SenderProof::Connected,
    }
}

/// Returns whoever waits on a connection is told in any case.
fn forbidden(action: AccessAction, sender: SenderProof) -> Admission {
    match (action, sender) {
        (AccessAction::Drop, SenderProof::Claimed | SenderProof::Verified) => Admission::Dropped,
        (AccessAction::Drop, SenderProof::Connected) | (AccessAction::Refuse, _) => {
            Admission::Refused(AdmissionRefusal::Forbidden)
        }
    }
}

fn rate_limited(action: RateAction, sender: SenderProof) -> Admission {
    match (action, sender) {
        (RateAction::Drop, SenderProof::Claimed | SenderProof::Verified) => Admission::Dropped,
        (RateAction::Truncate, SenderProof::Claimed | SenderProof::Verified) => {
            Admission::Refused(AdmissionRefusal::RetryOverTcp)
        }
        (_, SenderProof::Connected) | (RateAction::Refuse, _) => {
            Admission::Refused(AdmissionRefusal::RateLimited)
        }
    }
}

/// A set of the networks of a setting.
fn networks(list: &[Text<Network>]) -> IpSet {
    let mut set = IpSet::builder();
    for network in list {
        set.add_text(&network.to_string())
            .expect("a Network is written as one, and `check` bounds how many there are");
    }
    set.build()
}

impl std::fmt::Debug for GuardSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(..)")
    }
}

#[cfg(test)]
mod tests;
