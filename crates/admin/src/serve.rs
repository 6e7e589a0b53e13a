//! The admin's routes put together, and connections served.
//!
//! Requests come through [`http_engine::serve`], so they are bounded like at every door. The binary
//! makes one [`Admin`], listens, and hands connections over.

use crate::admin_scheme::AdminScheme;
use crate::api::audited::CHANGE_BYTES_MAX;
use crate::api::state::ApiText;
use crate::api::{self, ApiRequest, ApiState};
use crate::assets;
use crate::configuration::ConfigurationFiles;
use crate::control::ProgramControl;
use crate::credentials::CredentialStore;
use crate::first_run::FirstRunDesk;
use crate::gate::{AuthGate, OwnNames};
use crate::guard::{self, ConnectionEnd, PeerInfo};
use crate::page;
use crate::refused::ApiRefusal;
use crate::setup::Settings;
use crate::sign_on_desk::SignOnDesk;
use crate::token::AdminToken;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{Method, StatusCode};
use http_engine::{Body, HttpVersions, Incoming, Limits, ServeError};
use ledger::Ledger;
use single_sign_on::{ProviderTransport, SignOnSettings};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tower_service::Service;
use vocab::Now;

/// Largest body of another request, in bytes; beyond it 413.
const BODY_BYTES_MAX: usize = 16 << 10;

/// Holds what the admin is made of.
pub struct AdminParts {
    /// The running program.
    pub control: Arc<dyn ProgramControl>,
    /// The configuration's files.
    pub configuration: Arc<dyn ConfigurationFiles>,
    /// The first run, and changes that wait for confirmation.
    pub first_run: Arc<dyn FirstRunDesk>,
    /// The ledger.
    pub ledger: Ledger,
    /// The token.
    pub token: AdminToken,
    /// The token that opens the metrics page alone.
    pub metrics_token: AdminToken,
    /// The state folder, which keeps sessions over restarts.
    pub state_dir: PathBuf,
    /// The way to the provider of single sign-on; none where it is not set.
    pub provider: Option<Arc<dyn ProviderTransport>>,
    /// Where the time comes from: once a request.
    pub clock: fn() -> Now,
}

/// The admin API and the dashboard. Clones share everything.
#[derive(Clone)]
pub struct Admin {
    router: Router,
    app: Arc<ApiState>,
    /// The metrics page and health, for the listener that has nothing else.
    scraped: Router,
    /// Protocol of the connections that are served.
    scheme: AdminScheme,
    /// Listener that they came to.
    listener: Option<SocketAddr>,
}

impl Admin {
    /// Puts the routes together. Files of the state folder that cannot be understood are told of.
    pub fn new(settings: &Settings, parts: AdminParts) -> (Self, Vec<String>) {
        let sign_on = settings.single_sign_on.as_ref();
        let now = (parts.clock)();
        let (credentials, troubles) =
            CredentialStore::open(&parts.state_dir, parts.token, parts.metrics_token, now);
        let gate = AuthGate::new(credentials, own_names(&[settings]));
        let desk = sign_on.zip(parts.provider).map(|(it, provider)| SignOnDesk::new(it, provider));
        let AdminParts { control, configuration, first_run, ledger, clock, .. } = parts;
        let app = ApiState::new(control, configuration, first_run, ledger, gate, desk, clock);
        let app = Arc::new(app);
        let (guarded, mut description) = api::guarded().split_for_parts();
        let (open, open_description) = api::open().split_for_parts();
        description.merge(open_description);
        let text = ApiText(api::described(&description).into());
        let guarded = guarded
            .layer(axum::Extension(text))
            .layer(DefaultBodyLimit::max(CHANGE_BYTES_MAX))
            .route_layer(from_fn_with_state(app.clone(), guard::inside));
        let scraped = Router::new()
            .route("/metrics", get(scrape))
            .route("/healthz", get(api::health::healthz))
            .route("/readyz", get(api::health::readyz))
            .layer(from_fn(guard::no_pages))
            .with_state(Arc::clone(&app));
        let router = guarded
            .merge(open)
            .route("/allow", get(page::show).post(page::act))
            .route("/allow.css", get(page::style))
            .fallback(other)
            .method_not_allowed_fallback(wrong_method)
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .layer(map_response(as_json))
            .layer(from_fn_with_state(app.clone(), guard::guard_request))
            .with_state(Arc::clone(&app));
        (Self { router, app, scraped, scheme: AdminScheme::Http, listener: None }, troubles)
    }

    /// Takes the addresses and names of these settings, those of all of them: while a change of
    /// them waits there are two.
    pub fn take_names(&self, settings: &[&Settings]) {
        self.app.gate.set_names(own_names(settings));
    }

