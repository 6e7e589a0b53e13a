//! Rows for the fleet's database: when they are sent, under which name, and what is told of them.
//!
//! Called by `build` once doors are open, by `reload`, before another process takes this one's
//! place, and at the end.

use super::RunningApp;
use super::fleet::edge_name;
use config::Plan;
use fleet_api::{
    FleetEdge, FleetEdges, FleetPart, FleetPoint, FleetSilence, FleetSpan, FleetTables,
    SILENT_SECONDS,
};
use fleet_rows::{
    DatabaseLink, EdgeRow, FleetRows, MinuteQuestion, RATE_MINUTES, RowFigures, RowQuestions,
    RowSettings, RowWiring,
};
use origins::Dialer;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use vocab::iso;

/// Time that a batch under way may take to be given up.
const END_MAX: Duration = Duration::from_secs(2);

/// The rows that are sent, if any are.
#[derive(Debug, Default)]
pub(super) struct SentRows(Mutex<Option<FleetRows>>);

impl SentRows {
    fn lock(&self) -> MutexGuard<'_, Option<FleetRows>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningApp {
    /// Sends rows as this plan says from now on.
    pub(super) fn send_rows(&self, plan: &Plan) {
        let fleet = plan.file.fleet.as_ref();
        let wanted = fleet.and_then(|fleet| Some((fleet.rows.as_ref()?, edge_name(fleet))));
        let mut sent = self.sent_rows.lock();
        let Some((settings, edge)) = wanted else {
            return end(sent.take());
        };
        if sent.as_ref().is_some_and(|rows| rows.follows(settings, &edge)) {
            return;
        }
        end(sent.take());
        match self.begin_rows(plan, settings, edge) {
            Ok(rows) => *sent = Some(rows),
            Err(why) => self.note_problem(format!("fleet.rows: no rows are sent: {why}")),
        }
    }

    fn begin_rows(
        &self,
        plan: &Plan,
        settings: &RowSettings,
        edge: String,
    ) -> io::Result<FleetRows> {
        let tls = match &settings.ca {
            None => self.tls.clone(),
            Some(ca) => {
                let file = plan.base(self.state.path()).join(ca);
                let told = |why| io::Error::other(format!("{}: {why}", file.display()));
                self.tls.trusting_file(&file).map_err(told)?
            }
        };
        let wiring = RowWiring {
            edge,
            version: env!("CARGO_PKG_VERSION"),
            started_ms: self.started.unix_ms,
            ledger: self.ledger.clone(),
            dialer: Dialer::new(self.resolver.clone(), tls.clone()),
            tls,
        };
        FleetRows::start(settings, wiring)
    }

    /// Sends no more rows: what waits is sent by whoever comes next.
    pub(super) fn end_rows(&self) {
        end(self.sent_rows.lock().take());
    }

    /// The figures of the rows that are sent; none where none are.
    pub(super) fn row_figures(&self) -> Option<RowFigures> {
        self.sent_rows.lock().as_ref().map(FleetRows::figures)
    }

    /// Name of this machine in its fleet; none where it sends no rows and looks for no bundles.
    pub(super) fn fleet_name(&self) -> Option<String> {
        let sent = self.sent_rows.lock().as_ref().map(|rows| rows.edge().to_owned());
        sent.or_else(|| Some(self.fleet_drain.view()?.name().to_string()))
    }

    /// Parts of the fleet of which the API tells.
    pub(super) fn fleet_parts(&self) -> Vec<FleetPart> {
        let bundles = self.fleet_drain.view().map(|_| FleetPart::Bundles);
        let rows = self.sent_rows.lock().as_ref().map(|_| FleetPart::Rows);
        bundles.into_iter().chain(rows).collect()
    }

    /// The fleet's database for questions; none where there is none.
    pub(super) fn fleet_tables(&self) -> Option<Box<dyn FleetTables>> {
        let sent = self.sent_rows.lock();
        let rows = sent.as_ref()?;
        let tables = RowTables { own: rows.edge().to_owned(), questions: rows.questions() };
        Some(Box::new(tables))
    }

    /// Why no rows get to the database, if they do not.
    pub(super) fn row_trouble(&self) -> Option<String> {
        let figures = self.row_figures()?;
        let why = figures.trouble.filter(|_| figures.link == DatabaseLink::Down)?;
        Some(format!("fleet.rows: {why}; {} rows wait in the request log", figures.waiting))
    }
}

/// The fleet's tables as the API asks for them.
struct RowTables {
    own: String,
    questions: RowQuestions,
}

impl FleetTables for RowTables {
    fn edges(&self) -> Result<FleetEdges, FleetSilence> {
        let edges = self.questions.edges().map_err(|why| FleetSilence(why.to_string()))?;
        Ok(FleetEdges {
            own: self.own.clone(),
            rate_minutes: RATE_MINUTES,
            edges: edges.into_iter().map(shown_edge).collect(),
        })
    }

    fn points(&self, span: &FleetSpan) -> Result<Vec<FleetPoint>, FleetSilence> {
        let length_ms = u64::from(span.step_s) * u64::from(span.steps) * 1000;
        let question = MinuteQuestion {
            edge: span.edge.clone(),
            from_ms: span.from_ms,
            to_ms: span.from_ms + length_ms,
            step_s: span.step_s,
        };
        let points = self.questions.minutes(&question);
        let points = points.map_err(|why| FleetSilence(why.to_string()))?.into_iter();
        Ok(points
            .map(|it| FleetPoint { at_ms: it.at_ms, passed: it.passed, blocked: it.blocked })
            .collect())
    }
}

fn shown_edge(row: EdgeRow) -> FleetEdge {
    let silent_s = row.silent_ms / 1000;
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    FleetEdge {
        state: if silent_s < SILENT_SECONDS { "up" } else { "silent" }.into(),
        started: iso(row.started_ms),
        seen: iso(row.seen_ms),
        silent_s,
        last_minute: row.minute_ms.map(iso),
        per_minute: row.requests as f64 / f64::from(RATE_MINUTES),
        blocked_share: share(row.blocked, row.requests),
        edge: row.edge,
        version: row.version,
        sample: row.sample,
        waiting: row.waiting,
        dropped: row.dropped,
    }
}

fn end(rows: Option<FleetRows>) {
    if let Some(rows) = rows {
        rows.stop(END_MAX);
    }
}
