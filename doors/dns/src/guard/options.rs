//! What a query's options prove and ask for: cookies, padding, keep-alive, client subnet.
//!
//! It reads them, says how sure the sender's address is, and prepares what the answer says back.
//! Nothing is remembered: the same query read twice gives the same. Called by the guard.

use crate::caller::{DnsCaller, QueryTransport};
use crate::settings::cookies::{CookieMode, CookieSettings};
use dns_wire::options::{
    AnswerOptions, BADCOOKIE, BadOption, ClientOptions, ClientSubnet, CookieSays, CookieSecrets,
    DnsCookie, OptionBuffer, PaddingPolicy,
};

/// Tells how sure it is that a query comes from its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SenderProof {
    /// Not at all: a datagram says so.
    Claimed,
    /// A datagram with a cookie of ours, which was sent to that address.
    Verified,
    /// A connection stands.
    Connected,
}

/// Tells what must be shown before a query is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequiredProof {
    /// Nothing more.
    Enough,
    /// Our cookie, which the answer brings.
    Cookie,
    /// A connection: the client knows no cookies.
    Connection,
}

/// Holds what a query's options say, and what its answer will.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenOptions {
    pub(crate) sender: SenderProof,
    pub(crate) proof: RequiredProof,
    /// The subnet that the client wants an answer for.
    pub(crate) subnet: Option<ClientSubnet>,
    /// True if the client reads structured errors.
    pub(crate) reads_structured: bool,
    /// What the answer says; without a subnet, whose scope is not known yet.
    pub(crate) answer: AnswerOptions,
}

/// Reads options.
#[derive(Debug)]
pub(super) struct OptionReader {
    mode: CookieMode,
    secret: CookieSecret,
    /// Time for which a connection may be idle, in tenths of a second.
    keepalive: u16,
}

#[derive(Clone, Copy)]
struct CookieSecret([u8; 16]);

impl OptionReader {
    /// Cookies are made with `chosen` unless the settings have a secret. `idle_ds` is how long a
    /// connection may be idle, in tenths of a second.
    pub(super) fn new(settings: &CookieSettings, chosen: [u8; 16], idle_ds: u16) -> Self {
        let secret = settings.secret_bytes().unwrap_or(chosen);
        Self { mode: settings.mode, secret: CookieSecret(secret), keepalive: idle_ds }
    }

    /// Reads the options of a query, which are empty where it has no EDNS.
    pub(super) fn read(
        &self,
        options: &[u8],
        caller: &DnsCaller<'_>,
    ) -> Result<SeenOptions, BadOption> {
        let found = ClientOptions::read(options)?;
        let encrypted = matches!(
            caller.transport,
            QueryTransport::Tls | QueryTransport::Https | QueryTransport::Quic
        );
        // QUIC and HTTPS have idle times of their own (RFC 9250 §5.5.2).
        let keeps = found.wants_keepalive
            && matches!(caller.transport, QueryTransport::Tcp | QueryTransport::Tls);
        let mut seen = SeenOptions {
            sender: if caller.transport == QueryTransport::Udp {
                SenderProof::Claimed
            } else {
                SenderProof::Connected
            },
            proof: RequiredProof::Enough,
            subnet: found.subnet,
            reads_structured: found.reads_structured,
            answer: AnswerOptions {
                keepalive: keeps.then_some(self.keepalive),
                // Where it is not encrypted, everybody can count the zeros (RFC 7830 §6).
                padding: if found.is_padded && encrypted {
                    PaddingPolicy::Block
                } else {
                    PaddingPolicy::None
                },
                ..AnswerOptions::default()
            },
        };
        self.read_cookie(found.cookie, caller, &mut seen);
        Ok(seen)
    }

    /// Returns what becomes of the cookie of a message without a question, as an extended response
    /// code and options; none where cookies are off, or it is malformed.
    pub(super) fn cookie_only(
        &self,
        options: &[u8],
        caller: &DnsCaller<'_>,
    ) -> Option<(u16, OptionBuffer)> {
        let seen = self.read(options, caller).ok()?;
        let given = AnswerOptions { cookie: Some(seen.answer.cookie?), ..AnswerOptions::default() };
        // Whoever shows a server's part that is none of ours is told so, with the right one.
        let shown = ClientOptions::read(options).ok()?.cookie?;
        let is_wrong = shown.has_server_part() && seen.sender == SenderProof::Claimed;
        Some((if is_wrong { BADCOOKIE } else { 0 }, given.write_plain()))
    }

    fn read_cookie(
        &self,
        cookie: Option<DnsCookie<'_>>,
        caller: &DnsCaller<'_>,
        seen: &mut SeenOptions,
    ) {
        if self.mode == CookieMode::Off {
            return;
        }
        let says = cookie.map(|cookie| {
            let now = caller.now.unix_secs();
            let secrets = CookieSecrets::of_day(&self.secret.0, now);
            let (says, whole) = secrets.check(&cookie, caller.client, now);
            seen.answer.cookie = Some(whole);
            says
        });
        if seen.sender == SenderProof::Connected {
            return;
        }
        let needed =
            |proof| if self.mode == CookieMode::Require { proof } else { RequiredProof::Enough };
        match says {
            Some(CookieSays::Valid) => seen.sender = SenderProof::Verified,
            Some(CookieSays::New | CookieSays::Invalid) => {
                seen.proof = needed(RequiredProof::Cookie);
            }
            None => seen.proof = needed(RequiredProof::Connection),
        }
    }
}