    /// The same for connections to this listener.
    #[must_use]
    pub fn at_listener(self, address: SocketAddr) -> Self {
        Self { listener: Some(address), ..self }
    }

    /// The pages of `admin.metrics_listen`: the metrics page and health, without a token.
    #[must_use]
    pub fn for_scrapers(&self) -> Self {
        Self { router: self.scraped.clone(), ..self.clone() }
    }

    /// The same for connections over TLS, whose cookies and origins are those of `https`.
    #[must_use]
    pub fn for_https(&self) -> Self {
        Self { scheme: AdminScheme::Https, ..self.clone() }
    }

    /// Answers one request of a client.
    pub async fn answer<B>(&self, request: http::Request<B>, client: IpAddr) -> http::Response<Body>
    where
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(PeerInfo {
            address: client,
            scheme: self.scheme,
            listener: self.listener,
        });
        let answered: Result<_, Infallible> = self.router.clone().call(request).await;
        match answered {
            Ok(response) => response.map(Body::boxed),
            Err(never) => match never {},
        }
    }

    /// Serves one connection of a client until it closes or `stop` completes.
    pub async fn serve_connection(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        client: IpAddr,
        stop: impl Future<Output = ()> + Unpin,
    ) -> Result<(), ServeError> {
        // A stream of live rows would hold the connection open, and the program with it.
        let (open, ended) = watch::channel(());
        let stop = pin!(async move {
            stop.await;
            drop(open);
        });
        let answer = move |mut request: http::Request<Incoming>| {
            request.extensions_mut().insert(ConnectionEnd(ended.clone()));
            let admin = self.clone();
            async move { admin.answer(request, client).await }
        };
        http_engine::serve(stream, HttpVersions::Http1, Limits::default(), stop, answer).await
    }
}

/// Addresses and names that browsers may call us by.
fn own_names(all: &[&Settings]) -> OwnNames {
    let mut names = OwnNames::default();
    for settings in all {
        let https = settings.https.as_ref();
        let secured = https.into_iter().flat_map(|https| &https.names);
        let public = settings.single_sign_on.as_ref().and_then(SignOnSettings::public_name);
        let listed = settings.hosts.iter().chain(secured).map(|host| host.0.clone());
        names.hosts.extend(listed.chain(public));
        let secured = https.map(|https| https.listen.ip());
        names.listening.extend(std::iter::once(settings.listen.ip()).chain(secured));
    }
    names
}

/// Everything that is no route: the dashboard's files, and logging in by address.
async fn other(State(app): State<Arc<ApiState>>, asked: ApiRequest, request: Request) -> Response {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return wrong_method().await.into_response();
    }
    let (uri, headers) = (request.uri(), request.headers());
    if uri.path() == "/"
        && let Some(query) = uri.query()
        && let Some(response) = api::session::by_address(&app, query, headers, asked).await
    {
        return response;
    }
    assets::answer(uri, headers)
}

/// The metrics page, for whoever reaches the listener that has nothing else.
async fn scrape(State(app): State<Arc<ApiState>>) -> Result<Response, ApiRefusal> {
    api::state::page(&app).await
}

async fn wrong_method() -> ApiRefusal {
    ApiRefusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this path does not take this method",
        "see /api/openapi.json",
    )
}

/// Refusals of axum's own (a body over its limit) as JSON like all others.
async fn as_json(response: Response) -> Response {
    let status = response.status();
    if status != StatusCode::PAYLOAD_TOO_LARGE {
        return response;
    }
    let remedy = format!(
        "send at most {CHANGE_BYTES_MAX} bytes, and {BODY_BYTES_MAX} without being signed in"
    );
    ApiRefusal::new(status, "the body is too large", remedy).into_response()
}

#[cfg(test)]
mod account_tests;
#[cfg(test)]
mod configuration_tests;
#[cfg(test)]
mod described;
#[cfg(test)]
mod files_house;
#[cfg(test)]
mod first_run_tests;
#[cfg(test)]
mod fleet_tests;
#[cfg(test)]
mod health_tests;
#[cfg(test)]
mod house;
#[cfg(test)]
mod live_tests;
#[cfg(test)]
mod order_tests;
#[cfg(test)]
mod override_tests;
#[cfg(test)]
mod pool_tests;
#[cfg(test)]
mod radar_tests;
#[cfg(test)]
mod row_tests;
#[cfg(test)]
mod settings_tests;
#[cfg(test)]
mod sign_on_tests;
#[cfg(test)]
mod statistics_tests;
#[cfg(test)]
mod tests;
