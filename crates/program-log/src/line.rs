//! A message as a line.
//!
//! Pure. Messages may repeat what a client sent: no control character goes out as it is.

use crate::repeats::LoggedMessage;
use crate::settings::LogForm;
use log_sink::{ClockTime, LineSeverity, json_text};
use std::fmt::Write;

/// Longest message, in bytes; the rest is cut.
const MESSAGE_BYTES_MAX: usize = 2048;

/// The severity that syslog and the journal have for a level.
pub(crate) const fn severity(level: log::Level) -> LineSeverity {
    match level {
        log::Level::Error => LineSeverity::Error,
        log::Level::Warn => LineSeverity::Warning,
        log::Level::Info => LineSeverity::Info,
        log::Level::Debug | log::Level::Trace => LineSeverity::Debug,
    }
}

const fn word(level: log::Level) -> &'static str {
    match level {
        log::Level::Error => "error",
        log::Level::Warn => "warn",
        log::Level::Info => "info",
        log::Level::Debug | log::Level::Trace => "debug",
    }
}

/// An entry of the journal in its own protocol: a field a line. The journal adds the time, the
/// process and the unit by itself.
pub(crate) fn journal_entry(message: &LoggedMessage) -> Vec<u8> {
    let LoggedMessage { level, target, text, place } = message;
    let priority = severity(*level).code();
    let mut out = format!("PRIORITY={priority}\nSYSLOG_IDENTIFIER=tidegate\n");
    // Text grows in memory and cannot fail.
    let _ = write!(out, "TIDEGATE_PART={target}\nMESSAGE={target}: ");
    push_tame(&mut out, text);
    out.push('\n');
    if let Some((file, line)) = place {
        let _ = write!(out, "CODE_FILE={file}\nCODE_LINE={line}\n");
    }
    out.into_bytes()
}

/// Appends the text of a message: nothing in it ends a line or moves a cursor.
fn push_tame(out: &mut String, text: &str) {
    for letter in text[..text.floor_char_boundary(MESSAGE_BYTES_MAX)].chars() {
        match letter {
            it if it.is_control() || matches!(it, '\u{2028}' | '\u{2029}') => {
                out.extend(it.escape_default());
            }
            it => out.push(it),
        }
    }
}

/// A line with its line feed.
pub(crate) fn line(message: &LoggedMessage, form: LogForm, unix_ms: u64) -> Vec<u8> {
    let LoggedMessage { level, target, text, .. } = message;
    let word = word(*level);
    let mut out = String::with_capacity(text.len() + 64);
    // Text grows in memory and cannot fail.
    let _ = match form {
        LogForm::Json => {
            let text = &text[..text.floor_char_boundary(MESSAGE_BYTES_MAX)];
            return json(word, target, text, unix_ms);
        }
        LogForm::Auto | LogForm::Text => write!(out, "{word} {target}: "),
        LogForm::TextTime => {
            write!(out, "{} {word} {target}: ", ClockTime::of_ms(unix_ms).rfc3339_ms())
        }
        LogForm::Journald => write!(out, "<{}>{target}: ", severity(*level).code()),
    };
    push_tame(&mut out, text);
    out.push('\n');
    out.into_bytes()
}

fn json(word: &str, target: &str, text: &str, unix_ms: u64) -> Vec<u8> {
    let time = ClockTime::of_ms(unix_ms).rfc3339_ms();
    let head = format!(
        "{{\"time\":\"{time}\",\"level\":\"{word}\",\"target\":\"{target}\",\"message\":\""
    );
    let mut out = head.into_bytes();
    json_text(&mut out, text.as_bytes());
    out.extend_from_slice(b"\"}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_in_every_form() {
        let message = LoggedMessage {
            level: log::Level::Warn,
            target: "web",
            text: "bücher \"x\"\nerror web: forged\u{1b}[2J".into(),
            place: None,
        };
        let told = |form| String::from_utf8(line(&message, form, 1_795_282_147_005)).unwrap();
        let text = "bücher \"x\"\\nerror web: forged\\u{1b}[2J\n";
        assert_eq!(told(LogForm::Text), format!("warn web: {text}"));
        assert_eq!(told(LogForm::TextTime), format!("2026-11-21T17:29:07.005Z warn web: {text}"));
        assert_eq!(told(LogForm::Journald), format!("<4>web: {text}"));
        assert_eq!(
            told(LogForm::Json),
            "{\"time\":\"2026-11-21T17:29:07.005Z\",\"level\":\"warn\",\"target\":\"web\",\
             \"message\":\"bücher \\\"x\\\"\\u000aerror web: forged\\u001b[2J\"}\n"
        );
        let long = LoggedMessage { text: "ü".repeat(100_000), ..message };
        assert!(line(&long, LogForm::Text, 0).len() < 2_100);
        assert!(line(&long, LogForm::Json, 0).len() < 2_200);
    }

    #[test]
    fn an_entry_of_the_journal_has_its_fields_and_no_other_that_a_client_made_up() {
        let message = LoggedMessage {
            level: log::Level::Error,
            target: "gateway",
            text: "pool app: x\nPRIORITY=7".into(),
            place: Some(("doors/gateway/src/a.rs", 7)),
        };
        assert_eq!(
            String::from_utf8(journal_entry(&message)).unwrap(),
            "PRIORITY=3\nSYSLOG_IDENTIFIER=tidegate\nTIDEGATE_PART=gateway\n\
             MESSAGE=gateway: pool app: x\\nPRIORITY=7\nCODE_FILE=doors/gateway/src/a.rs\n\
             CODE_LINE=7\n"
        );
    }
}
