//! Languages of redirectors: a question is a line, and so is an answer.
//!
//! Squid's of version 3.4 on (`OK`, `ERR`, `BH` with keys), its older one (a URL, with a status
//! before it for a redirect; an empty line for no change), and Polipo's, where a URL is a redirect.
//! Pure. Called by `process`.

use crate::settings::{HelperProtocol, redirect_status};
use http::{Method, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use std::net::IpAddr;

/// Bytes of one question; a longer URL is not asked about.
const QUESTION_BYTES_MAX: usize = 16 << 10;
/// Bytes of a URL in an answer.
const URL_BYTES_MAX: usize = 8 << 10;

/// Characters that would end a word of a line.
const WORD: &AsciiSet = &CONTROLS.add(b' ').add(b'%');

/// Question about one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperQuestion {
    /// The URL, or host and port of a tunnel.
    pub url: String,
    /// Client that asks for it.
    pub client: IpAddr,
    /// Name that the client has proven.
    pub user: Option<String>,
    /// Method.
    pub method: Method,
}

/// Answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelperAnswer {
    /// As it is.
    Unchanged,
    /// The client is sent to another URL.
    Redirect(StatusCode, String),
    /// Another URL is fetched in its place.
    Rewrite(String),
    /// The program could not say.
    Failed,
}

/// One line of a program, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerLine {
    /// Number of the question, where questions have numbers.
    pub(crate) channel: Option<u32>,
    pub(crate) answer: HelperAnswer,
}

/// Form of the lines of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineForm {
    pub(crate) protocol: HelperProtocol,
    pub(crate) channels: ChannelNumbers,
    /// Status of a redirect that names none.
    pub(crate) redirect_status: StatusCode,
}

/// Tells whether questions have numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelNumbers {
    None,
    First,
}

/// Reads one line of a program that has `concurrency` questions at once, as
/// [`crate::UrlRedirector`] does; none for one that answers no question.
pub fn read_answer(protocol: HelperProtocol, concurrency: u32, line: &str) -> Option<HelperAnswer> {
    let form = LineForm::new(protocol, concurrency, StatusCode::FOUND);
    form.answer(line).map(|line| line.answer)
}

impl LineForm {
    /// The form of a program that has `concurrency` questions at once.
    pub(crate) fn new(
        protocol: HelperProtocol,
        concurrency: u32,
        redirect_status: StatusCode,
    ) -> Self {
        let channels = if concurrency > 0 { ChannelNumbers::First } else { ChannelNumbers::None };
        Self { protocol, channels, redirect_status }
    }

    /// The line of a question; none for one that cannot be asked.
    pub(crate) fn question(self, question: &HelperQuestion, channel: u32) -> Option<String> {
        let HelperQuestion { url, client, user, method } = question;
        if url.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return None;
        }
        let line = match self.protocol {
            HelperProtocol::Polipo => format!("{url}\n"),
            HelperProtocol::Squid => {
                let user = user.as_deref().map_or_else(
                    || "-".to_owned(),
                    |user| utf8_percent_encode(user, WORD).to_string(),
                );
                let number = match self.channels {
                    ChannelNumbers::None => String::new(),
                    ChannelNumbers::First => format!("{channel} "),
                };
                format!("{number}{url} {client}/- {user} {method}\n")
            }
        };
        (line.len() <= QUESTION_BYTES_MAX).then_some(line)
    }

    /// Reads a line, without its end; none for one that answers no question.
    pub(crate) fn answer(self, line: &str) -> Option<AnswerLine> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (channel, rest) = match self.channels {
            ChannelNumbers::None => (None, line),
            ChannelNumbers::First => {
                let (number, rest) = line.split_once(' ').unwrap_or((line, ""));
                (Some(number.parse().ok()?), rest)
            }
        };
        Some(AnswerLine { channel, answer: self.said(rest.trim()) })
    }

    fn said(self, text: &str) -> HelperAnswer {
        let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
        match (self.protocol, first) {
            (_, "") | (HelperProtocol::Squid, "ERR") => HelperAnswer::Unchanged,
            (HelperProtocol::Squid, "BH") => HelperAnswer::Failed,
            (HelperProtocol::Squid, "OK") => self.keyed(rest),
            (HelperProtocol::Squid, _) => older(first),
            (HelperProtocol::Polipo, url) => redirect(self.redirect_status, url),
        }
    }

    /// Keys of an `OK`.
    fn keyed(self, text: &str) -> HelperAnswer {
        let Some(pairs) = pairs(text) else { return HelperAnswer::Failed };
        let value = |key| pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| value);
        if let Some(url) = value("rewrite-url") {
            return rewrite(url);
        }
        let Some(url) = value("url") else { return HelperAnswer::Unchanged };
        let status = match value("status") {
            None => Some(self.redirect_status),
            Some(status) => status.parse().ok().and_then(redirect_status),
        };
        status.map_or(HelperAnswer::Failed, |status| redirect(status, url))
    }
}

/// A URL, with a status before it for a redirect.
fn older(word: &str) -> HelperAnswer {
    let Some((status, url)) = word.split_once(':') else { return HelperAnswer::Failed };
    if !status.bytes().all(|byte| byte.is_ascii_digit()) {
        return rewrite(word);
    }
    let status = status.parse().ok().and_then(redirect_status);
    status.map_or(HelperAnswer::Failed, |status| redirect(status, url))
}

fn redirect(status: StatusCode, url: &str) -> HelperAnswer {
    if is_url(url) { HelperAnswer::Redirect(status, url.to_owned()) } else { HelperAnswer::Failed }
}

fn rewrite(url: &str) -> HelperAnswer {
    if is_url(url) { HelperAnswer::Rewrite(url.to_owned()) } else { HelperAnswer::Failed }
}

fn is_url(url: &str) -> bool {
    url.len() <= URL_BYTES_MAX
        && url.bytes().all(|byte| byte.is_ascii_graphic())
        && ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
}

/// Pairs `key=value` and `key="value"`, where a backslash takes the next character as it is; none
/// if the text is not of this form.
fn pairs(text: &str) -> Option<Vec<(&str, String)>> {
    let (mut rest, mut all) = (text.trim_start(), Vec::new());
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        if key.is_empty() || key.contains([' ', '"']) {
            return None;
        }
        let mut value = String::new();
        let Some(quoted) = after.strip_prefix('"') else {
            let (plain, next) = after.split_once(' ').unwrap_or((after, ""));
            all.push((key, plain.to_owned()));
            rest = next.trim_start();
            continue;
        };
        let mut letters = quoted.char_indices();
        let end = loop {
            match letters.next()? {
                (at, '"') => break at + 1,
                (_, '\\') => value.push(letters.next()?.1),
                (_, letter) => value.push(letter),
            }
        };
        all.push((key, value));
        rest = quoted[end..].trim_start();
    }
    Some(all)
}

#[cfg(test)]
mod tests;
