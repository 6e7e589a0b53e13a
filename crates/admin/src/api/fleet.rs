//! The fleet: edges and requests over time as its database knows them, and its revisions as they
//! lie at the place of its bundles.
//!
//! Behind the guard. The database is asked by [`fleet_api::FleetTables`] and the place by
//! [`fleet_api::RevisionSource`], by few at a time: one that is away must not take the threads of
//! all other questions.

use super::counts::range;
use super::{ApiRequest, ApiState};
use crate::iso;
use crate::model::ApiProblem;
use crate::query::CheckedQuery;
use crate::refused::ApiRefusal;
use axum::Json;
use axum::extract::State;
use fleet_api::{
    FleetEdges, FleetRevisions, FleetSilence, FleetSpan, FleetStatistics, FleetStatisticsQuery,
    FleetTables,
};
use http::StatusCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Questions to the database at once; more wait.
const QUESTIONS_MAX: usize = 2;
static QUESTIONS: Semaphore = Semaphore::const_new(QUESTIONS_MAX);
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
        return Err(ApiRefusal::new(
            StatusCode::NOT_FOUND,
            "this machine looks for no bundles of a fleet",
            "set fleet.bundles and fleet.keys, and restart",
        ));
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

/// Asks the database on a thread that may wait for it.
async fn asked<T: Send + 'static>(
    app: &ApiState,
    question: impl FnOnce(&dyn FleetTables) -> Result<T, FleetSilence> + Send + 'static,
) -> Result<T, ApiRefusal> {
    let away = |why: String| {
        let remedy = "see that the database of fleet.rows runs and lets this machine in";
        ApiRefusal::new(StatusCode::SERVICE_UNAVAILABLE, why, remedy)
    };
    let Some(tables) = app.control.fleet_tables() else {
        return Err(ApiRefusal::new(
            StatusCode::NOT_FOUND,
            "the fleet has no database",
            "set fleet.rows.url, and reload",
        ));
    };
    let place = QUESTIONS.acquire().await.map_err(|why| away(why.to_string()))?;
    let answer = tokio::task::spawn_blocking(move || {
        let _place = place;
        question(&*tables)
    });
    answer.await.map_err(|why| away(why.to_string()))?.map_err(|why| away(why.to_string()))
}
