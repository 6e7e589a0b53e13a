//! PostgreSQL as the sender sees it: joined, then given rows and minutes.
//!
//! How far an edge has come stands in its row of `tidegate.edges` and is moved in the transaction
//! that stores the rows: both are there or neither is, whatever ends this process, the connection
//! or the database. Called by [`crate::database`].

use crate::connection::{DatabaseConnection, in_time};

use crate::days::DAY_MS;
use crate::failure::DatabaseFailure;
use crate::row_form::{COLUMNS, RowForm, TYPES, moment};
use crate::row_step::{CopyWay, EdgeFacts, EdgePosition, RowStep, before};
use crate::schema::{self, KnownPartitions, SplitTable};
use crate::settings::RowSettings;
use crate::tls::DatabaseTls;
use ledger::{FollowPlace, MinuteCount};
use std::pin::pin;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio_postgres::Statement;
use tokio_postgres::binary_copy::BinaryCopyInWriter;

/// A joined PostgreSQL.
pub(crate) struct PostgresTables {
    connection: DatabaseConnection,
    partitions: KnownPartitions,
    facts: EdgeFacts,
    straight: Statement,
    aside: Statement,
    insert: Statement,
    advance: Statement,
    minutes: Statement,
    heartbeat: Statement,
}

impl PostgresTables {
    /// Connects, makes what is missing, and finds how far this edge has come.
    pub(crate) async fn join(
        config: &tokio_postgres::Config,
        tls: &DatabaseTls,
        facts: EdgeFacts,
    ) -> Result<(Self, EdgePosition), DatabaseFailure> {
        let mut connection = DatabaseConnection::open(config, tls).await?;
        in_time(schema::bring_about(&mut connection.client)).await?;
        in_time(async {
            let client = &connection.client;
            let (version, started) = (facts.version, moment(facts.started_ms));
            let sample = i32::try_from(facts.sample).unwrap_or(i32::MAX);
            let join = "INSERT INTO tidegate.edges (edge, version, started, seen, sample)
                VALUES ($1, $2, $3, now(), $4)
                ON CONFLICT (edge) DO UPDATE SET version = $2, started = $3, seen = now(), sample = $4
                RETURNING sequence, sequence_at, minute";
            let found = client.query_one(join, &[&facts.edge, &version, &started, &sample]).await?;
            let position = position(&found)?;
            client
                .batch_execute(
                    "CREATE TEMPORARY TABLE incoming_requests
                         (LIKE tidegate.requests INCLUDING DEFAULTS) ON COMMIT DELETE ROWS",
                )
                .await?;
            let copy = |table| format!("COPY {table} ({COLUMNS}) FROM STDIN (FORMAT binary)");
            let joined = Self {
                straight: client.prepare(&copy("tidegate.requests")).await?,
                aside: client.prepare(&copy("incoming_requests")).await?,
                insert: client.prepare(&insert()).await?,
                advance: client.prepare(ADVANCE).await?,
                minutes: client.prepare(MINUTES).await?,
                heartbeat: client.prepare(HEARTBEAT).await?,
                connection,
                partitions: KnownPartitions::default(),
                facts,
            };
            Ok((joined, position))
        })
        .await
    }

    /// Makes partitions ahead, and drops those past their time.
    pub(crate) async fn keep_partitions(
        &mut self,
        settings: &RowSettings,
        now_ms: u64,
    ) -> Result<(), DatabaseFailure> {
        let (client, known) = (&mut self.connection.client, &mut self.partitions);
        in_time(async {
            for (table, keep) in [
                (SplitTable::Requests, settings.keep.0.0),
                (SplitTable::Minutes, settings.keep_minutes.0.0),
            ] {
                let ahead = schema::moments_ahead(now_ms);
                schema::make_partitions(client, known, table, ahead).await?;
                schema::drop_partitions(client, known, table, before(now_ms, keep)).await?;
            }
            Ok(())
        })
        .await
    }

