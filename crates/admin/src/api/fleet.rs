//! The fleet: edges and requests over time as its database knows them, its revisions as they lie at
//! the place of its bundles, and what all machines say.
//!
//! Behind the guard. The database is asked by [`fleet_api::FleetTables`], the place by
//! [`fleet_api::RevisionSource`] and the machines by [`FleetAsker`], by few at a time: one that is
//! away must not take the threads of all other questions. Who asked for rows of others is audited.

use super::audited::{AuditedDeed, DeedActor, record_deed};
use super::counts::range;
use super::why::question;
use super::{ApiRequest, ApiState};
use crate::caller::ApiCaller;
use crate::control::FleetAsker;
use crate::query::CheckedQuery;
use crate::refused::ApiRefusal;
use admin_api::{ApiProblem, WhyQuery};
use axum::Json;
use axum::extract::State;
use fleet_api::{
    FleetEdges, FleetRevisions, FleetSilence, FleetSpan, FleetStatistics, FleetStatisticsQuery,
    FleetTables, FleetWhy,
};
use http::StatusCode;
use request_rows::{FleetRequests, FleetRowsQuery, RowsQuery};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use vocab::iso;

/// Questions to the database at once; more wait.
const QUESTIONS_MAX: usize = 2;
static QUESTIONS: Semaphore = Semaphore::const_new(QUESTIONS_MAX);
/// Questions to all machines at once; more wait.
static MACHINES: Semaphore = Semaphore::const_new(QUESTIONS_MAX);
/// Readings of the place at once, which share what one has read; and time after which nobody waits
/// for them any more, as for a share of which the server is away.
static READINGS: Semaphore = Semaphore::const_new(QUESTIONS_MAX);
const READING_MAX: Duration = Duration::from_secs(8);

/// The edges of the fleet: their state, release, requests and rows that wait.
#[utoipa::path(get, path = "/api/fleet/edges", responses(
    (status = 200, body = FleetEdges),
    (status = 401, body = ApiProblem), (status = 404, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn edges(
    State(app): State<Arc<ApiState>>,
) -> Result<Json<FleetEdges>, ApiRefusal> {
    Ok(Json(asked(&app, |tables| tables.edges()).await?))
}

/// Requests of all edges or one over time.
#[utoipa::path(get, path = "/api/fleet/statistics", params(FleetStatisticsQuery), responses(
    (status = 200, body = FleetStatistics),
    (status = 400, body = ApiProblem), (status = 401, body = ApiProblem), (status = 404, body = ApiProblem),
    (status = 503, body = ApiProblem)
))]
pub(crate) async fn statistics(
    State(app): State<Arc<ApiState>>,
    request: ApiRequest,
    CheckedQuery(query): CheckedQuery<FleetStatisticsQuery>,
) -> Result<Json<FleetStatistics>, ApiRefusal> {
    let range = range(query.range.as_deref())?;
    let step = range.step_minutes();
    let last_step = request.now.unix_secs() / 60 / step * step;
    let span = FleetSpan {
        edge: query.edge,
        from_ms: (last_step + step).saturating_sub(range.minutes()) * 60_000,
        step_s: (step * 60) as u32,
        steps: (range.minutes() / step) as u32,
    };
    let asked_span = span.clone();
    let points = asked(&app, move |tables| tables.points(&asked_span)).await?;
    Ok(Json(FleetStatistics {
        range: range.as_str().into(),
        step_s: span.step_s,
        points: span.shown(&points, iso),
        edge: span.edge,
    }))
}

