//! The code changed for tokens, and what the provider says of a person besides.

use crate::failure::{ProviderDocument, SignOnFailure, told};
use crate::person::{PersonClaims, subject};
use crate::provider::ProviderConfig;
use crate::provider_document::{ClientProof, ProviderMetadata, fetch};
use crate::transport::{ProviderRequest, ProviderTransport};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use url::form_urlencoded;

/// Tokens for a code.
#[derive(Deserialize)]
pub(crate) struct IssuedTokens {
    pub(crate) id_token: String,
    access_token: Option<String>,
}

/// Changes a code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.5).
pub(crate) fn exchange_code(
    provider: &ProviderConfig,
    metadata: &ProviderMetadata,
    transport: &dyn ProviderTransport,
    [code, verifier]: [&str; 2],
) -> Result<IssuedTokens, SignOnFailure> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "authorization_code")
        .append_pair("code", code)
        .append_pair("redirect_uri", &provider.redirect_uri)
        .append_pair("code_verifier", verifier);
    let secret = provider.client_secret.as_ref().map(|it| (it.reveal(), metadata.client_proof()));
    let authorization = match secret {
        Some((secret, ClientProof::Basic)) => Some(basic(&provider.client_id, secret)),
        Some((secret, ClientProof::Form)) => {
            form.append_pair("client_id", &provider.client_id).append_pair("client_secret", secret);
            None
        }
        None => {
            form.append_pair("client_id", &provider.client_id);
            None
        }
    };
    let url = metadata.token_endpoint.clone();
    let request = ProviderRequest { url, authorization, form: Some(form.finish()) };
    let body = fetch(transport, request, ProviderDocument::Tokens)?;
    serde_json::from_slice(&body)
        .map_err(|why| SignOnFailure::BadAnswer(ProviderDocument::Tokens, told(&why.to_string())))
}

/// Adds what the user info endpoint knows and the ID token does not say (OpenID Connect Core §5.3).
pub(crate) fn add_user_info(
    claims: &mut PersonClaims,
    metadata: &ProviderMetadata,
    tokens: &IssuedTokens,
    transport: &dyn ProviderTransport,
) -> Result<(), SignOnFailure> {
    let (Some(url), Some(token)) = (&metadata.userinfo_endpoint, &tokens.access_token) else {
        return Ok(());
    };
    let authorization = Some(format!("Bearer {token}"));
    let request = ProviderRequest { url: url.clone(), authorization, form: None };
    let body = fetch(transport, request, ProviderDocument::UserInfo)?;
    let info: PersonClaims = serde_json::from_slice(&body).map_err(|why| {
        SignOnFailure::BadAnswer(ProviderDocument::UserInfo, told(&why.to_string()))
    })?;
    if subject(&info).is_none() || subject(&info) != subject(claims) {
        return Err(SignOnFailure::OtherSubject);
    }
    for (name, value) in info {
        claims.entry(name).or_insert(value);
    }
    Ok(())
}

/// Name and secret in `Authorization`, each encoded as in a form first (RFC 6749 §2.3.1).
fn basic(client_id: &str, secret: &str) -> String {
    let encoded =
        |text: &str| -> String { form_urlencoded::byte_serialize(text.as_bytes()).collect() };
    let pair = format!("{}:{}", encoded(client_id), encoded(secret));
    format!("Basic {}", STANDARD.encode(pair))
}
