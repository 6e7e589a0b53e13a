//! The API's routes and what they share.
//!
//! Every route is described for OpenAPI beside its handler, so none can be there undescribed. A
//! handler reads words, asks the ledger or [`ProgramControl`] on a thread that may block, and
//! shapes JSON. Mounted by [`crate::Admin`] behind the guard.

mod audit;
pub(crate) mod audited;
mod bypass;
pub(crate) mod changes;
mod clients;
mod configuration;
pub(crate) mod counts;
mod first_run;
mod fleet;
pub(crate) mod health;
pub(crate) mod list_changes;
mod live_rows;
mod me;
mod notes;
mod origins;
pub(crate) mod overrides;
mod pages;
pub(crate) mod pools;
pub(crate) mod profiles;
mod replay;
mod request_export;
mod requests;
pub(crate) mod session;
mod sessions;
mod settings;
mod sign_on;
pub(crate) mod state;
mod statistics;
mod stores;
mod tokens;
mod users;
pub(crate) mod why;

pub(crate) use crate::api_request::ApiRequest;
use crate::configuration::ConfigurationFiles;
use crate::control::ProgramControl;
use crate::first_run::FirstRunDesk;
use crate::gate::AuthGate;
use crate::one_time_tokens::OneTimeTokens;
use crate::refused::ApiRefusal;
use crate::sign_on_desk::SignOnDesk;
use http::StatusCode;
use ledger::Ledger;
use request_rows::LivePlaces;
use std::sync::Arc;
use tokio::sync::Semaphore;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vocab::Now;

/// Questions that are worked on at once; more wait. Each holds a thread and a store connection.
const QUESTIONS_MAX: usize = 4;

/// Holds what the handlers share.
pub(crate) struct ApiState {
    pub(crate) control: Arc<dyn ProgramControl>,
    pub(crate) configuration: Arc<dyn ConfigurationFiles>,
    pub(crate) first_run: Arc<dyn FirstRunDesk>,
    pub(crate) ledger: Ledger,
    pub(crate) gate: AuthGate,
    pub(crate) clock: fn() -> Now,
    pub(crate) once: OneTimeTokens,
    /// Single sign-on; none where it is not set.
    pub(crate) sign_on: Option<SignOnDesk>,
    /// Places for streams of live rows.
    pub(crate) live: LivePlaces,
    questions: Arc<Semaphore>,
}

impl ApiState {
    pub(crate) fn new(
        control: Arc<dyn ProgramControl>,
        configuration: Arc<dyn ConfigurationFiles>,
        first_run: Arc<dyn FirstRunDesk>,
        ledger: Ledger,
        gate: AuthGate,
        sign_on: Option<SignOnDesk>,
        clock: fn() -> Now,
    ) -> Self {
        let questions = Arc::new(Semaphore::new(QUESTIONS_MAX));
        let once = OneTimeTokens::default();
        let live = LivePlaces::default();
        Self {
            control,
            configuration,
            first_run,
            ledger,
            gate,
            clock,
            once,
            sign_on,
            live,
            questions,
        }
    }

    /// Runs what may block on a thread made for that.
    pub(crate) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, ApiRefusal> {
        let gone = || {
            ApiRefusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the question was not answered",
                "ask again; if it stays so, restart Tidegate and report it",
            )
        };
        let place = self.questions.clone().acquire_owned().await.map_err(|_| gone())?;
        let app = self.clone();
        let work = tokio::task::spawn_blocking(move || {
            let _place = place;
            question(&app)
        });
        work.await.map_err(|_| gone())
    }
}

/// The description's head.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Tidegate",
        description = "What a running Tidegate is doing, why, and the few things that can be \
                       changed while it runs. Errors are problem details (RFC 9457) with `error` \
                       and `remedy`."
    ),
    security(("token" = []), ("session" = [])),
    modifiers(&SecuritySchemes)
)]
struct OpenApiDocument;

struct SecuritySchemes;

impl Modify for SecuritySchemes {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{ApiKey, ApiKeyValue};
        let components = api.components.get_or_insert_default();
        let token = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The text of `admin.token` in the state folder, or an API token."))
            .build();
        components.add_security_scheme("token", SecurityScheme::Http(token));
        let cookie = ApiKeyValue::with_description(
            crate::admin_scheme::COOKIE_NAME,
            "Set by `POST /login`. Changes also need the dashboard's own origin.",
        );
        components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    }
}

