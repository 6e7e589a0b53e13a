//! The head of an answer, read strictly, and how its body is framed (RFC 9112 §6.3, §9.3).
//!
//! httparse finds the pieces; this refuses what it forgives. Whatever two readers could take for
//! different lengths is an error, never a guess: a cache or a second client stands behind. What is
//! merely untidy is put right on the way (RFC 9112 §5.1, §5.2): blanks before a colon go, folded
//! lines become one. Pure. Called by [`super::exchange`].

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Version};
use httparse::{Header, ParserConfig, Status};
use hyper::ext::ReasonPhrase;
use std::fmt;
use std::mem::MaybeUninit;

/// Bytes read with a head that its fields may keep alive.
const KEPT_BYTES_MAX: usize = 4 << 10;
/// Fields for which there is room on the stack; few answers have more.
const FIELDS_AT_FIRST: usize = 100;

/// The bounds of an answer's head: one beyond them is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Bytes of it; over HTTP/2 by its own measure (RFC 9113 §6.5.2). Default 64 KiB, as much as
    /// those that nginx and Squid take by default, together.
    pub head_bytes_max: usize,
    /// Fields in it, over HTTP/1. Default 1,000.
    pub fields_max: usize,
}

impl AnswerLimits {
    /// The bounds where nobody sets others.
    pub const DEFAULT: Self = Self { head_bytes_max: 64 << 10, fields_max: 1000 };
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Why a head is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadHead {
    /// Is no head of HTTP/1; one with empty lines before it is none either.
    Syntax,
    /// Has more fields than [`AnswerLimits::fields_max`].
    TooManyFields,
    /// Is longer than [`AnswerLimits::head_bytes_max`].
    TooLarge,
    /// `Content-Length` is no number, stands there twice, or is written in a way that not everybody
    /// reads.
    Length,
    /// `Transfer-Encoding` has `chunked` beside another coding or in HTTP/1.0, names one that
    /// changes the body, or is written in a way that not everybody reads.
    Coding,
    /// Both `Content-Length` and `Transfer-Encoding`: an attempt to split the answer.
    LengthAndCoding,
    /// 101 to a request that asked for no other protocol.
    Switched,
    /// More interim answers (1xx) than anybody needs.
    TooManyInterim,
    /// The chunk that came with it is malformed.
    FirstChunk,
}

/// The ways in which a request may end HTTP on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HttpExit {
    Not,
    /// `Upgrade`: by a 101.
    ByUpgrade,
    /// `CONNECT`: by a 2xx.
    ByTunnel,
}

/// The request that an answer is read for.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestShape<'r> {
    pub(super) method: &'r Method,
    pub(super) upgrade_exit: HttpExit,
}

/// Tells how the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerFraming {
    /// There is none.
    None,
    Length(u64),
    Chunked,
    /// Ends with the connection.
    UntilClose,
}

/// Tells whether the connection may carry another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerPersistence {
    Keep,
    Close,
}

/// A final head.
#[derive(Debug)]
pub(super) struct AnswerHead {
    pub(super) response: Response<()>,
    pub(super) framing: AnswerFraming,
    pub(super) persistence: AnswerPersistence,
}

/// Tells what stands at the start of the bytes.
#[derive(Debug)]
pub(super) enum HeadReading {
    /// The beginning of a head.
    Partial,
    /// An interim answer (1xx) of so many bytes.
    Interim(Response<()>, usize),
    /// The answer's head, of so many bytes.
    Final(AnswerHead, usize),
    /// An answer of so many bytes, behind which the connection speaks no HTTP.
    Upgraded(Response<()>, usize),
}

/// Reads the head of the answer to a request at the start of `bytes`.
pub(super) fn read(
    bytes: &Bytes,
    asked: RequestShape<'_>,
    limits: AnswerLimits,
) -> Result<HeadReading, BadHead> {
    // httparse passes over empty lines, which here are left over from an answer before.
    if bytes.first().is_some_and(|byte| *byte != b'H') {
        return Err(BadHead::Syntax);
    }
    let mut room = [const { MaybeUninit::uninit() }; FIELDS_AT_FIRST];
    match read_into(&mut room, bytes, asked, limits) {
        Err(BadHead::TooManyFields) if limits.fields_max > FIELDS_AT_FIRST => {
            let mut room = vec![MaybeUninit::uninit(); limits.fields_max];
            read_into(&mut room, bytes, asked, limits)
        }
        read => read,
    }
}

