//! Cookies by which a client proves that its address is its own (RFC 7873), made so that every
//! server with the same secret reads them (RFC 9018).
//!
//! The server remembers nothing: its part is a keyed hash of the client's part, the time and the
//! client's address. It holds no clock, and gets its secrets from whoever starts the program.

use siphasher::sip::SipHasher24;
use siphasher::sip128;
use std::hash::Hasher;
use std::net::IpAddr;

/// Bytes of a whole cookie of ours: 8 from the client, 16 from here (RFC 9018 §4).
pub const COOKIE_BYTES: usize = 24;
/// The response code that asks for our part of the cookie (RFC 7873 §8).
pub const BADCOOKIE: u16 = 23;

const CLIENT_BYTES: usize = 8;
const SERVER_BYTES: usize = 16;
/// Version, three reserved bytes, time; the hash follows (RFC 9018 §4).
const FIXED_BYTES: usize = 8;
/// The one version there is (RFC 9018 §4.1).
const VERSION: u8 = 1;
/// A cookie is good for an hour after its time, in seconds (RFC 9018 §4.3).
const AGE_MAX_S: i32 = 3600;
/// And five minutes before it, since clocks differ.
const FUTURE_MAX_S: i32 = 300;
/// After half an hour the client gets a new one.
const RENEW_AFTER_S: i32 = 1800;
/// Time for which a derived secret is the current one, in seconds: a day, well under the 36 days
/// that RFC 7873 §7.1 allows; with the one before it, cookies outlive the change.
const SECRET_LIFE_S: u64 = 86_400;

/// A client's cookie, with our part if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DnsCookie<'q> {
    client: [u8; CLIENT_BYTES],
    /// Empty, or 8 to 32 bytes.
    server: &'q [u8],
}

/// Tells what a cookie proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieSays {
    /// Nothing yet: the client has none of ours.
    New,
    /// The client gets what is sent to its address.
    Valid,
    /// Nothing: our part is wrong or too old.
    Invalid,
}

/// Holds what cookies are made with.
#[derive(Clone, Copy)]
pub struct CookieSecrets {
    current: [u8; 16],
    before: Option<[u8; 16]>,
}

impl<'q> DnsCookie<'q> {
    /// Reads the option's data; none if there is no cookie of that length (RFC 7873 §4).
    pub fn read(data: &'q [u8]) -> Option<Self> {
        let (client, server) = data.split_first_chunk::<CLIENT_BYTES>()?;
        matches!(server.len(), 0 | 8..=32).then_some(Self { client: *client, server })
    }

    /// True if it has a server's part, right or wrong.
    pub const fn has_server_part(&self) -> bool {
        !self.server.is_empty()
    }
}

impl CookieSecrets {
    /// Secrets given as they are: the current one, and the one before it if it still counts.
    pub const fn new(current: [u8; 16], before: Option<[u8; 16]>) -> Self {
        Self { current, before }
    }

    /// The secrets of the day that `unix_s` lies in, derived from `master`. Servers that share the
    /// master and roughly the time read one another's cookies.
    pub fn of_day(master: &[u8; 16], unix_s: u64) -> Self {
        let day = unix_s / SECRET_LIFE_S;
        let secret = |day: u64| {
            let mut hasher = sip128::SipHasher24::new_with_key(master);
            hasher.write_u64(day.to_be());
            sip128::Hasher128::finish128(&hasher).as_bytes()
        };
        Self { current: secret(day), before: day.checked_sub(1).map(secret) }
    }