/// Revisions of the fleet, and its edges by what they have said and signed.
#[utoipa::path(get, path = "/api/fleet/revisions", responses(
    (status = 200, body = FleetRevisions),
    (status = 401, body = ApiProblem), (status = 404, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn revisions(
    State(app): State<Arc<ApiState>>,
    request: ApiRequest,
) -> Result<Json<FleetRevisions>, ApiRefusal> {
    let Some(source) = app.control.fleet_revisions() else {
        let remedy = "set fleet.bundles and fleet.keys, and restart";
        return Err(missing("this machine looks for no bundles of a fleet", remedy));
    };
    let now = request.now.unix_secs();
    let read = async {
        let place = READINGS.acquire().await.ok()?;
        let answer = tokio::task::spawn_blocking(move || {
            let _place = place;
            source.revisions(now)
        });
        answer.await.ok()
    };
    let read = tokio::time::timeout(READING_MAX, read).await.ok().flatten();
    read.map(Json).ok_or_else(|| {
        let remedy = "see that what fleet.bundles names is there and answers";
        let why = "the place of the bundles does not answer";
        ApiRefusal::new(StatusCode::SERVICE_UNAVAILABLE, why, remedy)
    })
}

/// The verdict of every machine of the fleet about a name or URL; waits for three seconds at most.
#[utoipa::path(get, path = "/api/fleet/why", params(WhyQuery), responses(
    (status = 200, body = FleetWhy), (status = 400, body = ApiProblem), (status = 401, body = ApiProblem),
    (status = 404, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn why(
    State(app): State<Arc<ApiState>>,
    caller: ApiCaller,
    CheckedQuery(query): CheckedQuery<WhyQuery>,
) -> Result<Json<FleetWhy>, ApiRefusal> {
    question(&query)?;
    asked_of_all(&app, move |fleet| fleet.why(&query, &caller.name)).await.map(Json)
}

/// Rows of the request logs of all machines of the fleet or one, newest first; waits for three
/// seconds at most.
#[utoipa::path(get, path = "/api/fleet/requests", params(RowsQuery, FleetRowsQuery), responses(
    (status = 200, body = FleetRequests), (status = 400, body = ApiProblem), (status = 401, body = ApiProblem),
    (status = 404, body = ApiProblem), (status = 503, body = ApiProblem)
))]
pub(crate) async fn requests(
    State(app): State<Arc<ApiState>>,
    request: ApiRequest,
    caller: ApiCaller,
    CheckedQuery(filter): CheckedQuery<RowsQuery>,
    CheckedQuery(wanted): CheckedQuery<FleetRowsQuery>,
) -> Result<Json<FleetRequests>, ApiRefusal> {
    filter.filter()?;
    if filter.after.is_some() {
        let (error, remedy) = ("after: rows are numbered by each machine", "ask with `from`");
        return Err(ApiRefusal::new(StatusCode::BAD_REQUEST, error, remedy));
    }
    let (body, who) = (wanted.told_with(&filter), caller.name.clone());
    let found = asked_of_all(&app, move |fleet| fleet.requests(&filter, &wanted, &who)).await;
    let action = "GET /api/fleet/requests".into();
    let deed = AuditedDeed { action, who: DeedActor::Known(&caller), body: Some(body) };
    record_deed(&app, request, deed, found.as_ref().map(|_| ())).await;
    found.map(Json)
}

async fn asked<T: Send + 'static>(
    app: &ApiState,
    question: impl FnOnce(&dyn FleetTables) -> Result<T, FleetSilence> + Send + 'static,
) -> Result<T, ApiRefusal> {
    let Some(tables) = app.control.fleet_tables() else {
        return Err(missing("the fleet has no database", "set fleet.rows.url, and reload"));
    };
    let remedy = "see that the database of fleet.rows runs and lets this machine in";
    awaited(&QUESTIONS, remedy, move || question(&*tables)).await
}

async fn asked_of_all<T: Send + 'static>(
    app: &ApiState,
    question: impl FnOnce(&dyn FleetAsker) -> Result<T, FleetSilence> + Send + 'static,
) -> Result<T, ApiRefusal> {
    let Some(asker) = app.control.fleet_asker() else {
        let remedy = "set fleet.live.questions and fleet.live.secret on each machine, and reload";
        return Err(missing("this machine asks no others", remedy));
    };
    let remedy = "see that the server of fleet.live runs and lets this machine in, and ask again";
    awaited(&MACHINES, remedy, move || question(&*asker)).await
}

fn missing(error: &str, remedy: &str) -> ApiRefusal {
    ApiRefusal::new(StatusCode::NOT_FOUND, error, remedy)
}

/// Waits for an answer on a thread that may wait.
async fn awaited<T: Send + 'static>(
    places: &'static Semaphore,
    remedy: &str,
    question: impl FnOnce() -> Result<T, FleetSilence> + Send + 'static,
) -> Result<T, ApiRefusal> {
    let away = |why: String| ApiRefusal::new(StatusCode::SERVICE_UNAVAILABLE, why, remedy);
    let place = places.acquire().await.map_err(|why| away(why.to_string()))?;
    let answer = tokio::task::spawn_blocking(move || {
        let _place = place;
        question()
    });
    answer.await.map_err(|why| away(why.to_string()))?.map_err(|why| away(why.to_string()))
}
