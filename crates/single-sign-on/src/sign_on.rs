//! A sign-in from its beginning to the person.

use crate::callback::CallbackQuery;
use crate::failure::{IdTokenFault, ProviderDocument, SignOnFailure, told};
use crate::id_token::{ExpectedClaims, UncheckedIdToken};
use crate::key_set::{KeptKeys, WantedKey};
use crate::person::SignedOnPerson;
use crate::provider::ProviderConfig;
use crate::provider_document::{KeptMetadata, ProviderMetadata};
use crate::token_request::{add_user_info, exchange_code};
use crate::transport::ProviderTransport;
use crate::waiting::WaitingSignOns;
use std::net::IpAddr;
use std::sync::Arc;
use url::Url;
use vocab::Now;

/// Single sign-on with one provider.
pub struct SingleSignOn {
    provider: ProviderConfig,
    transport: Arc<dyn ProviderTransport>,
    metadata: KeptMetadata,
    keys: KeptKeys,
    waiting: WaitingSignOns,
}

/// The beginning of a sign-in.
pub struct SignOnStart {
    /// Address at the provider that the browser goes to.
    pub location: String,
    /// Text for the cookie of the browser, which it alone has.
    pub browser: String,
}

impl SingleSignOn {
    /// Sign-on with this provider. Asks it nothing yet.
    pub fn new(provider: ProviderConfig, transport: Arc<dyn ProviderTransport>) -> Self {
        Self {
            provider,
            transport,
            metadata: KeptMetadata::default(),
            keys: KeptKeys::default(),
            waiting: WaitingSignOns::default(),
        }
    }

    /// Begins a sign-in. May ask the provider, and blocks its thread meanwhile.
    pub fn begin(&self, client: IpAddr, now: Now) -> Result<SignOnStart, SignOnFailure> {
        let metadata = self.metadata(now)?;
        let mut location = Url::parse(&metadata.authorization_endpoint).map_err(|why| {
            SignOnFailure::BadAnswer(ProviderDocument::Discovery, why.to_string())
        })?;
        let begun = self.waiting.begin(client, now)?;
        location
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.provider.client_id)
            .append_pair("redirect_uri", &self.provider.redirect_uri)
            .append_pair("scope", &self.provider.scopes.join(" "))
            .append_pair("state", &begun.state)
            .append_pair("nonce", &begun.nonce)
            .append_pair("code_challenge", &begun.challenge)
            .append_pair("code_challenge_method", "S256");
        Ok(SignOnStart { location: location.into(), browser: begun.browser })
    }

    /// The person whom a browser that comes back brings proof of. Asks the provider, and blocks its
    /// thread meanwhile.
    pub fn finish(
        &self,
        query: &CallbackQuery,
        browser: Option<&str>,
        now: Now,
    ) -> Result<SignedOnPerson, SignOnFailure> {
        let state = query.state.as_deref().unwrap_or_default();
        let waiting = self.waiting.take(state, browser, now)?;
        let metadata = self.metadata(now)?;
        metadata.check_issuer(query.issuer.as_deref())?;
        if let Some(error) = &query.error {
            return Err(SignOnFailure::Denied(told(error)));
        }
        let code = query.code.as_deref().filter(|it| !it.is_empty());
        let code = code.ok_or(SignOnFailure::NoCode)?;
        let transport = &*self.transport;
        let tokens =
            exchange_code(&self.provider, &metadata, transport, [code, &waiting.verifier])?;
        let token = UncheckedIdToken::read(&tokens.id_token)?;
        let wanted = WantedKey { id: token.key_id.as_deref(), algorithm: token.algorithm };
        let key = self.keys.find(wanted, &metadata.jwks_uri, transport, now)?;
        let expected = ExpectedClaims {
            issuer: &self.provider.issuer,
            client_id: &self.provider.client_id,
            nonce: &waiting.nonce,
            unix_s: now.unix_secs(),
        };
        let mut claims = token.check(&key.ok_or(IdTokenFault::UnknownKey)?, expected)?;
        let names = &self.provider.claims;
        let is_missing = |name: &String| !claims.contains_key(name);
        if is_missing(&names.name) || names.groups.as_ref().is_some_and(is_missing) {
            add_user_info(&mut claims, &metadata, &tokens, transport)?;
        }
        Ok(SignedOnPerson::read(&self.provider.issuer, &claims, names)?)
    }

    fn metadata(&self, now: Now) -> Result<Arc<ProviderMetadata>, SignOnFailure> {
        self.metadata.get(&self.provider.issuer, &*self.transport, now)
    }
}

#[cfg(test)]
mod tests;