    /// Returns what `cookie` proves about `client`, and the whole cookie for the answer.
    pub fn check(
        &self,
        cookie: &DnsCookie<'_>,
        client: IpAddr,
        unix_s: u64,
    ) -> (CookieSays, [u8; COOKIE_BYTES]) {
        // Serial arithmetic, as the time in cookies wraps (RFC 9018 §4.3).
        let now = unix_s as u32;
        let says = match self.age_of(cookie, client, now) {
            _ if cookie.server.is_empty() => CookieSays::New,
            None => CookieSays::Invalid,
            Some(CookieAge::ToRenew) => CookieSays::Valid,
            Some(CookieAge::Fresh) => {
                let mut whole = [0; COOKIE_BYTES];
                whole[..CLIENT_BYTES].copy_from_slice(&cookie.client);
                whole[CLIENT_BYTES..].copy_from_slice(cookie.server);
                return (CookieSays::Valid, whole);
            }
        };
        (says, self.make(cookie.client, client, now))
    }

    fn age_of(&self, cookie: &DnsCookie<'_>, client: IpAddr, now: u32) -> Option<CookieAge> {
        let server: &[u8; SERVER_BYTES] = cookie.server.try_into().ok()?;
        let (fixed, hash) = server.split_first_chunk::<FIXED_BYTES>()?;
        let age = now.wrapping_sub(u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]));
        let age = age.cast_signed();
        if fixed[0] != VERSION || !(-FUTURE_MAX_S..=AGE_MAX_S).contains(&age) {
            return None;
        }
        let is_of = |secret| is_equal(hash_of(secret, cookie.client, *fixed, client), hash);
        if is_of(&self.current) {
            return Some(if age > RENEW_AFTER_S { CookieAge::ToRenew } else { CookieAge::Fresh });
        }
        self.before.as_ref().is_some_and(is_of).then_some(CookieAge::ToRenew)
    }

    fn make(&self, theirs: [u8; CLIENT_BYTES], client: IpAddr, now: u32) -> [u8; COOKIE_BYTES] {
        let mut fixed = [0; FIXED_BYTES];
        fixed[0] = VERSION;
        fixed[4..].copy_from_slice(&now.to_be_bytes());
        let mut whole = [0; COOKIE_BYTES];
        whole[..CLIENT_BYTES].copy_from_slice(&theirs);
        whole[CLIENT_BYTES..CLIENT_BYTES + FIXED_BYTES].copy_from_slice(&fixed);
        let hash = hash_of(&self.current, theirs, fixed, client);
        whole[CLIENT_BYTES + FIXED_BYTES..].copy_from_slice(&hash);
        whole
    }
}

/// Tells how old a cookie is that is ours.
enum CookieAge {
    Fresh,
    /// Time nears its end, or it was made with the secret before.
    ToRenew,
}

/// RFC 9018 §4.4: `SipHash-2-4(client cookie | version | reserved | time | client address)`.
fn hash_of(secret: &[u8; 16], theirs: [u8; 8], fixed: [u8; 8], client: IpAddr) -> [u8; 8] {
    let mut hasher = SipHasher24::new_with_key(secret);
    hasher.write(&theirs);
    hasher.write(&fixed);
    match client.to_canonical() {
        IpAddr::V4(v4) => hasher.write(&v4.octets()),
        IpAddr::V6(v6) => hasher.write(&v6.octets()),
    }
    hasher.finish().to_le_bytes()
}

/// In the same time wherever they differ.
fn is_equal(ours: [u8; 8], theirs: &[u8]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).fold(0, |all, (a, b)| all | a ^ b) == 0
}

