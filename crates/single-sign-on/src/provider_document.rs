//! A provider's description of itself (OpenID Connect Discovery §3), kept for an hour.

use crate::failure::{ProviderDocument, SignOnFailure, told};
use crate::provider::check_provider_url;
use crate::transport::{ProviderAnswer, ProviderRequest, ProviderTransport};
use serde::Deserialize;
use std::sync::{Arc, Mutex, PoisonError};
use vocab::Now;

/// Time for which a document is kept, in milliseconds.
const KEPT_MS: u64 = 60 * 60_000;
/// Time for which a provider is not asked again that gave none, in milliseconds: whoever has no
/// account may ask for a sign-in, and none of that is to become a flood.
const FAILURE_KEPT_MS: u64 = 5_000;

/// A provider, as it describes itself.
#[derive(Debug, Deserialize)]
pub(crate) struct ProviderMetadata {
    issuer: String,
    pub(crate) authorization_endpoint: String,
    pub(crate) token_endpoint: String,
    pub(crate) jwks_uri: String,
    #[serde(default)]
    pub(crate) userinfo_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// The document that is kept.
#[derive(Default)]
pub(crate) struct KeptMetadata(Mutex<Option<KeptAnswer>>);

struct KeptAnswer {
    outcome: Result<Arc<ProviderMetadata>, SignOnFailure>,
    until_ms: u64,
}

/// Way in which a client proves to the token endpoint who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientProof {
    /// In `Authorization`.
    Basic,
    /// In the form.
    Form,
}

impl KeptMetadata {
    /// The provider of this issuer, asked if that is due. Those who come meanwhile wait.
    pub(crate) fn get(
        &self,
        issuer: &str,
        transport: &dyn ProviderTransport,
        now: Now,
    ) -> Result<Arc<ProviderMetadata>, SignOnFailure> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_ref().filter(|it| it.until_ms > now.mono_ms) {
            return kept.outcome.clone();
        }
        let outcome = ProviderMetadata::fetch(issuer, transport).map(Arc::new);
        let life_ms = if outcome.is_ok() { KEPT_MS } else { FAILURE_KEPT_MS };
        *kept = Some(KeptAnswer { outcome: outcome.clone(), until_ms: now.mono_ms + life_ms });
        outcome
    }
}

impl ProviderMetadata {
    fn fetch(issuer: &str, transport: &dyn ProviderTransport) -> Result<Self, SignOnFailure> {
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let request = ProviderRequest { url, authorization: None, form: None };
        let body = fetch(transport, request, ProviderDocument::Discovery)?;
        let bad = |why: String| SignOnFailure::BadAnswer(ProviderDocument::Discovery, why);
        let found: Self =
            serde_json::from_slice(&body).map_err(|why| bad(told(&why.to_string())))?;
        // Another issuer's endpoints would get our codes (OpenID Connect Discovery §4.3).
        if found.issuer != issuer {
            return Err(SignOnFailure::OtherIssuer(told(&found.issuer)));
        }
        let endpoints = [
            Some(&found.authorization_endpoint),
            Some(&found.token_endpoint),
            Some(&found.jwks_uri),
            found.userinfo_endpoint.as_ref(),
        ];
        for endpoint in endpoints.into_iter().flatten() {
            check_provider_url(endpoint)
                .map_err(|why| bad(format!("the endpoint {:?}: {why}", told(endpoint))))?;
        }
        Ok(found)
    }

    /// Returns whether an answer of this issuer is from whom was asked (RFC 9207 §2.4).
    pub(crate) fn check_issuer(&self, named: Option<&str>) -> Result<(), SignOnFailure> {
        match named {
            Some(named) if named == self.issuer => Ok(()),
            None if !self.authorization_response_iss_parameter_supported => Ok(()),
            _ => Err(SignOnFailure::MixedUp),
        }
    }

    /// The way that the provider takes; `Authorization` if it does not say.
    pub(crate) fn client_proof(&self) -> ClientProof {
        let ways = self.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
        let takes = |way: &str| ways.iter().any(|it| it == way);
        if takes("client_secret_post") && !takes("client_secret_basic") {
            ClientProof::Form
        } else {
            ClientProof::Basic
        }
    }
}

/// Asks for a document that is to come with 200.
pub(crate) fn fetch(
    transport: &dyn ProviderTransport,
    request: ProviderRequest,
    what: ProviderDocument,
) -> Result<Vec<u8>, SignOnFailure> {
    let answer = transport.send(request).map_err(|why| SignOnFailure::Unreachable(what, why))?;
    match answer {
        ProviderAnswer { status: 200, body } => Ok(body),
        ProviderAnswer { status, body } => Err(refusal(what, status, &body)),
    }
}

/// Why there is no document, in the provider's own word if it has one (RFC 6749 §5.2).
fn refusal(what: ProviderDocument, status: u16, body: &[u8]) -> SignOnFailure {
    #[derive(Deserialize)]
    struct ErrorAnswer {
        error: String,
    }
    match serde_json::from_slice::<ErrorAnswer>(body) {
        Ok(answer) => SignOnFailure::Refused(what, told(&answer.error)),
        Err(_) => SignOnFailure::Status(what, status),
    }
}
