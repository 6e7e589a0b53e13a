//! Recorded requests, one after the other, for whoever judges them again.
//!
//! Reads blocks in the order of their rows and holds one at a time. Works beside a process that
//! writes. Called through [`crate::read_recorded`].

use super::block::decode::StoredRow;
use super::block_view::BlockView;
use super::read::LedgerReader;
use super::top::name_of;
use crate::codes::CauseCode;
use crate::queue::RowTextForm;
use crate::report::ReadError;
use std::net::IpAddr;
use std::path::Path;
use vocab::{Door, RequestKind};

/// Recorded request that the policy was asked about.
#[derive(Clone, Copy, Debug)]
pub struct RecordedRequest<'r> {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Where it came in.
    pub door: Door,
    /// Client that asked.
    pub client: IpAddr,
    /// The host, in lower case.
    pub host: &'r str,
    /// The URL, where the door had one.
    pub url: Option<&'r str>,
    /// Kind of thing that was asked for.
    pub kind: RequestKind,
}

/// Reads the requests of a state folder since a moment, in milliseconds since 1970, oldest first,
/// but for those that the policy was not asked about.
///
/// # Errors
/// There is no request log, or it cannot be read.
pub fn read_recorded(
    folder: &Path,
    since_ms: u64,
    mut visit: impl FnMut(RecordedRequest<'_>),
) -> Result<(), ReadError> {
    let reader = LedgerReader::open(&folder.join(crate::FILE_NAME))?;
    let mut blocks = reader.connection.prepare(
        "SELECT first, summary, body FROM blocks WHERE last_ms >= ?1 ORDER BY last_ms, first",
    )?;
    let mut found = blocks.query([since_ms as i64])?;
    while let Some(row) = found.next()? {
        // A damaged block has no rows.
        let Some(BlockView { summary, body, .. }) = BlockView::read(row)? else { continue };
        let is_wanted = |stored: &StoredRow| {
            let is_judged =
                !matches!(stored.facts.cause(), CauseCode::NotAsked | CauseCode::OtherBlocker);
            stored.at_ms >= since_ms && is_judged
        };
        for stored in body.rows().filter(is_wanted) {
            let (Some(host), Some((text, form)), Some(client)) = (
                name_of(&summary, stored.word),
                summary.word(stored.word),
                summary.clients.get(stored.client),
            ) else {
                continue;
            };
            visit(RecordedRequest {
                at_ms: stored.at_ms,
                door: stored.facts.door(),
                client: client.client,
                host: &host,
                url: (form == RowTextForm::Url).then_some(text),
                kind: stored.facts.kind(),
            });
        }
    }
    Ok(())
}
