//! Single sign-on by OpenID Connect, as a relying party: the authorization code flow with PKCE,
//! state and nonce, discovery, and ID tokens that are checked by the provider's keys.
//!
//! It opens no connection and keeps no clock: whoever makes a [`SingleSignOn`] hands in a
//! [`ProviderTransport`], and the time comes with each call. It knows no user, only what the
//! provider says of a person, and which role the settings give to whom. What it calls may take
//! seconds: not for a core's own thread. Called by `admin`.

mod callback;
mod failure;
mod id_token;
mod key_set;
mod person;
mod provider;
mod provider_document;
mod random_text;
mod settings;
mod sign_on;
mod token_request;
mod transport;
mod waiting;

pub use self::settings::{GroupRoles, SignOnRole, SignOnSettings};
pub use callback::CallbackQuery;
pub use failure::{IdTokenFault, ProviderDocument, SignOnFailure};
pub use person::SignedOnPerson;
pub use provider::{BadProviderUrl, ClaimNames, ProviderConfig, check_provider_url};
pub use sign_on::{SignOnStart, SingleSignOn};
pub use transport::{
    ANSWER_BYTES_MAX, ANSWER_TIME_MAX, ProviderAnswer, ProviderRequest, ProviderTransport,
    ProviderUnreachable,
};
pub use waiting::SIGN_ON_SECONDS;
