//! The handle: rows are sent from its start until it is stopped, and asked back through it.

use crate::clickhouse_client::ClickHouseClient;
use crate::clickhouse_questions;
use crate::connection::DatabaseConnection;
use crate::database::DatabaseWays;
use crate::failure::DatabaseFailure;
use crate::figures::{RowFigures, SenderFigures};
use crate::question::{EdgeRow, MinutePoint, MinuteQuestion, ask_edges, ask_minutes};
use crate::row_step::EdgeFacts;
use crate::sender::{RowSender, now_ms};
use crate::settings::RowSettings;
use crate::target::RowTarget;
use crate::tls::DatabaseTls;
use ledger::Ledger;
use origins::Dialer;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::watch;
use transport::ClientTls;

/// Time that a question may take: somebody looks at an empty page meanwhile.
const QUESTION_MAX: Duration = Duration::from_secs(10);

/// Parts of the program that the sender needs.
#[derive(Clone)]
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
    /// Connections that are made over that.
    pub dialer: Dialer,
}

/// Rows on their way to the database.
#[derive(Debug)]
pub struct FleetRows {
    settings: RowSettings,
    edge: String,
    ways: DatabaseWays,
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
        let RowWiring { edge, version, started_ms, ledger, tls, dialer } = wiring;
        let ways = DatabaseWays { tls: DatabaseTls(tls), dialer };
        let figures = Arc::new(SenderFigures::default());
        let facts = EdgeFacts { edge: edge.clone(), version, started_ms, sample: settings.sample };
        let sender = RowSender {
            settings: settings.clone(),
            facts,
            ways: ways.clone(),
            ledger: ledger.clone(),
            figures: Arc::clone(&figures),
        };
        let (stop, stopped) = watch::channel(false);
        let thread =
            std::thread::Builder::new().name("fleet-rows".into()).spawn(
                move || match one_thread() {
                    Ok(runtime) => runtime.block_on(sender.run(stopped)),
                    Err(why) => log::error!(target: "logs", "fleet.rows: nothing is sent: {why}"),
                },
            )?;
        Ok(Self { settings: settings.clone(), edge, ways, ledger, figures, stop, thread })
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
        RowQuestions { settings: self.settings.clone(), ways: self.ways.clone() }
    }
}

/// Questions to the database. Each has a connection of its own for as long as it takes.
#[derive(Clone, Debug)]
pub struct RowQuestions {
    settings: RowSettings,
    ways: DatabaseWays,
}

impl RowQuestions {
    /// Every edge that the database knows. Blocks its thread.
    ///
    /// # Errors
    /// The database is away, or refuses.
    pub fn edges(&self) -> Result<Vec<EdgeRow>, DatabaseFailure> {
        self.ask(async |database| match database {
            AskedDatabase::Postgres(it) => ask_edges(&it.client).await,
            AskedDatabase::ClickHouse(it) => clickhouse_questions::ask_edges(it).await,
        })
    }

    /// Requests over time, of all edges or one. Blocks its thread.
    ///
    /// # Errors
    /// The database is away, or refuses.
    pub fn minutes(&self, question: &MinuteQuestion) -> Result<Vec<MinutePoint>, DatabaseFailure> {
        self.ask(async |database| match database {
            AskedDatabase::Postgres(it) => ask_minutes(&it.client, question).await,
            AskedDatabase::ClickHouse(it) => clickhouse_questions::ask_minutes(it, question).await,
        })
    }

    fn ask<T>(
        &self,
        question: impl AsyncFnOnce(&AskedDatabase) -> Result<T, DatabaseFailure>,
    ) -> Result<T, DatabaseFailure> {
        let runtime = one_thread().map_err(|why| DatabaseFailure::Lost(why.to_string()))?;
        runtime.block_on(async {
            let asked = async {
                let database = AskedDatabase::open(&self.settings, &self.ways).await?;
                question(&database).await
            };
            tokio::time::timeout(QUESTION_MAX, asked).await.unwrap_or(Err(DatabaseFailure::Silent))
        })
    }
}

/// A database that is asked.
enum AskedDatabase {
    Postgres(DatabaseConnection),
    ClickHouse(ClickHouseClient),
}

impl AskedDatabase {
    async fn open(settings: &RowSettings, ways: &DatabaseWays) -> Result<Self, DatabaseFailure> {
        match settings.target().map_err(|why| DatabaseFailure::Refused(why.to_string()))? {
            RowTarget::Postgres(config) => {
                DatabaseConnection::open(&config, &ways.tls).await.map(Self::Postgres)
            }
            RowTarget::ClickHouse(address) => {
                ClickHouseClient::new(&address, ways.dialer.clone()).map(Self::ClickHouse)
            }
        }
    }
}

fn one_thread() -> io::Result<LocalRuntime> {
    Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
}
