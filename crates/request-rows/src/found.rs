//! Rows of the request log, found by a filter.
//!
//! Called by the routes of the log, for pages and for files, and for questions of a fleet.

use ledger::{Ledger, ReadError, RowFilter, RowPage};
use vocab::RequestNumber;

/// A page of the rows that a filter finds, the newest first.
pub fn found_rows(ledger: &Ledger, filter: &RowFilter, limit: usize) -> Result<RowPage, ReadError> {
    match numbered(ledger, filter, limit)? {
        Some(page) => Ok(page),
        None => ledger.rows(filter, limit),
    }
}

/// The rows of a request's number, if the filter is one and there are such rows: the number that a
/// block page shows is the request's moment, and stands in no column.
fn numbered(
    ledger: &Ledger,
    filter: &RowFilter,
    limit: usize,
) -> Result<Option<RowPage>, ReadError> {
    let Ok(number) = filter.text.parse::<RequestNumber>() else { return Ok(None) };
    if filter.before.is_some() {
        return Ok(None);
    }
    let mut rows = ledger.rows_at(number.unix_ms())?;
    rows.retain(|row| filter.fits_but_text(row));
    rows.truncate(limit);
    Ok((!rows.is_empty()).then_some(RowPage { rows, next: None }))
}
