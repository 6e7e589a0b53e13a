//! An HTTP request, read into a DNS question: by path, method, query and body.
//!
//! Base64 is taken as RFC 8484 has it and no other way: without padding, without a stray bit. What
//! is no question is a [`DohRefusal`] with its status and a line of text. Called by `doh`.

use super::MESSAGE;
use crate::listener_context::ListenerContext;
use crate::stream_limits::QUERY_BYTES_MAX;
use crate::tcp::TcpPeer;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dns_wire::json::{self, BadAsking, CheckingDisabled, DnssecOk, JsonQuestion};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use http_engine::Incoming;
use http_engine::body::{ReadError, read_all};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// Time that a body of some hundred bytes may take.
const BODY_DEADLINE: Duration = Duration::from_secs(5);
/// Bytes of a body that is not wanted, at most, that are taken all the same.
const DRAIN_BYTES_MAX: usize = 64 << 10;
/// Time that that may take.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest client identifier in a path: a label's length, so that it may be part of a name too.
const CLIENT_ID_BYTES_MAX: usize = 63;
/// The question's length in base64, at most.
const BASE64_BYTES_MAX: usize = QUERY_BYTES_MAX.div_ceil(3) * 4;

/// A question, and how its answer is wanted.
pub(super) struct DohRequest {
    pub(super) message: Vec<u8>,
    pub(super) form: AnswerForm,
    pub(super) client: IpAddr,
    /// The whole path, with the client's identifier where there is one.
    pub(super) path: Box<str>,
    /// The client's identifier at the end of the path; empty where there is none.
    pub(super) client_id: Box<str>,
    pub(super) entry: u16,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerForm {
    Message,
    Json,
}

/// Outcome of the rest of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyRest {
    Drained,
    Unread,
}

/// Why a request gets no DNS message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DohRefusal {
    /// No listener has this path.
    Path,
    Method,
    /// Neither `dns` nor `name` is there.
    NoQuestion,
    /// `dns` is no base64url.
    Base64,
    /// Words that are no question.
    BadQuestion(BadAsking),
    /// A word of the query other than 0, 1, true and false.
    Switch,
    MediaType,
    /// A body that is too long.
    TooLong,
    /// A query that is too long.
    UriTooLong,
    TooSlow,
    Broken,
    /// A message that is no question, or one that is left without an answer.
    NotAnswered,
    /// The answer cannot be put into JSON.
    NotWritten,
    /// None came in time.
    NoAnswer,
}

/// Reads a request to its end.
pub(super) async fn read(
    line: &ListenerContext,
    peer: &TcpPeer,
    head: &Parts,
    body: &mut Incoming,
) -> Result<DohRequest, DohRefusal> {
    let path = head.uri.path();
    let (entry, client_id) = line.routes.load().find(path).ok_or(DohRefusal::Path)?;
    if !client_id.is_none_or(is_client_id) {
        return Err(DohRefusal::Path);
    }
    let client = line.shared.doh.load().client(peer.client, &head.headers);
    let client_id = Box::from(client_id.unwrap_or_default());
    let path = Box::from(path);
    let wish = |(message, form)| DohRequest { message, form, client, path, client_id, entry };
    match head.method {
        Method::GET | Method::HEAD => question_from_query(head.uri.query().unwrap_or("")).map(wish),
        Method::POST => {
            if !is_message(&head.headers) {
                return Err(DohRefusal::MediaType);
            }
            let body = read_all(body, QUERY_BYTES_MAX, BODY_DEADLINE).await;
            let body = body.map_err(|why| match why {
                ReadError::TooLarge => DohRefusal::TooLong,
                ReadError::TooSlow => DohRefusal::TooSlow,
                ReadError::Broken(_) => DohRefusal::Broken,
            })?;
            Ok(wish((body.to_vec(), AnswerForm::Message)))
        }
        _ => Err(DohRefusal::Method),
    }
}

/// Takes what is left of a refused request's body, if it is short, and throws it away, so that the
/// connection can go on: some clients take an answer before they were heard out for a fault.
pub(super) async fn drain_body(body: &mut Incoming) -> BodyRest {
    match read_all(body, DRAIN_BYTES_MAX, DRAIN_TIMEOUT).await {
        Ok(_) => BodyRest::Drained,
        Err(_) => BodyRest::Unread,
    }
}

