//! The provider's keys, kept for an hour and asked for again when one is missing.

use crate::failure::{ProviderDocument, SignOnFailure, told};
use crate::provider_document::fetch;
use crate::transport::{ProviderRequest, ProviderTransport};
use jsonwebtoken::Algorithm;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use serde::Deserialize;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};
use vocab::Now;

/// Time for which keys are kept, in milliseconds.
const KEPT_MS: u64 = 60 * 60_000;
/// Time between two questions for a key that is missing, in milliseconds.
const ASKED_AGAIN_MS: u64 = 60_000;
/// Keys that are looked at.
const KEYS_MAX: usize = 128;

/// Keys that are kept.
#[derive(Default)]
pub(crate) struct KeptKeys(Mutex<Option<KeySet>>);

struct KeySet {
    keys: Vec<Jwk>,
    asked_ms: u64,
}

/// A key that is looked for.
#[derive(Clone, Copy)]
pub(crate) struct WantedKey<'w> {
    pub(crate) id: Option<&'w str>,
    pub(crate) algorithm: Algorithm,
}

impl KeptKeys {
    /// The key, if the provider publishes it. Those who come meanwhile wait.
    pub(crate) fn find(
        &self,
        wanted: WantedKey<'_>,
        jwks_uri: &str,
        transport: &dyn ProviderTransport,
        now: Now,
    ) -> Result<Option<Jwk>, SignOnFailure> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let age_ms = |set: &KeySet| now.mono_ms.saturating_sub(set.asked_ms);
        if let Some(set) = kept.as_ref().filter(|it| age_ms(it) < KEPT_MS) {
            let found = set.find(wanted);
            if found.is_some() || age_ms(set) < ASKED_AGAIN_MS {
                return Ok(found.cloned());
            }
        }
        let set = KeySet { keys: fetch_keys(jwks_uri, transport)?, asked_ms: now.mono_ms };
        Ok(kept.insert(set).find(wanted).cloned())
    }
}

impl KeySet {
    /// The key of this identifier; the only one that fits where none is named.
    fn find(&self, wanted: WantedKey<'_>) -> Option<&Jwk> {
        let mut fitting = self.keys.iter().filter(|key| {
            let is_named = wanted.id.is_none_or(|id| key.common.key_id.as_deref() == Some(id));
            is_named && fits(key, wanted.algorithm)
        });
        let found = fitting.next()?;
        (fitting.next().is_none()).then_some(found)
    }
}

/// True for a key that signs by this algorithm: of its kind, and for nothing else.
fn fits(key: &Jwk, algorithm: Algorithm) -> bool {
    use Algorithm as A;
    let is_of_kind = match (&key.algorithm, algorithm) {
        (
            AlgorithmParameters::RSA(_),
            A::RS256 | A::RS384 | A::RS512 | A::PS256 | A::PS384 | A::PS512,
        ) => true,
        (AlgorithmParameters::EllipticCurve(key), A::ES256) => key.curve == EllipticCurve::P256,
        (AlgorithmParameters::EllipticCurve(key), A::ES384) => key.curve == EllipticCurve::P384,
        (AlgorithmParameters::OctetKeyPair(key), A::EdDSA) => key.curve == EllipticCurve::Ed25519,
        _ => false,
    };
    let is_for_it = key.common.key_algorithm.is_none_or(|it| it == algorithm.into());
    let signs = !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption));
    is_of_kind && is_for_it && signs
}

fn fetch_keys(url: &str, transport: &dyn ProviderTransport) -> Result<Vec<Jwk>, SignOnFailure> {
    #[derive(Deserialize)]
    struct SentKeys {
        keys: Vec<Value>,
    }
    let request = ProviderRequest { url: url.to_owned(), authorization: None, form: None };
    let body = fetch(transport, request, ProviderDocument::Keys)?;
    let sent: SentKeys = serde_json::from_slice(&body)
        .map_err(|why| SignOnFailure::BadAnswer(ProviderDocument::Keys, told(&why.to_string())))?;
    // Keys of a kind that nobody here knows stand beside others.
    Ok(sent
        .keys
        .into_iter()
        .take(KEYS_MAX)
        .filter_map(|key| serde_json::from_value(key).ok())
        .collect())
}
