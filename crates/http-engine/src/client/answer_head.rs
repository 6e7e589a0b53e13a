//! The head of an answer, read strictly, and how its body is framed (RFC 9112 §6.3, §9.3).
//!
//! httparse finds the pieces; this refuses what it forgives. Whatever two readers could take for
//! different lengths is an error, never a guess: a cache or a second client stands behind. Pure.
//! Called by [`super::exchange`].

use super::{RESPONSE_HEAD_BYTES_MAX, RESPONSE_HEADERS_MAX};
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Version};
use httparse::{Header, ParserConfig, Status};
use hyper::ext::ReasonPhrase;
use std::fmt;
use std::mem::MaybeUninit;

/// Bytes read with a head that its fields may keep alive.
const KEPT_BYTES_MAX: usize = 4 << 10;

/// Why a head is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadHead {
    /// It is no head of HTTP/1; folded lines and empty lines before it are none either.
    Syntax,
    /// It has more than [`RESPONSE_HEADERS_MAX`] fields.
    TooManyFields,
    /// It is longer than [`RESPONSE_HEAD_BYTES_MAX`].
    TooLarge,
    /// `Content-Length` is no number, or stands there twice.
    Length,
    /// `Transfer-Encoding` speaks of `chunked` and is not exactly that, or comes with HTTP/1.0.
    Coding,
    /// Both `Content-Length` and `Transfer-Encoding`: an attempt to split the answer.
    LengthAndCoding,
    /// 101 to a request that asked for no other protocol.
    Switched,
    /// More interim answers (1xx) than anybody needs.
    TooManyInterim,
}

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    None,
    Length(u64),
    Chunked,
    /// It ends with the connection.
    UntilClose,
}

/// Whether the connection may carry another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persistence {
    Keep,
    Close,
}

/// A final head.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) response: Response<()>,
    pub(super) framing: Framing,
    pub(super) persistence: Persistence,
}

/// What stands at the start of the bytes.
#[derive(Debug)]
pub(super) enum Reading {
    /// The beginning of a head.
    Partial,
    /// An interim answer (1xx) of so many bytes.
    Interim(Response<()>, usize),
    /// The answer's head, of so many bytes.
    Final(Head, usize),
}

/// Reads the head of the answer to a request of `method` at the start of `bytes`.
pub(super) fn read(bytes: &Bytes, method: &Method) -> Result<Reading, BadHead> {
    // httparse passes over empty lines, which here are left over from an answer before.
    if bytes.first().is_some_and(|byte| *byte != b'H') {
        return Err(BadHead::Syntax);
    }
    let mut room = [const { MaybeUninit::<Header<'_>>::uninit() }; RESPONSE_HEADERS_MAX];
    let mut parsed = httparse::Response::new(&mut []);
    let config = ParserConfig::default();
    let length = match config.parse_response_with_uninit_headers(&mut parsed, bytes, &mut room) {
        Ok(Status::Complete(length)) if length <= RESPONSE_HEAD_BYTES_MAX => length,
        Ok(Status::Partial) if bytes.len() < RESPONSE_HEAD_BYTES_MAX => {
            return Ok(Reading::Partial);
        }
        Ok(Status::Complete(_) | Status::Partial) => return Err(BadHead::TooLarge),
        Err(httparse::Error::TooManyHeaders) => return Err(BadHead::TooManyFields),
        Err(_) => return Err(BadHead::Syntax),
    };
    let status = parsed.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(BadHead::Syntax)?;
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(BadHead::Switched);
    }
    let mut response = Response::new(());
    *response.status_mut() = status;
    if status.is_informational() {
        // Its fields frame nothing: whatever they say of a length, no body follows (RFC 9112 §6.3).
        *response.headers_mut() =
            fields_of(parsed.headers, bytes, bytes, |_, _| Ok(Field::Counts))?;
        return Ok(Reading::Interim(response, length));
    }
    if parsed.version == Some(0) {
        *response.version_mut() = Version::HTTP_10;
    }
    if let Some(reason) = parsed.reason
        && Some(reason) != status.canonical_reason()
    {
        let reason = ReasonPhrase::try_from(reason.as_bytes()).map_err(|_| BadHead::Syntax)?;
        response.extensions_mut().insert(reason);
    }
    let mut notes = Notes::default();
    // Fields outlive their answer in caches: they should not keep more than themselves alive.
    let kept = if bytes.len() <= KEPT_BYTES_MAX {
        bytes.clone()
    } else {
        Bytes::copy_from_slice(&bytes[..length])
    };
    *response.headers_mut() =
        fields_of(parsed.headers, bytes, &kept, |name, value| notes.take(name, value))?;
    let framing = notes.framing(&response, method)?;
    let persistence = notes.persistence(response.version(), framing);
    Ok(Reading::Final(Head { response, framing, persistence }, length))
}

/// The fields parsed out of `bytes` as a map, whose values are slices of `kept`, which begins alike.
/// Each is shown to `note` first.
fn fields_of(
    parsed: &[Header<'_>],
    bytes: &[u8],
    kept: &Bytes,
    mut note: impl FnMut(&HeaderName, &HeaderValue) -> Result<Field, BadHead>,
) -> Result<HeaderMap, BadHead> {
    let mut fields = HeaderMap::with_capacity(parsed.len());
    for field in parsed {
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| BadHead::Syntax)?;
        let value = if field.value.is_empty() {
            HeaderValue::from_static("")
        } else {
            let at = field.value.as_ptr().addr() - bytes.as_ptr().addr();
            let value = kept.slice(at..at + field.value.len());
            HeaderValue::from_maybe_shared(value).map_err(|_| BadHead::Syntax)?
        };
        if note(&name, &value)? == Field::Counts {
            fields.append(name, value);
        }
    }
    Ok(fields)
}

/// Whether a field is one of the answer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Counts,
    /// It says again what another says, and must not be said twice.
    Repeats,
}