/// Letters, digits and hyphens, as AdGuard Home takes them.
fn is_client_id(text: &str) -> bool {
    (1..=CLIENT_ID_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
}

fn is_message(headers: &HeaderMap) -> bool {
    let Some(Ok(value)) = headers.get(CONTENT_TYPE).map(|value| value.to_str()) else {
        return false;
    };
    let media_type = value.split_once(';').map_or(value, |(media_type, _)| media_type);
    media_type.trim().eq_ignore_ascii_case(MESSAGE)
}

pub(super) fn question_from_query(query: &str) -> Result<(Vec<u8>, AnswerForm), DohRefusal> {
    if let Some(text) = value(query, "dns") {
        if text.len() > BASE64_BYTES_MAX {
            return Err(DohRefusal::UriTooLong);
        }
        let message = URL_SAFE_NO_PAD.decode(&*text).map_err(|_| DohRefusal::Base64)?;
        return Ok((message, AnswerForm::Message));
    }
    let name = value(query, "name").ok_or(DohRefusal::NoQuestion)?;
    let rtype = value(query, "type").unwrap_or(Cow::Borrowed("A"));
    let asking = JsonQuestion {
        name: &name,
        rtype: &rtype,
        checking: match switch(query, "cd")? {
            Switch::On => CheckingDisabled::Disabled,
            Switch::Off => CheckingDisabled::Enabled,
        },
        dnssec: match switch(query, "do")? {
            Switch::On => DnssecOk::Wanted,
            Switch::Off => DnssecOk::Off,
        },
    };
    let mut message = Vec::with_capacity(64);
    json::write_query(&asking, &mut message).map_err(DohRefusal::BadQuestion)?;
    let form = match value(query, "ct") {
        Some(wanted) if wanted == MESSAGE => AnswerForm::Message,
        Some(_) | None => AnswerForm::Json,
    };
    Ok((message, form))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Switch {
    On,
    Off,
}

/// Returns what public resolvers take: `cd=1`, `cd=true`, and `cd` alone.
fn switch(query: &str, key: &str) -> Result<Switch, DohRefusal> {
    match value(query, key).as_deref() {
        Some("1" | "true" | "") => Ok(Switch::On),
        Some("0" | "false") | None => Ok(Switch::Off),
        Some(_) => Err(DohRefusal::Switch),
    }
}

/// The first value of `key`, decoded; what is no UTF-8 then is no value that anything here takes.
fn value<'q>(query: &'q str, key: &str) -> Option<Cow<'q, str>> {
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let (_, value) = pairs.into_iter().find(|(name, _)| *name == key)?;
    Some(percent_decode_str(value).decode_utf8().unwrap_or(Cow::Borrowed("\u{fffd}")))
}

impl DohRefusal {
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Path => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::NoQuestion
            | Self::Base64
            | Self::BadQuestion(_)
            | Self::Switch
            | Self::Broken
            | Self::NotAnswered => StatusCode::BAD_REQUEST,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UriTooLong => StatusCode::URI_TOO_LONG,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::NotWritten => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NoAnswer => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

impl fmt::Display for DohRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => f.write_str("nothing is here; DNS over HTTPS is at /dns-query"),
            Self::Method => f.write_str("use GET or POST"),
            Self::NoQuestion => {
                f.write_str("a question is missing: ?dns= in base64url, or ?name= and type=")
            }
            Self::Base64 => f.write_str("dns is no base64url without padding (RFC 8484)"),
            Self::BadQuestion(why) => why.fmt(f),
            Self::Switch => f.write_str("cd and do are 0 or 1"),
            Self::MediaType => write!(f, "the body must be {MESSAGE}"),
            Self::TooLong | Self::UriTooLong => {
                write!(f, "a question has at most {QUERY_BYTES_MAX} bytes")
            }
            Self::TooSlow => f.write_str("the body did not come in time"),
            Self::Broken => f.write_str("the body broke off"),
            Self::NotAnswered => f.write_str("this is no DNS question that is answered here"),
            Self::NotWritten => json::NotWritten.fmt(f),
            Self::NoAnswer => f.write_str("no answer came in time; ask again"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn base64_is_taken_as_the_standard_has_it() {
        let message = |query| question_from_query(query).map(|(message, _)| message);
        assert_eq!(message("dns=AAH_-w"), Ok(vec![0, 1, 255, 251]));
        assert_eq!(message("x=1&dns=AAE&dns=zz"), Ok(vec![0, 1]));
        assert_eq!(message("dns="), Ok(vec![]));
        for wrong in
            ["dns=AAE=", "dns=AAF", "dns=AA+/", "dns=A", "dns=AA%20", "dns=%ff", "dns=AA E"]
        {
            assert_eq!(message(wrong), Err(DohRefusal::Base64), "{wrong}");
        }
        let long = format!("dns={}", "A".repeat(BASE64_BYTES_MAX + 1));
        assert_eq!(message(&long), Err(DohRefusal::UriTooLong));
        for nothing in ["", "DNS=AAE", "type=A", "&&", "="] {
            assert_eq!(message(nothing), Err(DohRefusal::NoQuestion), "{nothing}");
        }
    }

    #[test]
    fn a_question_may_come_in_words() {
        let form = |query| question_from_query(query).map(|(_, form)| form);
        assert_eq!(form("name=example.com"), Ok(AnswerForm::Json));
        assert_eq!(form("type=AAAA&name=a%2Eexample&cd&do=true"), Ok(AnswerForm::Json));
        assert_eq!(form("name=a.test&ct=application/dns-message"), Ok(AnswerForm::Message));
        assert_eq!(form("name=a.test&cd=2"), Err(DohRefusal::Switch));
        assert_eq!(form("name="), Err(DohRefusal::BadQuestion(BadAsking::Name)));
        assert_eq!(form("name=a.test&type=NOSUCH"), Err(DohRefusal::BadQuestion(BadAsking::Type)));
        let flags = |query| question_from_query(query).unwrap().0[3] & 0x10;
        assert_eq!((flags("name=a.test&cd=1"), flags("name=a.test&cd=0")), (0x10, 0));
    }

    #[test]
    fn a_client_identifier_is_a_label() {
        assert!(is_client_id("my-tablet-7"));
        for wrong in ["", "a b", "a.b", "a%20b", "\u{fc}", &"a".repeat(64)] {
            assert!(!is_client_id(wrong), "{wrong}");
        }
    }
}