fn read_into<'b>(
    room: &mut [MaybeUninit<Header<'b>>],
    bytes: &'b Bytes,
    asked: RequestShape<'_>,
    limits: AnswerLimits,
) -> Result<HeadReading, BadHead> {
    let mut parsed = httparse::Response::new(&mut []);
    let mut config = ParserConfig::default();
    config.allow_spaces_after_header_name_in_responses(true);
    config.allow_obsolete_multiline_headers_in_responses(true);
    let length = match config.parse_response_with_uninit_headers(&mut parsed, bytes, room) {
        Ok(Status::Complete(length)) if length <= limits.head_bytes_max => length,
        Ok(Status::Partial) if bytes.len() < limits.head_bytes_max => {
            return Ok(HeadReading::Partial);
        }
        Ok(Status::Complete(_) | Status::Partial) => return Err(BadHead::TooLarge),
        Err(httparse::Error::TooManyHeaders) => return Err(BadHead::TooManyFields),
        Err(_) => return Err(BadHead::Syntax),
    };
    if parsed.headers.len() > limits.fields_max {
        return Err(BadHead::TooManyFields);
    }
    let status = parsed.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(BadHead::Syntax)?;
    let mut response = Response::new(());
    *response.status_mut() = status;
    let has_left = match asked.upgrade_exit {
        HttpExit::Not => false,
        HttpExit::ByUpgrade => status == StatusCode::SWITCHING_PROTOCOLS,
        HttpExit::ByTunnel => status.is_success(),
    };
    if has_left || status.is_informational() {
        if !has_left && status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(BadHead::Switched);
        }
        // Its fields frame nothing: whatever they say of a length, no body follows (RFC 9112 §6.3).
        *response.headers_mut() =
            fields_of(parsed.headers, bytes, bytes, |_, _| Ok(FieldFate::Counts))?;
        let kind = if has_left { HeadReading::Upgraded } else { HeadReading::Interim };
        return Ok(kind(response, length));
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
    finish(response, parsed.headers, bytes, length, asked.method)
}

/// Adds the fields to a final answer whose head is `length` of these bytes, and finds its framing.
fn finish(
    mut response: Response<()>,
    fields: &[Header<'_>],
    bytes: &Bytes,
    length: usize,
    method: &Method,
) -> Result<HeadReading, BadHead> {
    let mut notes = FramingNotes::default();
    // Fields outlive their answer in caches: they should not keep more than themselves alive.
    let kept = if bytes.len() <= KEPT_BYTES_MAX {
        bytes.clone()
    } else {
        Bytes::copy_from_slice(&bytes[..length])
    };
    *response.headers_mut() = fields_of(fields, bytes, &kept, |name, field| {
        notes.note_field(name, field.value, || is_canonical(field, bytes))
    })?;
    let framing = notes.framing(&response, method)?;
    let persistence = notes.persistence(response.version(), framing);
    Ok(HeadReading::Final(AnswerHead { response, framing, persistence }, length))
}

/// The fields parsed out of `bytes` as a map, whose values are slices of `kept`, which begins
/// alike. Each is shown to `note` first.
fn fields_of(
    parsed: &[Header<'_>],
    bytes: &[u8],
    kept: &Bytes,
    mut note: impl FnMut(&HeaderName, &Header<'_>) -> Result<FieldFate, BadHead>,
) -> Result<HeaderMap, BadHead> {
    let mut fields = HeaderMap::with_capacity(parsed.len());
    for field in parsed {
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| BadHead::Syntax)?;
        if note(&name, field)? == FieldFate::Dropped {
            continue;
        }
        let value = if field.value.is_empty() {
            Ok(HeaderValue::from_static(""))
        } else if memchr::memchr(b'\n', field.value).is_some() {
            HeaderValue::from_maybe_shared(unfolded(field.value))
        } else {
            let at = field.value.as_ptr().addr() - bytes.as_ptr().addr();
            HeaderValue::from_maybe_shared(kept.slice(at..at + field.value.len()))
        };
        fields.append(name, value.map_err(|_| BadHead::Syntax)?);
    }
    Ok(fields)
}

/// A value over several lines as one: a blank stands where they were joined (RFC 9112 §5.2).
fn unfolded(value: &[u8]) -> Bytes {
    let mut whole = Vec::with_capacity(value.len());
    for line in value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if !whole.is_empty() && !line.is_empty() {
            whole.push(b' ');
        }
        whole.extend_from_slice(line);
    }
    whole.into()
}

/// Tells of a field of `head` that its name is followed by a colon at once, and its value by the
/// end of the field: readers that know no other way of writing find the same in it.
fn is_canonical(field: &Header<'_>, head: &[u8]) -> bool {
    let behind_name = field.name.as_ptr().addr() - head.as_ptr().addr() + field.name.len();
    let rest = &head[behind_name..];
    let Some(end) = memchr::memchr(b'\n', rest) else { return false };
    let is_folded = matches!(rest.get(end + 1), Some(b' ' | b'\t'));
    rest.starts_with(b":") && !is_folded
}

/// The fate of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldFate {
    /// Is one of the answer's.
    Counts,
    /// Says nothing, or again what another says and must not be said twice.
    Dropped,
}

