//! Connections that need hyper while the clock is before 1970: hyper writes dates of its own, and
//! would panic over such a one.
//!
//! Requests that the fast path answers go on, and HTTP/2, with a date of 1970. Called where hyper
//! would begin.

use crate::limits::Limits;
use crate::serve_error::ServeError;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// The answer while the clock is before 1970. It has no `Date`, as there is none.
const NO_CLOCK: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 60\r\n\
    content-length: 0\r\nconnection: close\r\n\r\n";

/// Refuses what only hyper could serve, for it cannot without a date (RFC 9110 §6.6.1).
pub(crate) async fn refuse<I>(io: &mut I, limits: &Limits) -> Result<(), ServeError>
where
    I: AsyncWrite + Unpin,
{
    let refusal = async {
        io.write_all(NO_CLOCK).await?;
        io.shutdown().await
    };
    match timeout(limits.stall_timeout, refusal).await {
        Ok(outcome) => outcome.map_err(ServeError::Io),
        Err(_) => Err(ServeError::Stalled),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn it_is_refused_in_words() {
        let (mut ours, mut theirs) = tokio::io::duplex(1024);
        refuse(&mut ours, &Limits::default()).await.unwrap();
        drop(ours);
        let mut told = Vec::new();
        theirs.read_to_end(&mut told).await.unwrap();
        assert_eq!(told, NO_CLOCK);
    }
}
