//! Clients that trust our authority, as handshakes have taught.
//!
//! A client that keeps refusing our certificates is better off without our address: whoever gives
//! addresses asks here. One that fetched something trusts us; one that refused three times, or went
//! away at the certificate six times, and never fetched anything meanwhile does not, until it is
//! tried again some hours later. It sends nothing and knows no clock. Told by the door that answers
//! for blocked hosts; asked by the DNS door and the API.

use arc_swap::ArcSwap;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use vocab::Now;

/// Clients remembered; at the cap the one that was heard of longest ago is forgotten.
pub const TRUST_CLIENTS_MAX: usize = 4096;
/// Time for which a client that does not trust us is left alone, in milliseconds. Then one more
/// refusal is enough for as long again, and one request makes it trust us.
pub const RELEARN_MS: u64 = 6 * 3_600_000;

/// Weights of a refusal in an alert and of a silent end, which has other causes too: a browser that
/// wanted no connection any more.
const ALERT_WEIGHT: u32 = 2;
const SILENCE_WEIGHT: u32 = 1;
/// Weight of evidence that makes a client distrust us: three alerts.
const DISTRUST_THRESHOLD: u32 = 6;
/// The same for one that has fetched something before. Apps that pin their certificates refuse
/// while the browser beside them trusts us; only a client of which nothing but refusals comes has
/// lost its trust.
const DISTRUST_THRESHOLD_AFTER_TRUST: u32 = 60;

/// Tells what is known of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthorityTrust {
    /// Too little.
    #[default]
    Unknown,
    /// Has fetched something over TLS.
    Trusts,
    /// Refuses our certificates.
    Distrusts,
}

/// Tells how a handshake ended, as far as it tells something about trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustSign {
    /// A request came over the connection.
    Request,
    /// The client sent an alert against our certificate.
    Alert,
    /// The client went away at our certificate.
    Silence,
}

/// A client's record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrustRecord {
    /// Trust as it is known now.
    pub trust: AuthorityTrust,
    /// Connections with requests, since the client is remembered.
    pub requests: u64,
    /// Alerts against our certificate.
    pub alerts: u64,
    /// Silent ends at our certificate.
    pub silences: u64,
    /// When it was last heard of, in milliseconds since 1970.
    pub last_seen_unix_ms: u64,
    /// Until when it gets no address of ours, in milliseconds since 1970; 0 where it gets one.
    pub avoided_until_unix_ms: u64,
    evidence: u32,
    avoided_until_mono_ms: u64,
    was_avoided: u8,
}

/// Holds what is known of all clients. Shared by the doors.
#[derive(Debug, Default)]
pub struct TrustBook {
    clients: Mutex<HashMap<IpAddr, TrustRecord>>,
    /// Clients that are left alone, and until when on the monotonic clock: each blocked answer
    /// asks.
    avoided: ArcSwap<HashMap<IpAddr, u64>>,
}

impl TrustBook {
    /// True if a client gets no address of ours at `now`.
    pub fn avoids(&self, client: IpAddr, now: Now) -> bool {
        let avoided = self.avoided.load();
        !avoided.is_empty()
            && avoided.get(&client.to_canonical()).is_some_and(|until_ms| now.mono_ms < *until_ms)
    }

    /// Learns from a handshake.
    pub fn record(&self, client: IpAddr, sign: TrustSign, now: Now) {
        let client = client.to_canonical();
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if !clients.contains_key(&client) && clients.len() >= TRUST_CLIENTS_MAX {
            let oldest =
                clients.iter().min_by_key(|(_, it)| it.last_seen_unix_ms).map(|(it, _)| *it);
            oldest.map(|oldest| clients.remove(&oldest));
        }
        let learned = clients.entry(client).or_default();
        let before = learned.avoided_until_mono_ms;
        learned.apply(sign, now);
        if learned.avoided_until_mono_ms != before {
            let avoided = clients
                .iter()
                .filter(|(_, it)| it.trust == AuthorityTrust::Distrusts)
                .map(|(client, it)| (*client, it.avoided_until_mono_ms));
            self.avoided.store(Arc::new(avoided.collect()));
        }
    }

    /// Every client remembered, the one heard of last first.
    pub fn all(&self, now: Now) -> Vec<(IpAddr, TrustRecord)> {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = clients.iter().map(|(client, it)| (*client, it.at(now))).collect();
        drop(clients);
        all.sort_by_key(|(client, it)| (std::cmp::Reverse(it.last_seen_unix_ms), *client));
        all
    }
}