    /// Stores rows and moves on, or does neither.
    pub(crate) async fn store(&mut self, step: &RowStep<'_>) -> Result<(), DatabaseFailure> {
        in_time(async {
            let moments = step.rows.iter().map(|row| row.at_ms / DAY_MS * DAY_MS);
            let (client, known) = (&mut self.connection.client, &mut self.partitions);
            schema::make_partitions(client, known, SplitTable::Requests, moments).await?;
            let transaction = client.transaction().await?;
            if !step.rows.is_empty() {
                let copy = match step.way {
                    CopyWay::Straight => &self.straight,
                    CopyWay::Aside => &self.aside,
                };
                let sink = transaction.copy_in(copy).await?;
                let mut writer = pin!(BinaryCopyInWriter::new(sink, &TYPES));
                for row in step.rows {
                    let form = RowForm::of(row, &self.facts.edge, self.facts.sample);
                    writer.as_mut().write(&form.values()).await?;
                }
                writer.finish().await?;
                if step.way == CopyWay::Aside {
                    transaction.execute(&self.insert, &[]).await?;
                }
            }
            let at = (step.to.at_ms > 0).then(|| moment(step.to.at_ms));
            let (from, to) = (step.from.row.cast_signed(), step.to.row.cast_signed());
            let [dropped, waiting] = [step.dropped, step.waiting].map(u64::cast_signed);
            let edge = &self.facts.edge;
            let moved = transaction
                .execute(&self.advance, &[edge, &from, &to, &at, &dropped, &waiting])
                .await?;
            if moved != 1 {
                return Err(DatabaseFailure::Moved);
            }
            transaction.commit().await?;
            Ok(())
        })
        .await
    }

    /// Stores counts by the minute, each as the largest that was sent, and says that the edge is
    /// there: it has come to `minute`, and so many rows wait.
    pub(crate) async fn beat(
        &mut self,
        counts: &[MinuteCount],
        minute: u64,
        waiting: u64,
    ) -> Result<(), DatabaseFailure> {
        in_time(async {
            let moments = counts.iter().map(|count| count.minute * 60_000 / DAY_MS * DAY_MS);
            let (client, known) = (&mut self.connection.client, &mut self.partitions);
            schema::make_partitions(client, known, SplitTable::Minutes, moments).await?;
            let transaction = client.transaction().await?;
            let edge = &self.facts.edge;
            if !counts.is_empty() {
                let column = |of: fn(&MinuteCount) -> &'static str| -> Vec<&'static str> {
                    counts.iter().map(of).collect()
                };
                let minutes: Vec<SystemTime> =
                    counts.iter().map(|it| moment(it.minute * 60_000)).collect();
                let doors = column(|it| it.door.as_str());
                let actions = column(|it| it.action.as_str());
                let sources = column(|it| it.source.as_str());
                let requests: Vec<i64> = counts.iter().map(|it| it.count.cast_signed()).collect();
                transaction
                    .execute(
                        &self.minutes,
                        &[edge, &minutes, &doors, &actions, &sources, &requests],
                    )
                    .await?;
            }
            let (minute, waiting) = (minute.cast_signed(), waiting.cast_signed());
            transaction.execute(&self.heartbeat, &[edge, &minute, &waiting]).await?;
            transaction.commit().await?;
            Ok(())
        })
        .await
    }
}

/// Moves an edge on, if it is where it is thought to be.
const ADVANCE: &str = "UPDATE tidegate.edges
    SET sequence = $3, sequence_at = $4, dropped = dropped + $5, waiting = $6,
    seen = now()
    WHERE edge = $1 AND sequence = $2";

/// Counts by the minute only grow: sent twice, or in another order, the largest is right.
const MINUTES: &str = "INSERT INTO tidegate.minutes AS held
        (edge, minute, door, action, source, requests)
    SELECT $1, * FROM unnest($2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::bigint[])
    ON CONFLICT (minute, edge, door, action, source) DO UPDATE
    SET requests = excluded.requests WHERE held.requests < excluded.requests";

const HEARTBEAT: &str =
    "UPDATE tidegate.edges SET seen = now(), minute = $2, waiting = $3 WHERE edge = $1";

fn insert() -> String {
    format!(
        "INSERT INTO tidegate.requests ({COLUMNS}) SELECT {COLUMNS} FROM incoming_requests
         ON CONFLICT DO NOTHING"
    )
}

fn position(row: &tokio_postgres::Row) -> Result<EdgePosition, DatabaseFailure> {
    let at: Option<SystemTime> = row.try_get(1)?;
    let at_ms = at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let at_ms = at_ms.map_or(0, |it| u64::try_from(it.as_millis()).unwrap_or(0));
    let number = |column: usize| row.try_get::<_, i64>(column);
    Ok(EdgePosition {
        place: FollowPlace { row: number(0)?.max(0).cast_unsigned(), at_ms },
        minute: number(2)?.max(0).cast_unsigned(),
    })
}
