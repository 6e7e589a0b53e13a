//! ClickHouse's HTTP interface: a statement with its rows, or a question with its answer as JSON.

use crate::failure::DatabaseFailure;
use bytes::Bytes;
use fetch::{RepeatableRequest, Url, WholeBounds, WholeFailure, whole};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use origins::{Dialer, OriginLimits, Origins};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value as Json;
use std::time::Duration;

/// Time that one step may take.
const STEP_MAX: Duration = Duration::from_secs(30);
/// Bytes of an answer that are read: 2,000 edges, a year of steps.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// Letters of an error that are told.
const ERROR_LETTERS: usize = 300;

const USER: HeaderName = HeaderName::from_static("x-clickhouse-user");
const KEY: HeaderName = HeaderName::from_static("x-clickhouse-key");

/// Server, user and database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClickHouseAddress {
    pub(crate) url: Url,
    pub(crate) user: String,
    pub(crate) key: String,
    pub(crate) database: String,
}

/// Client of one database.
pub(crate) struct ClickHouseClient {
    address: ClickHouseAddress,
    fields: HeaderMap,
    origins: Box<Origins>,
}

/// Rows of an answer, in the form `JSONCompact`.
#[derive(Debug, Deserialize)]
struct CompactRows {
    data: Vec<Vec<Json>>,
}

impl ClickHouseClient {
    /// A client, which reaches for nothing yet.
    pub(crate) fn new(
        address: &ClickHouseAddress,
        dialer: Dialer,
    ) -> Result<Self, DatabaseFailure> {
        let field = |text: &str| {
            let mut value = HeaderValue::from_str(text)
                .map_err(|_| DatabaseFailure::Refused("its user is no text of a field".into()))?;
            value.set_sensitive(true);
            Ok::<_, DatabaseFailure>(value)
        };
        let fields =
            HeaderMap::from_iter([(USER, field(&address.user)?), (KEY, field(&address.key)?)]);
        let limits = OriginLimits { response_timeout: STEP_MAX, ..OriginLimits::default() };
        let origins = Box::new(Origins::new(dialer, limits));
        Ok(Self { address: address.clone(), fields, origins })
    }

    /// Does a statement.
    pub(crate) async fn run(&self, statement: &str) -> Result<(), DatabaseFailure> {
        self.send("", statement.to_owned().into()).await.map(drop)
    }

    /// Adds rows, a line of JSON each, to a table; columns that are named behind it are those that
    /// the rows have.
    pub(crate) async fn insert(&self, table: &str, rows: Vec<u8>) -> Result<(), DatabaseFailure> {
        let statement = format!("INSERT INTO {table} FORMAT JSONEachRow");
        self.send(&statement, rows.into()).await.map(drop)
    }

    /// Rows of an answer, each as its columns.
    pub(crate) async fn ask(&self, question: &str) -> Result<Vec<Vec<Json>>, DatabaseFailure> {
        let answer = self.send("", format!("{question} FORMAT JSONCompact").into()).await?;
        let rows: CompactRows = serde_json::from_slice(&answer)
            .map_err(|why| DatabaseFailure::Refused(format!("it answered otherwise: {why}")))?;
        Ok(rows.data)
    }

    async fn send(&self, statement: &str, body: Bytes) -> Result<Bytes, DatabaseFailure> {
        let mut target = format!("/?database={}", self.address.database);
        if !statement.is_empty() {
            target.push_str("&query=");
            target.extend(utf8_percent_encode(statement, NON_ALPHANUMERIC));
        }
        let url = self.address.url.join(&target);
        let url = url.map_err(|why| DatabaseFailure::Refused(why.to_string()))?;
        let headers = self.fields.clone();
        let request = RepeatableRequest { method: Method::POST, url, headers, body };
        let bounds = WholeBounds { redirects: 0, body: ANSWER_BYTES_MAX, time: STEP_MAX };
        let answer = whole(&self.origins, request, bounds).await.map_err(|why| match why {
            WholeFailure::Slow(_) => DatabaseFailure::Silent,
            other => DatabaseFailure::Lost(other.to_string()),
        })?;
        match answer.status {
            StatusCode::OK => Ok(answer.body),
            status => Err(failure(status, &answer.body)),
        }
    }
}

