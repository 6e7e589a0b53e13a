//! Refusals of S3 in words with a remedy: a code in XML, or what a field says.

use crate::placed::PlaceFault;
use fetch::WholeAnswer;
use http::StatusCode;

/// Bytes of an answer in which its code is looked for, and of a word that is taken from it.
const LOOKED_AT: usize = 4096;
const WORD_MAX: usize = 64;
/// Field that names the region of the bucket, also where there is no body.
const REGION_FIELD: &str = "x-amz-bucket-region";

/// Reason why S3 refused a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum S3Refusal {
    /// The object is not there.
    NoObject,
    /// The bucket is not there.
    NoBucket,
    /// Not allowed, or not there and this one may not know.
    Denied,
    /// Signed by another secret than the key has.
    Signature,
    /// A key that is not known there.
    UnknownKey,
    /// Credentials that lasted for a time that is over.
    TokenOver,
    /// The time of the request is not believed; seconds that the clock here is ahead.
    Clock(Option<i64>),
    /// The bucket is in another region, which was named or not.
    Region(Option<String>),
    /// Too many requests.
    SlowDown,
    /// Anything else.
    Other(StatusCode, Option<String>),
}

impl S3Refusal {
    /// Reads an answer that is no success.
    pub(crate) fn read(answer: &WholeAnswer, clock_ahead_s: Option<i64>) -> Self {
        let text = &answer.body[..answer.body.len().min(LOOKED_AT)];
        let text = String::from_utf8_lossy(text);
        let code = element(&text, "Code");
        let message = text_of(&text, "Message").unwrap_or_default();
        let field = answer.headers.get(REGION_FIELD).and_then(|it| it.to_str().ok());
        let region = || {
            let expected = message.split("expecting '").nth(1).and_then(|it| it.split('\'').next());
            element(&text, "Region").or_else(|| word(field?)).or_else(|| word(expected?))
        };
        match (code.as_deref(), answer.status.as_u16()) {
            (Some("NoSuchBucket"), _) => Self::NoBucket,
            (Some("NoSuchKey"), _) | (None, 404) => Self::NoObject,
            (Some("SignatureDoesNotMatch"), _) => Self::Signature,
            (Some("InvalidAccessKeyId"), _) => Self::UnknownKey,
            (Some("ExpiredToken" | "InvalidToken"), _) => Self::TokenOver,
            (Some("RequestTimeTooSkewed"), _) => Self::Clock(clock_ahead_s),
            (Some("AccessDenied"), _) if is_about_time(message) => Self::Clock(clock_ahead_s),
            (Some("AccessDenied"), _) | (None, 401 | 403) => Self::Denied,
            (Some("PermanentRedirect" | "TemporaryRedirect" | "IllegalLocationConstraint"), _)
            | (None, 301 | 307 | 308) => Self::Region(region()),
            (Some("AuthorizationHeaderMalformed" | "AuthorizationQueryParametersError"), _)
                if message.contains("region") =>
            {
                Self::Region(region())
            }
            (Some("SlowDown"), _) | (_, 429 | 503) => Self::SlowDown,
            _ => Self::Other(answer.status, code),
        }
    }

    /// The fault in words.
    pub(crate) fn fault(&self, bucket: &str, region: &str, key: Option<&str>) -> PlaceFault {
        let who = key.map_or_else(|| "nobody in particular".to_owned(), |key| format!("{key:?}"));
        match self {
            Self::NoObject => PlaceFault::Unreachable("it is not there".into()),
            Self::NoBucket => PlaceFault::Unreachable(format!(
                "S3 has no bucket {bucket:?} here (NoSuchBucket): make it, or see to the name and the endpoint"
            )),
            Self::Denied if key.is_none() => PlaceFault::Refused(
                "S3 lets nobody in who does not sign (AccessDenied): set fleet.s3, or \
                 AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
                    .into(),
            ),
            Self::Denied => PlaceFault::Refused(format!(
                "S3 does not let {who} do this (AccessDenied), which it also says of what is not there to \
                 whom it does not allow s3:ListBucket: allow that, with s3:GetObject and, where it writes, s3:PutObject"
            )),
            Self::Signature => PlaceFault::Refused(format!(
                "the secret is not that of {who} (SignatureDoesNotMatch): see to secret_access_key"
            )),
            Self::UnknownKey => PlaceFault::Refused(format!(
                "S3 knows no {who} (InvalidAccessKeyId): see to access_key_id, and to the endpoint"
            )),
            Self::TokenOver => PlaceFault::Refused(format!(
                "the session token of {who} has ended (ExpiredToken): get new credentials"
            )),
            Self::Clock(ahead) => {
                let off = match ahead {
                    Some(ahead) if *ahead > 0 => format!(" is {ahead} s fast"),
                    Some(behind) if *behind < 0 => format!(" is {} s slow", behind.unsigned_abs()),
                    Some(_) | None => " and that of S3 differ".to_owned(),
                };
                PlaceFault::Refused(format!(
                    "this machine's clock{off} (RequestTimeTooSkewed): set it, as by systemd-timesyncd"
                ))
            }
            Self::Region(Some(found)) => PlaceFault::Unreachable(format!(
                "the bucket {bucket:?} is in {found}, not in {region}: write region={found} in the place"
            )),
            Self::Region(None) => PlaceFault::Unreachable(format!(
                "the bucket {bucket:?} is not in {region}: write its region=… in the place"
            )),
            Self::SlowDown => {
                PlaceFault::Unreachable("S3 wants fewer requests for now (SlowDown)".into())
            }
            Self::Other(status, code) => {
                let code = code.as_ref().map(|it| format!(", {it}")).unwrap_or_default();
                PlaceFault::Unreachable(format!("S3 answers {}{code}", status.as_u16()))
            }
        }
    }
}