impl std::fmt::Debug for CookieSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use crate::guard::tests::caller;

    fn reader(mode: CookieMode) -> OptionReader {
        OptionReader::new(&CookieSettings { mode, secret: None }, [9; 16], 100)
    }

    fn cookie(bytes: &[u8]) -> Vec<u8> {
        [&[0, 10, 0, bytes.len() as u8][..], bytes].concat()
    }

    #[test]
    fn a_cookie_of_ours_proves_the_address() {
        let reader = reader(CookieMode::On);
        let ask = |options: &[u8], client, way| reader.read(options, &caller(client, way)).unwrap();
        let first = ask(&cookie(b"COOKIE!!"), "192.0.2.1", QueryTransport::Udp);
        assert_eq!((first.sender, first.proof), (SenderProof::Claimed, RequiredProof::Enough));
        let whole = first.answer.cookie.unwrap();
        let second = ask(&cookie(&whole), "192.0.2.1", QueryTransport::Udp);
        assert_eq!((second.sender, second.answer.cookie), (SenderProof::Verified, Some(whole)));
        let stolen = ask(&cookie(&whole), "192.0.2.2", QueryTransport::Udp);
        assert_eq!(stolen.sender, SenderProof::Claimed);
        assert_eq!(ask(b"", "192.0.2.1", QueryTransport::Udp).answer.cookie, None);
        assert_eq!(ask(b"", "192.0.2.1", QueryTransport::Tcp).sender, SenderProof::Connected);
    }

    #[test]
    fn cookies_can_be_required_over_udp() {
        let reader = reader(CookieMode::Require);
        let proof = |options: &[u8], way| {
            reader.read(options, &caller("192.0.2.1", way)).map(|seen| seen.proof)
        };
        assert_eq!(proof(b"", QueryTransport::Udp), Ok(RequiredProof::Connection));
        assert_eq!(proof(&cookie(b"COOKIE!!"), QueryTransport::Udp), Ok(RequiredProof::Cookie));
        assert_eq!(
            proof(&cookie(b"COOKIE!!........"), QueryTransport::Udp),
            Ok(RequiredProof::Cookie)
        );
        assert_eq!(proof(b"", QueryTransport::Quic), Ok(RequiredProof::Enough));
        assert_eq!(proof(&cookie(b"short"), QueryTransport::Udp), Err(BadOption::Cookie));
    }

    #[test]
    fn cookies_can_be_off() {
        let seen = reader(CookieMode::Off)
            .read(&cookie(b"COOKIE!!"), &caller("192.0.2.1", QueryTransport::Udp))
            .unwrap();
        assert_eq!((seen.sender, seen.answer.cookie), (SenderProof::Claimed, None));
    }

    #[test]
    fn servers_with_one_secret_read_one_anothers_cookies() {
        let settings = CookieSettings {
            secret: Some("00112233445566778899aabbccddeeff".into()),
            ..CookieSettings::default()
        };
        let [one, two] = [[1; 16], [2; 16]].map(|it| OptionReader::new(&settings, it, 100));
        let asking = caller("192.0.2.1", QueryTransport::Udp);
        let whole = one.read(&cookie(b"COOKIE!!"), &asking).unwrap().answer.cookie.unwrap();
        assert_eq!(two.read(&cookie(&whole), &asking).unwrap().sender, SenderProof::Verified);
    }

    #[test]
    fn answers_are_padded_and_kept_alive_where_that_means_something() {
        let reader = reader(CookieMode::On);
        let options = b"\0\x0b\0\0\0\x0c\0\x04\0\0\0\0";
        let answer = |way| reader.read(options, &caller("192.0.2.1", way)).unwrap().answer;
        for (way, keepalive, padding) in [
            (QueryTransport::Udp, None, PaddingPolicy::None),
            (QueryTransport::Tcp, Some(100), PaddingPolicy::None),
            (QueryTransport::Tls, Some(100), PaddingPolicy::Block),
            (QueryTransport::Https, None, PaddingPolicy::Block),
            (QueryTransport::Quic, None, PaddingPolicy::Block),
        ] {
            let expected = AnswerOptions { keepalive, padding, ..AnswerOptions::default() };
            assert_eq!(answer(way), expected, "{way:?}");
        }
    }

    #[test]
    fn a_secret_is_sixteen_bytes() {
        for secret in
            ["", "0011", "00112233445566778899aabbccddeefg", "+0112233445566778899aabbccddeeff"]
        {
            let settings =
                CookieSettings { secret: Some(secret.into()), ..CookieSettings::default() };
            assert_eq!(settings.check()[0].path, "secret", "{secret}");
        }
    }
}