impl TrustRecord {
    fn apply(&mut self, sign: TrustSign, now: Now) {
        *self = self.at(now);
        self.last_seen_unix_ms = now.unix_ms;
        let (counter, weight) = match sign {
            TrustSign::Request => {
                self.requests += 1;
                (self.evidence, self.was_avoided, self.trust) = (0, 0, AuthorityTrust::Trusts);
                (self.avoided_until_unix_ms, self.avoided_until_mono_ms) = (0, 0);
                return;
            }
            TrustSign::Alert => (&mut self.alerts, ALERT_WEIGHT),
            TrustSign::Silence => (&mut self.silences, SILENCE_WEIGHT),
        };
        *counter += 1;
        self.evidence = self.evidence.saturating_add(weight);
        let enough = match self.trust {
            AuthorityTrust::Trusts => DISTRUST_THRESHOLD_AFTER_TRUST,
            AuthorityTrust::Unknown if self.was_avoided > 0 => ALERT_WEIGHT,
            AuthorityTrust::Unknown => DISTRUST_THRESHOLD,
            // Answers that it was given before still lead here.
            AuthorityTrust::Distrusts => return,
        };
        if self.evidence >= enough {
            (self.trust, self.was_avoided, self.evidence) = (AuthorityTrust::Distrusts, 1, 0);
            self.avoided_until_mono_ms = now.mono_ms + RELEARN_MS;
            self.avoided_until_unix_ms = now.unix_ms + RELEARN_MS;
        }
    }

    /// As it stands at `now`: one that was left alone for long enough is unknown again.
    fn at(mut self, now: Now) -> Self {
        if self.trust == AuthorityTrust::Distrusts && now.mono_ms >= self.avoided_until_mono_ms {
            self.trust = AuthorityTrust::Unknown;
            (self.avoided_until_unix_ms, self.avoided_until_mono_ms) = (0, 0);
        }
        self
    }
}

impl AuthorityTrust {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Trusts => "trusts",
            Self::Distrusts => "distrusts",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

    fn at(ms: u64) -> Now {
        Now { unix_ms: 1_800_000_000_000 + ms, mono_ms: 5000 + ms }
    }

    fn check(signs: &[TrustSign], expected: AuthorityTrust) {
        let book = TrustBook::default();
        for (ms, sign) in signs.iter().enumerate() {
            book.record(CLIENT, *sign, at(ms as u64));
        }
        let now = at(signs.len() as u64);
        assert_eq!(book.all(now)[0].1.trust, expected, "{signs:?}");
        assert_eq!(book.avoids(CLIENT, now), expected == AuthorityTrust::Distrusts, "{signs:?}");
    }

    #[test]
    fn three_alerts_or_six_silences_mean_distrust_and_one_request_trust() {
        use TrustSign::{Alert, Request, Silence};
        check(&[Alert, Alert], AuthorityTrust::Unknown);
        check(&[Alert, Alert, Alert], AuthorityTrust::Distrusts);
        check(&[Silence; 5], AuthorityTrust::Unknown);
        check(&[Silence; 6], AuthorityTrust::Distrusts);
        check(&[Alert, Silence, Silence, Alert], AuthorityTrust::Distrusts);
        check(&[Alert, Alert, Request, Alert], AuthorityTrust::Trusts);
        check(&[Alert, Alert, Alert, Request], AuthorityTrust::Trusts);
    }

    #[test]
    fn an_app_that_pins_does_not_cost_the_browser_beside_it_its_answers() {
        let mut signs = vec![TrustSign::Request];
        signs.extend([TrustSign::Alert; 29]);
        check(&signs, AuthorityTrust::Trusts);
        // Nothing but refusals for long: the authority was removed.
        signs.push(TrustSign::Alert);
        check(&signs, AuthorityTrust::Distrusts);
    }

    #[test]
    fn a_client_is_tried_again_and_one_refusal_is_enough_then() {
        let book = TrustBook::default();
        for _ in 0..3 {
            book.record(CLIENT, TrustSign::Alert, at(0));
        }
        assert!(book.avoids(CLIENT, at(RELEARN_MS - 1)));
        let later = at(RELEARN_MS);
        assert!(!book.avoids(CLIENT, later));
        assert_eq!(book.all(later)[0].1.trust, AuthorityTrust::Unknown);
        book.record(CLIENT, TrustSign::Alert, later);
        assert!(book.avoids(CLIENT, later));
        let mapped = Ipv4Addr::new(192, 0, 2, 7).to_ipv6_mapped();
        assert!(book.avoids(mapped.into(), later));
        book.record(CLIENT, TrustSign::Request, later);
        assert!(!book.avoids(CLIENT, later));
    }

    #[test]
    fn the_book_is_bounded_and_forgets_the_oldest() {
        let book = TrustBook::default();
        for number in 0..=TRUST_CLIENTS_MAX as u32 {
            let client = IpAddr::V4(Ipv4Addr::from_bits(number));
            book.record(client, TrustSign::Silence, at(u64::from(number)));
        }
        let all = book.all(at(0));
        assert_eq!(all.len(), TRUST_CLIENTS_MAX);
        assert_eq!(all.last().map(|it| it.0), Some(IpAddr::V4(Ipv4Addr::from_bits(1))));
    }
}
