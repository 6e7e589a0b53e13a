//! The handle: rows are sent from its start until it is stopped, and asked back through it.

use crate::connection::DatabaseConnection;
use crate::database::EdgeFacts;
use crate::failure::DatabaseFailure;
use crate::figures::{RowFigures, SenderFigures};
use crate::question::{EdgeRow, MinutePoint, MinuteQuestion, ask_edges, ask_minutes};
use crate::sender::{RowSender, now_ms};
use crate::settings::RowSettings;
use crate::tls::DatabaseTls;
use ledger::Ledger;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use transport::ClientTls;

/// Time that a question may take: somebody looks at an empty page meanwhile.
const QUESTION_MAX: Duration = Duration::from_secs(10);

/// Parts of the program that the sender needs.
#[derive(Clone, Debug)]
pub struct RowWiring {
    /// Name of this edge.
    pub edge: String,
    /// Release of this program.
    pub version: &'static str,
    /// Start of this program, in milliseconds since 1970.
    pub started_ms: u64,
    /// The log that is followed.
    pub ledger: Ledger,
    /// TLS with the database, and the authorities that it trusts.
    pub tls: ClientTls,
}

/// Rows on their way to the database.
#[derive(Debug)]
pub struct FleetRows {
    settings: RowSettings,
    edge: String,
    tls: ClientTls,
    ledger: Ledger,
    figures: Arc<SenderFigures>,
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl FleetRows {
    /// Starts sending, on a thread of its own. Reaches for nothing itself: a database that is away
    /// is tried until it is there.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start(settings: &RowSettings, wiring: RowWiring) -> io::Result<Self> {
        let RowWiring { edge, version, started_ms, ledger, tls } = wiring;
        let figures = Arc::new(SenderFigures::default());
        let facts = EdgeFacts { edge: edge.clone(), version, started_ms, sample: settings.sample };
        let sender = RowSender {
            settings: settings.clone(),
            facts,
            tls: DatabaseTls(tls.clone()),
            ledger: ledger.clone(),
            figures: Arc::clone(&figures),
        };
        let (stop, stopped) = watch::channel(false);
        let runtime = one_thread()?;
        let thread = std::thread::Builder::new()
            .name("fleet-rows".into())
            .spawn(move || runtime.block_on(sender.run(stopped)))?;
        Ok(Self { settings: settings.clone(), edge, tls, ledger, figures, stop, thread })
    }

    /// `true` if these settings, under this name, are in force.
    pub fn follows(&self, settings: &RowSettings, edge: &str) -> bool {
        self.settings == *settings && self.edge == edge
    }

    /// Name of this edge.
    pub fn edge(&self) -> &str {
        &self.edge
    }

    /// The figures now.
    pub fn figures(&self) -> RowFigures {
        self.figures.read(*self.ledger.newest_row().borrow(), now_ms())
    }

    /// Ends the sender, within `patience`: what it has not sent is sent after the next start.
    pub fn stop(self, patience: Duration) {
        self.stop.send_replace(true);
        let due = Instant::now() + patience;
        while !self.thread.is_finished() && Instant::now() < due {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Asks the database, from threads that may wait for it.
    pub fn questions(&self) -> RowQuestions {
        RowQuestions { settings: self.settings.clone(), tls: DatabaseTls(self.tls.clone()) }
    }
}

/// Questions to the database. Each has a connection of its own for as long as it takes.
#[derive(Clone, Debug)]
pub struct RowQuestions {
    settings: RowSettings,
    tls: DatabaseTls,
}

impl RowQuestions {
    /// Every edge that the database knows. Blocks its thread.
    ///
    /// # Errors
    /// The database is away, or refuses.
    pub fn edges(&self) -> Result<Vec<EdgeRow>, DatabaseFailure> {
        self.ask(async |connection| ask_edges(&connection.client).await)
    }

    /// Requests over time, of all edges or one. Blocks its thread.
    ///
    /// # Errors
    /// The database is away, or refuses.
    pub fn minutes(&self, question: &MinuteQuestion) -> Result<Vec<MinutePoint>, DatabaseFailure> {
        self.ask(async |connection| ask_minutes(&connection.client, question).await)
    }

    fn ask<T>(
        &self,
        question: impl AsyncFnOnce(&DatabaseConnection) -> Result<T, DatabaseFailure>,
    ) -> Result<T, DatabaseFailure> {
        let runtime = one_thread().map_err(|why| DatabaseFailure::Lost(why.to_string()))?;
        runtime.block_on(async {
            let asked = async {
                let connection = DatabaseConnection::open(&self.settings, &self.tls).await?;
                question(&connection).await
            };
            tokio::time::timeout(QUESTION_MAX, asked).await.unwrap_or(Err(DatabaseFailure::Silent))
        })
    }
}

fn one_thread() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