/// The failure that an answer tells: `Code: 81, e.displayText() = DB::Exception: …`, later
/// `Code: 81. DB::Exception: …`.
fn failure(status: StatusCode, body: &[u8]) -> DatabaseFailure {
    let text = String::from_utf8_lossy(body);
    let code = text.strip_prefix("Code: ").and_then(|rest| {
        let digits = rest.find(|it: char| !it.is_ascii_digit())?;
        rest[..digits].parse::<u32>().ok()
    });
    let why = text.split_once("DB::Exception: ").map_or(&*text, |(_, why)| why);
    let line = why.lines().next().unwrap_or_default();
    let told: String = line.chars().filter(|it| !it.is_control()).take(ERROR_LETTERS).collect();
    match (status, code) {
        // Starting, stopping, or somebody before it who says so.
        (StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE, _) => {
            DatabaseFailure::Lost(format!("it answered {status}"))
        }
        (_, Some(code)) if UNFIT.contains(&code) || told.contains("the value of key") => {
            DatabaseFailure::Unfit(told)
        }
        (_, Some(_)) => DatabaseFailure::Refused(told),
        (_, None) => DatabaseFailure::Refused(format!("it answered {status}: {told}")),
    }
}

/// Codes of a row that cannot be read: `CANNOT_PARSE_TEXT`, of quotes, escapes, dates and numbers,
/// `INCORRECT_DATA`, `UNKNOWN_ELEMENT_OF_ENUM`. Older servers have one for many, and say what they
/// read.
const UNFIT: [u32; 10] = [6, 25, 26, 27, 38, 41, 69, 72, 117, 691];

/// A text within a question.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A number of an answer: those of 64 bits stand in quotes, or not, as the server likes.
pub(crate) fn number(row: &[Json], column: usize) -> u64 {
    match row.get(column) {
        Some(Json::Number(number)) => number.as_u64().unwrap_or(0),
        Some(Json::String(text)) => text.parse().unwrap_or(0),
        Some(Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_)) | None => 0,
    }
}

/// A text of an answer.
pub(crate) fn text(row: &[Json], column: usize) -> String {
    row.get(column).and_then(Json::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_old_and_new_servers_are_told_apart() {
        let told = |status: u16, body: &str| {
            failure(StatusCode::from_u16(status).unwrap_or_default(), body.as_bytes())
        };
        let old =
            "Code: 193, e.displayText() = DB::Exception: Wrong password, e.what() = DB::Exception";
        let wrong = "Wrong password, e.what() = DB::Exception";
        assert_eq!(told(401, old), DatabaseFailure::Refused(wrong.into()));
        let new = "Code: 27. DB::Exception: Cannot parse input: (at row 1)\n. (CANNOT_PARSE)";
        assert_eq!(told(400, new), DatabaseFailure::Unfit("Cannot parse input: (at row 1)".into()));
        assert!(matches!(told(503, "<html>"), DatabaseFailure::Lost(_)));
        assert!(matches!(told(404, "\u{1b}[31m<html>"), DatabaseFailure::Refused(_)));
    }

    #[test]
    fn a_text_in_a_question_stays_one() {
        assert_eq!(quoted("a'b\\"), r"'a\'b\\'");
    }

    #[test]
    fn numbers_are_read_with_quotes_and_without() {
        let row = [Json::from("18446744073709551615"), Json::from(7), Json::Null];
        assert_eq!([0, 1, 2, 3].map(|it| number(&row, it)), [u64::MAX, 7, 0, 0]);
    }
}
