//! An answer as a machine gives it.

use admin_api::WhyAnswer;
use fleet_api::{FleetVerdict, VerdictRule};
use fleet_live::REPLY_BYTES_MAX;
use request_rows::RequestRow;
use serde::{Deserialize, Serialize};

/// Most rows that one machine gives.
pub(crate) const ROWS_MAX: usize = 200;
/// Room that rows have in an answer, in bytes.
const ROWS_BYTES_MAX: usize = REPLY_BYTES_MAX - (8 << 10);
/// Longest text of a verdict, in bytes: a rule may be as long as its list has it.
const TEXT_BYTES_MAX: usize = 1024;

/// Answer of one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FleetAnswer {
    /// Release that it runs.
    pub(crate) version: String,
    /// Revision of the fleet that it has in force.
    pub(crate) revision: Option<u64>,
    pub(crate) said: AnswerWords,
}

/// Words of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnswerWords {
    /// A verdict.
    Verdict(Box<FleetVerdict>),
    /// Rows, the newest first.
    Rows {
        /// The rows.
        rows: Vec<RequestRow>,
        /// True if there are older ones.
        has_more: bool,
    },
    /// Nothing, with the reason.
    Failed(String),
}

/// The verdict of an explanation.
pub(crate) fn verdict_of(why: WhyAnswer) -> FleetVerdict {
    FleetVerdict {
        action: why.action,
        cause: why.cause,
        summary: shortened(why.summary),
        profile: why.profile,
        rule: why.rule.map(|it| VerdictRule {
            list: it.list,
            line: it.line,
            text: shortened(it.text),
        }),
        list_changed_at: why.list_changed_at,
        door_outcome: shortened(why.door_outcome),
    }
}

/// Rows as many as there is room for, and whether there are older ones.
pub(crate) fn rows_that_fit(found: Vec<RequestRow>, older: Option<u64>) -> AnswerWords {
    let mut has_more = older.is_some();
    let mut rows = Vec::new();
    let mut bytes = 0;
    for row in found {
        bytes += serde_json::to_vec(&row).map_or(ROWS_BYTES_MAX, |it| it.len() + 1);
        if rows.len() == ROWS_MAX || bytes > ROWS_BYTES_MAX {
            has_more = true;
            break;
        }
        rows.push(row);
    }
    AnswerWords::Rows { rows, has_more }
}

fn shortened(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(at: &str, subject: &str) -> RequestRow {
        RequestRow {
            id: 7,
            number: "01A2-076A-9DE3".into(),
            at: at.into(),
            door: "dns".into(),
            client: "192.0.2.1".into(),
            subject: subject.into(),
            kind: "A".into(),
            action: "pass".into(),
            cause: "none".into(),
            rule: None,
            source: "upstream".into(),
            cache: None,
            not_stored: None,
            cache_text: None,
            status: 0,
            status_text: "NOERROR".into(),
            bytes: 60,
            took_us: 900,
        }
    }

    #[test]
    fn rows_are_given_as_far_as_an_answer_has_room() {
        let short = vec![row("2026-01-01T00:00:00.000Z", "a.example"); ROWS_MAX + 1];
        let AnswerWords::Rows { rows, has_more: true } = rows_that_fit(short, None) else {
            panic!("all fit");
        };
        assert_eq!(rows.len(), ROWS_MAX);
        let long = vec![row("2026-01-01T00:00:00.000Z", &"\u{1}".repeat(20_000)); 9];
        let words = rows_that_fit(long, None);
        let length = serde_json::to_vec(&words).map(|it| it.len());
        assert!(length.is_ok_and(|it| it < REPLY_BYTES_MAX), "escapes are counted");
        assert!(matches!(words, AnswerWords::Rows { has_more: true, .. }));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = shortened("é".repeat(TEXT_BYTES_MAX));
        assert!(text.len() <= TEXT_BYTES_MAX + 3 && text.ends_with("é…"));
    }
}
