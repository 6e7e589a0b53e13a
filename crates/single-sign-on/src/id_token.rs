//! ID tokens: read, and held against what was asked for (OpenID Connect Core §3.1.3.7).

use crate::failure::{IdTokenFault, told};
use crate::person::PersonClaims;
use crate::random_text::is_same;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::Value;

/// Difference of two clocks that is let pass, in seconds.
const CLOCKS_DIFFER_S: u64 = 60;

/// Algorithms that are taken: those whose signature the provider alone can make.
const TAKEN: [(&str, Algorithm); 9] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

/// An ID token whose signature was not looked at yet.
pub(crate) struct UncheckedIdToken<'t> {
    text: &'t str,
    pub(crate) algorithm: Algorithm,
    pub(crate) key_id: Option<String>,
}

/// Claims that an ID token has to have.
#[derive(Clone, Copy)]
pub(crate) struct ExpectedClaims<'e> {
    pub(crate) issuer: &'e str,
    pub(crate) client_id: &'e str,
    pub(crate) nonce: &'e str,
    pub(crate) unix_s: u64,
}

/// The head of a token, as far as it matters.
#[derive(Deserialize)]
struct TokenHead {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
}

impl<'t> UncheckedIdToken<'t> {
    /// Reads the head.
    pub(crate) fn read(text: &'t str) -> Result<Self, IdTokenFault> {
        let head = text.split('.').next().unwrap_or_default();
        let head = URL_SAFE_NO_PAD.decode(head).map_err(|_| IdTokenFault::Malformed)?;
        let head: TokenHead = serde_json::from_slice(&head).map_err(|_| IdTokenFault::Malformed)?;
        if head.crit.is_some() {
            return Err(IdTokenFault::Critical);
        }
        let taken = TAKEN.iter().find(|(name, _)| *name == head.alg);
        let (_, algorithm) = taken.ok_or_else(|| IdTokenFault::Algorithm(told(&head.alg)))?;
        Ok(Self { text, algorithm: *algorithm, key_id: head.kid })
    }

    /// The claims, if the key signed them and they say what is expected.
    pub(crate) fn check(
        &self,
        key: &Jwk,
        expected: ExpectedClaims<'_>,
    ) -> Result<PersonClaims, IdTokenFault> {
        let key = DecodingKey::from_jwk(key).map_err(|_| IdTokenFault::UnknownKey)?;
        let mut signature_alone = Validation::new(self.algorithm);
        // The claims are judged below: by our clock, and each with its own reason.
        signature_alone.required_spec_claims.clear();
        signature_alone.validate_exp = false;
        signature_alone.validate_aud = false;
        let read = jsonwebtoken::decode::<PersonClaims>(self.text, &key, &signature_alone);
        let claims = read.map_err(|why| match why.kind() {
            ErrorKind::Json(_) | ErrorKind::Base64(_) | ErrorKind::Utf8(_) => {
                IdTokenFault::Malformed
            }
            _ => IdTokenFault::Signature,
        })?;
        expected.check(&claims.claims)?;
        Ok(claims.claims)
    }
}

impl ExpectedClaims<'_> {
    fn check(self, claims: &PersonClaims) -> Result<(), IdTokenFault> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(self.issuer) {
            return Err(IdTokenFault::Issuer);
        }
        self.check_audience(claims)?;
        let nonce = text("nonce").ok_or(IdTokenFault::Nonce)?;
        if !is_same(nonce, self.nonce) {
            return Err(IdTokenFault::Nonce);
        }
        let time = |name: &str| claims.get(name).map(seconds);
        let (expires, issued) = (time("exp").flatten(), time("iat").flatten());
        let (Some(expires), Some(issued)) = (expires, issued) else {
            return Err(IdTokenFault::Malformed);
        };
        if expires.saturating_add(CLOCKS_DIFFER_S) <= self.unix_s {
            return Err(IdTokenFault::Expired);
        }
        let latest = self.unix_s.saturating_add(CLOCKS_DIFFER_S);
        let begins = match time("nbf") {
            None => 0,
            Some(begins) => begins.ok_or(IdTokenFault::Malformed)?,
        };
        if issued > latest || begins > latest {
            return Err(IdTokenFault::NotYet);
        }
        Ok(())
    }

    /// Refuses what is not for us, or for others too without having been made for us.
    fn check_audience(self, claims: &PersonClaims) -> Result<(), IdTokenFault> {
        let is_for_us = |it: &Value| it.as_str() == Some(self.client_id);
        let is_for_us_alone = match claims.get("aud") {
            Some(Value::Array(all)) if all.iter().any(is_for_us) => all.len() == 1,
            Some(one) if is_for_us(one) => true,
            _ => return Err(IdTokenFault::Audience),
        };
        match claims.get("azp") {
            Some(party) if is_for_us(party) => Ok(()),
            None if is_for_us_alone => Ok(()),
            _ => Err(IdTokenFault::Audience),
        }
    }
}

/// Whole seconds of a number; none of what is no time.
fn seconds(value: &Value) -> Option<u64> {
    let whole = |it: f64| it.is_finite() && it >= 0.0;
    value.as_u64().or_else(|| value.as_f64().filter(|it| whole(*it)).map(whole_seconds))
}

#[expect(clippy::cast_sign_loss, reason = "it is finite and not negative")]
fn whole_seconds(seconds: f64) -> u64 {
    seconds as u64
}