/// Signatures in a query end, and S3 says so with the code of everything that is not allowed.
fn is_about_time(message: &str) -> bool {
    message.contains("expired") || message.contains("not yet valid")
}

/// Text of the first element of a name.
fn text_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once("</")?.0)
}

/// Word in the first element of a name.
fn element(text: &str, name: &str) -> Option<String> {
    word(text_of(text, name)?)
}

/// Letters, digits and hyphens: what a server says goes into a log.
fn word(text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_word = (1..=WORD_MAX).contains(&text.len()) && text.bytes().all(is_plain);
    is_word.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue};

    fn answer(status: u16, body: &str) -> WholeAnswer {
        WholeAnswer {
            status: StatusCode::from_u16(status).expect("a status"),
            headers: HeaderMap::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        }
    }

    /// An answer as S3 writes it.
    fn told(status: u16, code: &str, more: &str) -> S3Refusal {
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code>{more}</Error>"
        );
        S3Refusal::read(&answer(status, &body), Some(4000))
    }

    #[test]
    fn codes_are_told_with_what_is_to_be_done() {
        for (refusal, expected) in [
            (told(404, "NoSuchBucket", ""), "has no bucket \"b\""),
            (told(403, "SignatureDoesNotMatch", ""), "the secret is not that of \"AKIA1\""),
            (told(403, "InvalidAccessKeyId", ""), "knows no \"AKIA1\""),
            (told(400, "ExpiredToken", ""), "get new credentials"),
            (told(403, "AccessDenied", "<Message>Access Denied</Message>"), "s3:ListBucket"),
            (told(403, "AccessDenied", "<Message>Request has expired</Message>"), "4000 s fast"),
            (told(403, "RequestTimeTooSkewed", ""), "4000 s fast"),
            (told(301, "PermanentRedirect", ""), "write its region=…"),
            (
                told(
                    400,
                    "AuthorizationQueryParametersError",
                    "<Message>the region 'r' is wrong; expecting 'eu-west-1'</Message><Region>eu-west-1</Region>",
                ),
                "is in eu-west-1, not in r: write region=eu-west-1",
            ),
            (
                told(
                    400,
                    "AuthorizationHeaderMalformed",
                    "<Message>the region 'r' is wrong; expecting 'eu-west-3'</Message>",
                ),
                "is in eu-west-3",
            ),
            (told(503, "SlowDown", ""), "fewer requests"),
            (told(500, "InternalError", ""), "S3 answers 500, InternalError"),
            (S3Refusal::read(&answer(502, "<html>"), None), "S3 answers 502"),
        ] {
            let fault = refusal.fault("b", "r", Some("AKIA1")).to_string();
            assert!(fault.contains(expected), "{refusal:?}: {fault}");
        }
        assert_eq!(told(404, "NoSuchKey", ""), S3Refusal::NoObject);
        assert_eq!(S3Refusal::read(&answer(404, ""), None), S3Refusal::NoObject);
        let unsigned = S3Refusal::read(&answer(403, ""), None).fault("b", "r", None).to_string();
        assert!(unsigned.contains("set fleet.s3"), "{unsigned}");
    }

    #[test]
    fn regions_of_fields_are_read_and_nothing_that_is_no_word() {
        let mut moved = answer(301, "");
        moved.headers.insert(REGION_FIELD, HeaderValue::from_static("eu-north-1"));
        assert_eq!(S3Refusal::read(&moved, None), S3Refusal::Region(Some("eu-north-1".into())));
        let hostile = told(500, "a b\u{1b}[31m", "");
        assert_eq!(hostile, S3Refusal::Other(StatusCode::INTERNAL_SERVER_ERROR, None));
        let long = "x".repeat(5000);
        assert_eq!(told(500, &long, ""), S3Refusal::Other(StatusCode::INTERNAL_SERVER_ERROR, None));
    }
}