/// The fields by which a body is framed.
#[derive(Debug, Default)]
struct FramingNotes {
    length: Option<u64>,
    coding: TransferCoding,
    says_close: OptionGiven,
    says_keep_alive: OptionGiven,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TransferCoding {
    #[default]
    None,
    Chunked,
    /// `identity`: what old servers say of a body that is in none (RFC 2616 §3.6).
    Identity,
    /// Words that name no coding that anybody uses: the connection's end is the body's (RFC 9112
    /// §6.3).
    Other,
}

/// Codings by which a body is changed. Nobody behind us would hear that it is.
const CHANGING: [&[u8]; 7] =
    [b"gzip", b"x-gzip", b"deflate", b"compress", b"x-compress", b"br", b"zstd"];

impl TransferCoding {
    /// The same with one more field. `chunked` stands alone or not at all: else another reader may
    /// find another end.
    fn and(self, value: &[u8]) -> Result<Self, BadHead> {
        let is_identity = value.eq_ignore_ascii_case(b"identity");
        match self {
            Self::None if value.eq_ignore_ascii_case(b"chunked") => Ok(Self::Chunked),
            Self::None | Self::Identity if is_identity => Ok(Self::Identity),
            Self::None | Self::Other if has_no_coding(value) => Ok(Self::Other),
            Self::None | Self::Chunked | Self::Identity | Self::Other => Err(BadHead::Coding),
        }
    }
}

/// Tells that no word of `value` is a coding, or like `chunked`.
fn has_no_coding(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let mut words = lower.split(|byte| matches!(byte, b',' | b';')).map(<[u8]>::trim_ascii);
    !lower.is_empty()
        && memchr::memmem::find(&lower, b"chunked").is_none()
        && !words.any(|word| CHANGING.contains(&word) || word == b"identity")
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OptionGiven {
    Yes,
    #[default]
    No,
}

impl FramingNotes {
    fn note_field(
        &mut self,
        name: &HeaderName,
        value: &[u8],
        is_plainly_written: impl FnOnce() -> bool,
    ) -> Result<FieldFate, BadHead> {
        if name == CONTENT_LENGTH {
            let length = parse_digits(value).filter(|_| is_plainly_written());
            let length = length.ok_or(BadHead::Length)?;
            match self.length.replace(length) {
                None => {}
                // RFC 9110 §8.6: the same number again may be taken for one.
                Some(before) if before == length => return Ok(FieldFate::Dropped),
                Some(_) => return Err(BadHead::Length),
            }
        } else if name == TRANSFER_ENCODING {
            if !is_plainly_written() {
                return Err(BadHead::Coding);
            }
            self.coding = self.coding.and(value)?;
            if self.coding == TransferCoding::Identity {
                return Ok(FieldFate::Dropped);
            }
        } else if name == CONNECTION {
            for option in value.split(|byte| matches!(byte, b',' | b'\n')) {
                let option = option.trim_ascii();
                if option.eq_ignore_ascii_case(b"close") {
                    self.says_close = OptionGiven::Yes;
                } else if option.eq_ignore_ascii_case(b"keep-alive") {
                    self.says_keep_alive = OptionGiven::Yes;
                }
            }
        }
        Ok(FieldFate::Counts)
    }

    /// RFC 9112 §6.3, in its order; what it leaves to the recipient is refused.
    fn framing(&self, response: &Response<()>, method: &Method) -> Result<AnswerFraming, BadHead> {
        if matches!(self.coding, TransferCoding::Chunked | TransferCoding::Other) {
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
            (
                TransferCoding::None
                | TransferCoding::Chunked
                | TransferCoding::Identity
                | TransferCoding::Other,
                _,
            ) if has_none => AnswerFraming::None,
            (TransferCoding::Chunked, _) => AnswerFraming::Chunked,
            (TransferCoding::None | TransferCoding::Identity, Some(length)) => {
                AnswerFraming::Length(length)
            }
            (TransferCoding::None | TransferCoding::Identity, None)
            | (TransferCoding::Other, _) => AnswerFraming::UntilClose,
        })
    }

    /// RFC 9112 §9.3.
    fn persistence(&self, version: Version, framing: AnswerFraming) -> AnswerPersistence {
        let by_version = version == Version::HTTP_11 || self.says_keep_alive == OptionGiven::Yes;
        // Others find the end of a body where the connection has its own if any coding is named.
        let is_certain =
            framing != AnswerFraming::UntilClose && self.coding != TransferCoding::Identity;
        if by_version && is_certain && self.says_close == OptionGiven::No {
            AnswerPersistence::Keep
        } else {
            AnswerPersistence::Close
        }
    }
}

/// Digits only (RFC 9110 §8.6), and no more than fit.
pub(super) fn parse_digits(text: &[u8]) -> Option<u64> {
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
            Self::TooManyFields => f.write_str("it has more fields than are allowed"),
            Self::TooLarge => f.write_str("its head has more bytes than are allowed"),
            Self::Length => f.write_str("Content-Length should be one number"),
            Self::Coding => f.write_str("Transfer-Encoding should be chunked, in HTTP/1.1"),
            Self::FirstChunk => f.write_str("its first chunk is malformed"),
            Self::LengthAndCoding => {
                f.write_str("Content-Length and Transfer-Encoding exclude each other")
            }
            Self::Switched => f.write_str("101, but no other protocol was asked for"),
            Self::TooManyInterim => f.write_str("too many interim answers"),
        }
    }
}

impl std::error::Error for BadHead {}