/// The description as JSON: with examples, and with the media type of problem details where an
/// answer is one, since its macro knows one type for all.
pub(crate) fn described(description: &utoipa::openapi::OpenApi) -> String {
    let mut text = serde_json::to_value(description).unwrap_or_default();
    let methods = text["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    let operations = methods.filter_map(|it| it.as_object_mut()).flat_map(|it| it.values_mut());
    for operation in operations {
        let Some(responses) = operation["responses"].as_object_mut() else { continue };
        for (_, response) in
            responses.iter_mut().filter(|(status, _)| status.starts_with(['4', '5']))
        {
            let Some(content) = response["content"].as_object_mut() else { continue };
            if let Some(body) = content.remove("application/json") {
                content.insert("application/problem+json".into(), body);
            }
        }
    }
    // What has no word in their table has no example, which a test tells.
    api_examples::add_examples(&mut text);
    text.to_string()
}

/// Routes that need the token or a session.
pub(crate) fn guarded() -> OpenApiRouter<Arc<ApiState>> {
    OpenApiRouter::with_openapi(OpenApiDocument::openapi())
        .routes(routes!(state::status))
        .routes(routes!(counts::totals))
        .routes(routes!(counts::series))
        .routes(routes!(counts::top))
        .routes(routes!(statistics::statistics))
        .routes(routes!(requests::requests))
        .routes(routes!(changes::clear_requests))
        .routes(routes!(live_rows::live))
        .routes(routes!(requests::request))
        .routes(routes!(requests::inspected))
        .routes(routes!(notes::notes))
        .routes(routes!(why::why))
        .routes(routes!(state::lists))
        .routes(routes!(state::overlaps))
        .routes(routes!(state::upstreams))
        .routes(routes!(state::caches))
        .routes(routes!(origins::origins))
        .routes(routes!(pools::pools))
        .routes(routes!(pools::change_pool))
        .routes(routes!(pools::replace_servers))
        .routes(routes!(state::trust))
        .routes(routes!(clients::clients))
        .routes(routes!(clients::activity))
        .routes(routes!(bypass::bypass))
        .routes(routes!(fleet::edges))
        .routes(routes!(fleet::revisions))
        .routes(routes!(fleet::statistics))
        .routes(routes!(fleet::why))
        .routes(routes!(fleet::requests))
        .routes(routes!(pages::pages))
        .routes(routes!(profiles::profiles, profiles::set_profile))
        .routes(routes!(profiles::remove_profile))
        .routes(routes!(profiles::set_group))
        .routes(routes!(profiles::remove_group))
        .routes(routes!(state::openapi))
        .routes(routes!(changes::reload))
        .routes(routes!(settings::config))
        .routes(routes!(settings::setting))
        .routes(routes!(settings::change_settings))
        .merge(configuration::routes())
        .merge(people())
        .merge(first_run::routes())
        .routes(routes!(changes::update_lists))
        .routes(routes!(changes::pause))
        .routes(routes!(changes::resume))
        .routes(routes!(changes::purge))
        .routes(routes!(stores::stores))
        .routes(routes!(stores::cache_index))
        .routes(routes!(stores::purge_stores))
        .routes(routes!(overrides::allow))
        .routes(routes!(overrides::allows))
        .routes(routes!(list_changes::add_list))
        .routes(routes!(list_changes::remove_list))
        .routes(routes!(list_changes::switch_list))
        .routes(routes!(list_changes::own_rules, list_changes::set_own_rules))
        .routes(routes!(list_changes::check_rules))
        .routes(routes!(overrides::revoke))
        .routes(routes!(overrides::block))
        .routes(routes!(overrides::blocks))
        .routes(routes!(overrides::unblock))
        .routes(routes!(replay::replay))
}

/// Routes of people: the caller's own account, users, sessions, tokens, the audit log.
fn people() -> OpenApiRouter<Arc<ApiState>> {
    OpenApiRouter::new()
        .routes(routes!(me::me))
        .routes(routes!(me::change_password))
        .routes(routes!(me::begin_totp))
        .routes(routes!(me::confirm_totp))
        .routes(routes!(me::remove_totp))
        .routes(routes!(users::users, users::add_user))
        .routes(routes!(users::change_user))
        .routes(routes!(users::remove_user))
        .routes(routes!(sessions::sessions))
        .routes(routes!(sessions::end_session))
        .routes(routes!(tokens::tokens, tokens::make_token))
        .routes(routes!(tokens::remove_token))
        .routes(routes!(audit::audit))
}

/// Routes that anybody may call under a name of ours.
pub(crate) fn open() -> OpenApiRouter<Arc<ApiState>> {
    OpenApiRouter::new()
        .routes(routes!(session::sign_in_offer))
        .routes(routes!(session::login))
        .routes(routes!(session::logout))
        .routes(routes!(sign_on::begin))
        .routes(routes!(sign_on::finish))
        .routes(routes!(state::ca_pem))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        // It takes the metrics token besides.
        .routes(routes!(state::metrics))
}
