//! The desk of single sign-on: what the routes share.
//!
//! A few wait for the provider at once, and no more. Made with the admin; called by the routes.

use crate::refused::ApiRefusal;
use accounts::UserRole;
use admin_api::SignOnOffer;
use http::StatusCode;
use single_sign_on::{
    CallbackQuery, ProviderTransport, SignOnFailure, SignOnSettings, SignOnStart, SignedOnPerson,
    SingleSignOn,
};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::Semaphore;
use vocab::Now;

/// Path that begins a sign-in.
pub(crate) const SIGN_ON_PATH: &str = "/login/oidc";
/// Sign-ins that ask the provider at once; more are refused, since each holds a thread for as long
/// as the provider takes.
const TURNS_MAX: usize = 4;

/// The desk of single sign-on.
pub(crate) struct SignOnDesk {
    settings: SignOnSettings,
    /// Where browsers call us: `https://tide.example`.
    pub(crate) public_origin: String,
    service: Arc<SingleSignOn>,
    turns: Arc<Semaphore>,
}

impl SignOnDesk {
    /// The desk of these settings, with a way to their provider.
    pub(crate) fn new(settings: &SignOnSettings, provider: Arc<dyn ProviderTransport>) -> Self {
        Self {
            settings: settings.clone(),
            public_origin: settings.public_origin(),
            service: Arc::new(SingleSignOn::new(settings.provider(), provider)),
            turns: Arc::new(Semaphore::new(TURNS_MAX)),
        }
    }

    /// Offer of the sign-in page.
    pub(crate) fn offer(&self) -> SignOnOffer {
        SignOnOffer { name: self.settings.name.clone(), path: SIGN_ON_PATH.into() }
    }

    /// The role of a person; none for who is not to be let in.
    pub(crate) fn role_of(&self, person: &SignedOnPerson) -> Option<UserRole> {
        self.settings.role_of(&person.groups)
    }

    /// Begins a sign-in.
    pub(crate) async fn begin(&self, client: IpAddr, now: Now) -> Result<SignOnStart, ApiRefusal> {
        self.ask(move |service| service.begin(client, now)).await
    }

    /// The person whom a browser brings proof of.
    pub(crate) async fn finish(
        &self,
        query: CallbackQuery,
        browser: Option<String>,
        now: Now,
    ) -> Result<SignedOnPerson, ApiRefusal> {
        self.ask(move |service| service.finish(&query, browser.as_deref(), now)).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&SingleSignOn) -> Result<T, SignOnFailure> + Send + 'static,
    ) -> Result<T, ApiRefusal> {
        let busy = |_| {
            ApiRefusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many wait for the provider of single sign-on",
                "wait for some seconds, then try again",
            )
        };
        let turn = Arc::clone(&self.turns).try_acquire_owned().map_err(busy)?;
        let service = Arc::clone(&self.service);
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            question(&service)
        });
        let answered = work.await.map_err(|_| {
            ApiRefusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the sign-in was not looked at",
                "try again; if it stays so, restart Tidegate and report it",
            )
        })?;
        Ok(answered?)
    }
}

impl From<SignOnFailure> for ApiRefusal {
    fn from(failure: SignOnFailure) -> Self {
        use SignOnFailure as F;
        let (status, remedy) = match &failure {
            F::Unreachable(..) | F::Status(..) => (
                StatusCode::BAD_GATEWAY,
                "look whether the provider runs, and at `issuer` and `ca` of admin.single_sign_on",
            ),
            F::Refused(..) => (
                StatusCode::BAD_GATEWAY,
                "compare `client_id`, `client_secret` and the redirect URI with the provider's",
            ),
            F::BadAnswer(..) | F::OtherSubject => {
                (StatusCode::BAD_GATEWAY, "look at the provider's log and version")
            }
            F::OtherIssuer(_) => {
                (StatusCode::BAD_GATEWAY, "write `issuer` exactly as the provider does")
            }
            F::UnknownState | F::OtherBrowser | F::NoCode => {
                (StatusCode::BAD_REQUEST, "begin the sign-in again, in this browser")
            }
            F::MixedUp => (
                StatusCode::BAD_REQUEST,
                "begin again; if it stays so, somebody may lead browsers astray",
            ),
            F::Denied(_) => (StatusCode::FORBIDDEN, "ask whoever runs the provider"),
            F::IdToken(_) => (
                StatusCode::UNAUTHORIZED,
                "look at the clocks of both, and at the keys and the client of the provider",
            ),
            F::NoRandomness => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "look at the system's random number generator, then try again",
            ),
        };
        Self::new(status, failure.to_string(), remedy)
    }
}
