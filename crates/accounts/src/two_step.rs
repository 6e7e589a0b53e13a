//! Two-step sign-in: codes of an authenticator (TOTP, RFC 6238) and recovery codes.
//!
//! A code holds for half a minute, one step before and after besides, and once. Recovery codes hold
//! once each. Asked by the user accounts.

use crate::random_text::{digest, random_bytes, random_code};
use fast_qr::QRBuilder;
use fast_qr::convert::svg::SvgBuilder;
use serde::{Deserialize, Serialize};
use std::io;
use totp_rs::{Builder, Secret, Totp};

/// Recovery codes that are given at once.
const RECOVERY_CODES: usize = 8;
/// Longest text that is looked at as a code, in bytes.
const CODE_BYTES_MAX: usize = 32;
/// Name under which authenticators show it.
const ISSUER: &str = "Tidegate";

/// Two-step sign-in of a user.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredTotp {
    /// The secret that the authenticator has too, in base 32.
    secret: String,
    /// Number of the last half minute whose code was taken: none holds twice.
    used_step: u64,
    /// Digests of recovery codes that were not used.
    recovery: Vec<String>,
}

/// An authenticator's secret, to be shown once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TotpOffer {
    /// The secret in base 32, to be typed.
    pub secret: String,
    /// The same with its names (`otpauth://totp/…`).
    pub uri: String,
    /// The same as a picture to be scanned.
    pub qr_svg: String,
}

/// Judgement of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeVerdict {
    /// The user has no two-step sign-in.
    NotNeeded,
    /// The right one, which holds no more.
    Accepted,
    /// None was sent, and one is needed.
    Missing,
    /// Another one, or one that was used.
    Wrong,
    /// One after too many wrong ones of the last minute: it was not looked at.
    TooMany,
}

impl TotpOffer {
    /// A new secret for a user.
    pub(crate) fn new(user: &str) -> io::Result<Self> {
        let secret = Secret::from(random_bytes::<20>()?);
        let text = secret.to_base32();
        let totp = Builder::new().with_secret(secret).with_account_name(user);
        let totp = totp.with_issuer(Some(ISSUER)).build().map_err(io::Error::other)?;
        let uri = totp.to_url().map_err(io::Error::other)?;
        let picture =
            QRBuilder::new(&*uri).build().map_err(|why| io::Error::other(why.to_string()))?;
        let qr_svg = SvgBuilder::default().to_str(&picture);
        Ok(Self { secret: text, uri, qr_svg })
    }
}

impl StoredTotp {
    /// Two-step sign-in by this secret, and its recovery codes; none if the code is not of it.
    pub(crate) fn begin(
        secret: &str,
        code: &str,
        unix_s: u64,
    ) -> io::Result<Option<(Self, Vec<String>)>> {
        let Some(step) = step_of(secret, code, unix_s) else { return Ok(None) };
        let codes = (0..RECOVERY_CODES).map(|_| random_code()).collect::<io::Result<Vec<_>>>()?;
        let recovery = codes.iter().map(|code| digest(code)).collect();
        Ok(Some((Self { secret: secret.into(), used_step: step, recovery }, codes)))
    }

    /// Takes a code; whatever is taken holds no more.
    pub(crate) fn take(&mut self, code: &str, unix_s: u64) -> CodeVerdict {
        if let Some(step) = step_of(&self.secret, code, unix_s) {
            if step <= self.used_step {
                return CodeVerdict::Wrong;
            }
            self.used_step = step;
            return CodeVerdict::Accepted;
        }
        if code.len() > CODE_BYTES_MAX {
            return CodeVerdict::Wrong;
        }
        let sum = digest(&code.trim().to_ascii_lowercase());
        let before = self.recovery.len();
        self.recovery.retain(|it| *it != sum);
        if self.recovery.len() < before { CodeVerdict::Accepted } else { CodeVerdict::Wrong }
    }
}

/// Number of the half minute whose code this is; none if it is another.
fn step_of(secret: &str, code: &str, unix_s: u64) -> Option<u64> {
    let digits: String = code.chars().filter(|it| !it.is_whitespace()).take(7).collect();
    if digits.len() != 6 || !digits.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    totp(secret)?.check(&digits, unix_s)
}

fn totp(secret: &str) -> Option<Totp> {
    Builder::new().with_secret(Secret::try_from_base32(secret).ok()?).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_at(secret: &str, unix_s: u64) -> String {
        totp(secret).unwrap().generate(unix_s).to_string()
    }

    #[test]
    fn a_code_holds_once_and_a_step_to_both_sides() {
        let offer = TotpOffer::new("anna").unwrap();
        assert!(offer.uri.starts_with("otpauth://totp/Tidegate:anna?"), "{}", offer.uri);
        assert!(offer.uri.contains(&offer.secret) && offer.qr_svg.starts_with("<svg"));
        let now = 1_800_000_000;
        assert!(StoredTotp::begin(&offer.secret, "12345", now).unwrap().is_none());
        let code = code_at(&offer.secret, now);
        let (mut totp, codes) = StoredTotp::begin(&offer.secret, &code, now).unwrap().unwrap();
        assert_eq!(codes.len(), RECOVERY_CODES);
        assert_eq!(totp.take(&code, now), CodeVerdict::Wrong, "it was used to begin");
        let next = code_at(&offer.secret, now + 30);
        let spaced = format!("{} {}", &next[..3], &next[3..]);
        assert_eq!(totp.take(&spaced, now), CodeVerdict::Accepted, "a clock half a minute behind");
        assert_eq!(totp.take(&next, now + 30), CodeVerdict::Wrong);
        let late = code_at(&offer.secret, now + 90);
        assert_eq!(totp.take(&late, now + 200), CodeVerdict::Wrong);
        for bad in ["", "abcdef", "1234567", "١٢٣٤٥٦", &"1".repeat(1 << 16)] {
            assert_eq!(totp.take(bad, now + 300), CodeVerdict::Wrong, "{bad:.9}");
        }
    }

    #[test]
    fn a_recovery_code_holds_once() {
        let offer = TotpOffer::new("anna").unwrap();
        let now = 1_800_000_000;
        let code = code_at(&offer.secret, now);
        let (mut totp, codes) = StoredTotp::begin(&offer.secret, &code, now).unwrap().unwrap();
        let stored = serde_json::to_string(&totp).unwrap();
        assert!(codes.iter().all(|code| !stored.contains(code)), "only digests are kept");
        assert_eq!(
            totp.take(&format!(" {} ", codes[3].to_uppercase()), now),
            CodeVerdict::Accepted
        );
        assert_eq!(totp.take(&codes[3], now), CodeVerdict::Wrong);
        assert_eq!(totp.take(&codes[4], now), CodeVerdict::Accepted);
    }
}