/// The fields by which a body is framed.
#[derive(Debug, Default)]
struct Notes {
    length: Option<u64>,
    coding: Coding,
    says_close: Said,
    says_keep_alive: Said,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Coding {
    #[default]
    None,
    Chunked,
    /// Others, and `chunked` not among them: the connection's end is the body's (RFC 9112 §6.3).
    Other,
}

impl Coding {
    /// What one more field makes of it. `chunked` stands alone or not at all: else another reader may
    /// find another end.
    fn and(self, value: &[u8]) -> Result<Self, BadHead> {
        let is_chunked = value.eq_ignore_ascii_case(b"chunked");
        match self {
            Self::None if is_chunked => Ok(Self::Chunked),
            Self::None | Self::Other if names_another(value) => Ok(Self::Other),
            Self::None | Self::Chunked | Self::Other => Err(BadHead::Coding),
        }
    }
}

/// Whether this is a coding, and nothing like `chunked`.
fn names_another(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    !lower.is_empty() && memchr::memmem::find(&lower, b"chunked").is_none()
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Said {
    Yes,
    #[default]
    No,
}

impl Notes {
    fn take(&mut self, name: &HeaderName, value: &HeaderValue) -> Result<Field, BadHead> {
        if name == CONTENT_LENGTH {
            let length = plain_number(value.as_bytes()).ok_or(BadHead::Length)?;
            match self.length.replace(length) {
                None => {}
                // RFC 9110 §8.6: the same number again may be taken for one.
                Some(before) if before == length => return Ok(Field::Repeats),
                Some(_) => return Err(BadHead::Length),
            }
        } else if name == TRANSFER_ENCODING {
            self.coding = self.coding.and(value.as_bytes())?;
        } else if name == CONNECTION {
            for option in value.as_bytes().split(|byte| *byte == b',') {
                let option = option.trim_ascii();
                if option.eq_ignore_ascii_case(b"close") {
                    self.says_close = Said::Yes;
                } else if option.eq_ignore_ascii_case(b"keep-alive") {
                    self.says_keep_alive = Said::Yes;
                }
            }
        }
        Ok(Field::Counts)
    }

    /// RFC 9112 §6.3, in its order; what it leaves to the recipient is refused.
    fn framing(&self, response: &Response<()>, method: &Method) -> Result<Framing, BadHead> {
        if self.coding != Coding::None {
            if self.length.is_some() {
                return Err(BadHead::LengthAndCoding);
            }
            if response.version() != Version::HTTP_11 {
                return Err(BadHead::Coding);
            }
        }
        let status = response.status();
        let has_none = method == Method::HEAD
            || status == StatusCode::NO_CONTENT
            || status == StatusCode::NOT_MODIFIED;
        Ok(match (self.coding, self.length) {
            (Coding::None | Coding::Chunked | Coding::Other, _) if has_none => Framing::None,
            (Coding::Chunked, _) => Framing::Chunked,
            (Coding::None, Some(length)) => Framing::Length(length),
            (Coding::None, None) | (Coding::Other, _) => Framing::UntilClose,
        })
    }

    /// RFC 9112 §9.3.
    fn persistence(&self, version: Version, framing: Framing) -> Persistence {
        let by_version = version == Version::HTTP_11 || self.says_keep_alive == Said::Yes;
        if by_version && self.says_close == Said::No && framing != Framing::UntilClose {
            Persistence::Keep
        } else {
            Persistence::Close
        }
    }
}

/// Digits only (RFC 9110 §8.6), and no more than fit.
fn plain_number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| byte - b'0')?;
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

impl fmt::Display for BadHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax => f.write_str("what came is no head of an answer"),
            Self::TooManyFields => write!(f, "more than {RESPONSE_HEADERS_MAX} fields"),
            Self::TooLarge => write!(f, "a head of more than {RESPONSE_HEAD_BYTES_MAX} bytes"),
            Self::Length => f.write_str("Content-Length should be one number"),
            Self::Coding => f.write_str("Transfer-Encoding should be chunked, in HTTP/1.1"),
            Self::LengthAndCoding => {
                f.write_str("Content-Length and Transfer-Encoding exclude each other")
            }
            Self::Switched => f.write_str("101, but no other protocol was asked for"),
            Self::TooManyInterim => f.write_str("too many interim answers"),
        }
    }
}

impl std::error::Error for BadHead {}