impl std::fmt::Debug for CookieSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CookieSecrets(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "e5e973e5a6b2a43f48e7dc849e37bfcf";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    }

    fn secret(hex: &str) -> [u8; 16] {
        bytes(hex).try_into().unwrap()
    }

    fn check(secrets: CookieSecrets, client: &str, now: u64, given: &str) -> (CookieSays, Vec<u8>) {
        let given = bytes(given);
        let cookie = DnsCookie::read(&given).unwrap();
        let (says, whole) = secrets.check(&cookie, client.parse().unwrap(), now);
        (says, whole.to_vec())
    }

    #[test]
    fn rfc9018_a1_a_client_learns_a_cookie() {
        let secrets = CookieSecrets::new(secret(SECRET), None);
        let (says, whole) = check(secrets, "198.51.100.100", 1_559_731_985, "2464c4abcf10c957");
        assert_eq!(says, CookieSays::New);
        assert_eq!(whole, bytes("2464c4abcf10c957010000005cf79f111f8130c3eee29480"));
    }

    #[test]
    fn rfc9018_a2_the_same_client_gets_a_fresh_one() {
        let secrets = CookieSecrets::new(secret(SECRET), None);
        let given = "2464c4abcf10c957010000005cf79f111f8130c3eee29480";
        let (says, whole) = check(secrets, "198.51.100.100", 1_559_734_385, given);
        assert_eq!(says, CookieSays::Valid);
        assert_eq!(whole, bytes("2464c4abcf10c957010000005cf7a871d4a564a1442aca77"));
        // Within half an hour it is the same.
        let (says, whole) = check(secrets, "198.51.100.100", 1_559_732_985, given);
        assert_eq!((says, whole), (CookieSays::Valid, bytes(given)));
    }

    #[test]
    fn rfc9018_a3_reserved_bytes_count_in_the_hash_only() {
        let secrets = CookieSecrets::new(secret(SECRET), None);
        let given = "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5";
        let (says, _) = check(secrets, "203.0.113.203", 1_559_728_000, given);
        assert_eq!(says, CookieSays::Valid);
        let (_, whole) = check(secrets, "203.0.113.203", 1_559_734_700, given);
        assert_eq!(whole, bytes("fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e"));
    }

    #[test]
    fn rfc9018_a4_a_cookie_of_the_secret_before_is_good_and_renewed() {
        let before = secret("dd3bdf9344b678b185a6f5cb60fca715");
        let secrets = CookieSecrets::new(secret("445536bcd2513298075a5d379663c962"), Some(before));
        let given = "22681ab97d52c298010000005cf7c57926556bd0934c72f8";
        let client = "2001:db8:220:1:59de:d0f4:8769:82b8";
        let (says, whole) = check(secrets, client, 0x5cf7_c609, given);
        assert_eq!(says, CookieSays::Valid);
        assert_eq!(whole, bytes("22681ab97d52c298010000005cf7c609a6bb79d16625507a"));
    }

    #[test]
    fn another_address_another_time_and_another_server_prove_nothing() {
        let secrets = CookieSecrets::new(secret(SECRET), None);
        let given = "2464c4abcf10c957010000005cf79f111f8130c3eee29480";
        let says = |client, now, given| check(secrets, client, now, given).0;
        assert_eq!(says("198.51.100.101", 1_559_731_985, given), CookieSays::Invalid);
        let made = 1_559_731_985;
        for (now, expected) in [
            (made - 301, CookieSays::Invalid),
            (made - 300, CookieSays::Valid),
            (made + 3600, CookieSays::Valid),
            (made + 3601, CookieSays::Invalid),
        ] {
            assert_eq!(says("198.51.100.100", now, given), expected, "{now}");
        }
        assert_eq!(
            says("198.51.100.100", made, "2464c4abcf10c9570102030405060708"),
            CookieSays::Invalid
        );
        let flipped = given.replace("0100000", "0200000");
        assert_eq!(says("198.51.100.100", made, &flipped), CookieSays::Invalid);
    }

    #[test]
    fn daily_secrets_overlap_by_a_day() {
        let (master, client) = ([7; 16], "192.0.2.1".parse().unwrap());
        let day = |number: u64| CookieSecrets::of_day(&master, number * SECRET_LIFE_S);
        let midnight = 20_000 * SECRET_LIFE_S;
        let new = DnsCookie::read(b"COOKIE!!").unwrap();
        let (_, whole) = day(19_999).check(&new, client, midnight - 60);
        let cookie = DnsCookie::read(&whole).unwrap();
        let (says, renewed) = day(20_000).check(&cookie, client, midnight + 60);
        assert_eq!(says, CookieSays::Valid);
        assert_ne!(renewed, whole);
        assert_eq!(day(20_001).check(&cookie, client, midnight + 60).0, CookieSays::Invalid);
    }
}
