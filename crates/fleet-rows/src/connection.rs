//! One connection to PostgreSQL, with bounds of time on everything.

use crate::failure::DatabaseFailure;
use crate::tls::DatabaseTls;
use std::future::Future;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config};

/// Time in which a connection is made, for each address of the host.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Time that one step may take: a batch, a question.
const STEP_MAX: Duration = Duration::from_secs(30);
/// Bounds that the server itself keeps, so that nothing of ours holds a lock after us.
const SESSION: &str = "SET TIME ZONE 'UTC'; SET statement_timeout = '25s'; SET lock_timeout = '5s';
    SET idle_in_transaction_session_timeout = '30s'";

/// A connection; dropped, it is closed and what was under way is taken back.
pub(crate) struct DatabaseConnection {
    pub(crate) client: Client,
    driver: JoinHandle<()>,
}

impl Drop for DatabaseConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl DatabaseConnection {
    /// Connects within bounds.
    pub(crate) async fn open(config: &Config, tls: &DatabaseTls) -> Result<Self, DatabaseFailure> {
        let mut config = config.clone();
        config.application_name("tidegate").connect_timeout(CONNECT_MAX).tcp_user_timeout(STEP_MAX);
        in_time(async {
            let (client, connection) = config.connect(tls.clone()).await?;
            // How it ended is told to whoever waits for an answer.
            let driver = tokio::spawn(async move { drop(connection.await) });
            let opened = Self { client, driver };
            opened.client.batch_execute(SESSION).await?;
            Ok(opened)
        })
        .await
    }
}

/// Does a step in the time that one may take.
pub(crate) async fn in_time<T>(
    step: impl Future<Output = Result<T, DatabaseFailure>>,
) -> Result<T, DatabaseFailure> {
    tokio::time::timeout(STEP_MAX, step).await.unwrap_or(Err(DatabaseFailure::Silent))
}
