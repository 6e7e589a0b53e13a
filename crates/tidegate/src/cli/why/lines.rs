//! Many questions from standard input, one a line, and an answer a line in JSON.
//!
//! A line that cannot be read gets a line that says so, and the rest is answered all the same.

use super::{WhyJson, WhySource, read};
use crate::cli::answered_from::AnsweredFrom;
use crate::cli::{CommandFailure, ExitReason, WhyArgs};
use admin::question::TARGET_BYTES_MAX;
use serde_json::json;
use std::io::{self, BufRead, Read};

/// Longest line that is read, in bytes: a target with its line end.
const LINE_BYTES_MAX: u64 = TARGET_BYTES_MAX as u64 + 2;

/// One line of the input.
enum InputLine {
    Text(String),
    /// Reason why nothing in it can be asked about.
    Wrong(&'static str),
    End,
}

/// Answers every line; fails in the end if one could not be read.
pub(super) fn answer(
    answerer: &mut WhySource,
    from: &AnsweredFrom,
    args: &WhyArgs,
) -> Result<(), CommandFailure> {
    let mut input = io::stdin().lock();
    let (mut number, mut wrong) = (0_u64, 0_u64);
    loop {
        number += 1;
        let line = next(&mut input).map_err(|why| {
            CommandFailure::new(ExitReason::Wrong, format!("standard input cannot be read: {why}"))
        })?;
        let asked = match &line {
            InputLine::End => break,
            InputLine::Text(text) if text.trim().is_empty() => continue,
            InputLine::Text(text) => read(args, text.trim()).map_err(|failure| failure.message),
            InputLine::Wrong(why) => Err((*why).to_owned()),
        };
        let told = match asked {
            Ok(question) => {
                let why = answerer.answer(&question)?;
                serde_json::to_string(&WhyJson { why: &why, answered_from: from })
            }
            Err(why) => {
                wrong += 1;
                let why = why.trim_start_matches("tidegate: ").trim_end();
                serde_json::to_string(&json!({ "line": number, "error": why }))
            }
        };
        println!("{}", told.map_err(|why| CommandFailure::new(ExitReason::Fault, why))?);
    }
    if wrong == 0 {
        return Ok(());
    }
    let lines = if wrong == 1 { "line" } else { "lines" };
    let message = format!("{wrong} {lines} of the input could not be read, as \"error\" tells");
    Err(CommandFailure::new(ExitReason::Wrong, message))
}

/// The next line, of which no more is held than may be asked about.
fn next(input: &mut impl BufRead) -> io::Result<InputLine> {
    let mut bytes = Vec::new();
    input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(InputLine::End);
    }
    if bytes.len() as u64 == LINE_BYTES_MAX && !bytes.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        return Ok(InputLine::Wrong("the line is longer than 8192 bytes"));
    }
    Ok(String::from_utf8(bytes).map_or(InputLine::Wrong("the line is not UTF-8"), InputLine::Text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_passed_over_and_the_next_one_read() {
        let long = "a".repeat(3 * TARGET_BYTES_MAX);
        let whole = "b".repeat(TARGET_BYTES_MAX);
        let text = format!("{long}\nads.example\r\n{whole}\r\n\u{ff}");
        let mut bytes = text.into_bytes();
        // An `ÿ` of two bytes, cut.
        bytes.pop();
        let mut input = &bytes[..];
        assert!(matches!(next(&mut input).unwrap(), InputLine::Wrong(_)));
        assert!(
            matches!(next(&mut input).unwrap(), InputLine::Text(it) if it == "ads.example\r\n")
        );
        assert!(matches!(next(&mut input).unwrap(), InputLine::Text(it) if it.trim() == whole));
        assert!(matches!(next(&mut input).unwrap(), InputLine::Wrong("the line is not UTF-8")));
        assert!(matches!(next(&mut input).unwrap(), InputLine::End));
    }
}
