//! Templates of lines: text with nginx's `$fields` in it.
//!
//! Pure. A template is read once, and what is wrong with it is said with its field. Fields that
//! carry secrets cannot be named.

use crate::secrets::is_secret;
use std::fmt;

/// Longest template.
pub(crate) const TEMPLATE_BYTES_MAX: usize = 4096;
/// Pieces of one template.
const PIECES_MAX: usize = 128;
/// Letters of a field's name that a complaint repeats.
const SHOWN_MAX: usize = 64;

/// A template that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineTemplate {
    pub(crate) pieces: Vec<LinePiece>,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinePiece {
    Text(String),
    Field(LineField),
    /// A field of the request by its name in lower case, with hyphens.
    Header(String),
}

/// A field of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineField {
    RemoteAddr,
    RemoteUser,
    TimeLocal,
    TimeIso8601,
    Msec,
    Request,
    RequestMethod,
    RequestUri,
    Uri,
    Args,
    ServerProtocol,
    Host,
    Scheme,
    Status,
    BodyBytesSent,
    RequestTime,
    TookUs,
    UpstreamCacheStatus,
    Door,
    Source,
    Action,
}

/// Names of fields, in the order in which complaints list them.
const FIELDS: [(&str, LineField); 22] = [
    ("remote_addr", LineField::RemoteAddr),
    ("remote_user", LineField::RemoteUser),
    ("time_local", LineField::TimeLocal),
    ("time_iso8601", LineField::TimeIso8601),
    ("msec", LineField::Msec),
    ("request", LineField::Request),
    ("request_method", LineField::RequestMethod),
    ("request_uri", LineField::RequestUri),
    ("uri", LineField::Uri),
    ("args", LineField::Args),
    ("query_string", LineField::Args),
    ("server_protocol", LineField::ServerProtocol),
    ("host", LineField::Host),
    ("scheme", LineField::Scheme),
    ("status", LineField::Status),
    ("body_bytes_sent", LineField::BodyBytesSent),
    ("request_time", LineField::RequestTime),
    ("took_us", LineField::TookUs),
    ("upstream_cache_status", LineField::UpstreamCacheStatus),
    ("door", LineField::Door),
    ("source", LineField::Source),
    ("action", LineField::Action),
];

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadTemplate {
    /// No field: every line would be the same.
    NoField,
    /// Longer than a template may be.
    TooLong,
    /// More pieces than a template may have.
    TooManyPieces,
    /// Control characters: a line would be several.
    Control,
    /// A `$` without a name after it, or a `${` without its end.
    NoName,
    /// A field that there is not.
    UnknownField(String),
    /// A field that carries secrets.
    Secret(String),
}

impl BadTemplate {
    /// Advice on what to write instead.
    pub fn remedy(&self) -> String {
        match self {
            Self::NoField => "name fields, as in '$remote_addr \"$request\" $status'".into(),
            Self::TooLong | Self::TooManyPieces => "write a shorter one".into(),
            Self::Control => "write it on one line; the line's end is added".into(),
            Self::NoName => "write $name or ${name}; a dollar sign itself is $$".into(),
            Self::UnknownField(_) => {
                let names: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
                format!("the fields are {} and http_NAME for a header field", names.join(", "))
            }
            Self::Secret(_) => "leave it out".into(),
        }
    }
}

impl fmt::Display for BadTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoField => f.write_str("the template has no field"),
            Self::TooLong => write!(f, "the template is longer than {TEMPLATE_BYTES_MAX} bytes"),
            Self::TooManyPieces => write!(f, "the template has more than {PIECES_MAX} pieces"),
            Self::Control => f.write_str("the template has control characters"),
            Self::NoName => f.write_str("a $ in the template has no name after it"),
            Self::UnknownField(name) => write!(f, "there is no field ${name}"),
            Self::Secret(name) => write!(f, "${name} carries secrets, which no log holds"),
        }
    }
}

impl std::error::Error for BadTemplate {}

impl LineTemplate {
    /// Reads a template: text, `$name`, `${name}`, and `$$` for a dollar sign.
    pub fn parse(text: &str) -> Result<Self, BadTemplate> {
        if text.len() > TEMPLATE_BYTES_MAX {
            return Err(BadTemplate::TooLong);
        }
        // A tab is how many separate fields.
        if text.chars().any(|it| it.is_control() && it != '\t') {
            return Err(BadTemplate::Control);
        }
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            plain.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                plain.push('$');
                rest = after;
                continue;
            }
            let (name, after) = name(after).ok_or(BadTemplate::NoName)?;
            if !plain.is_empty() {
                pieces.push(LinePiece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(field(name)?);
            rest = after;
            if pieces.len() > PIECES_MAX {
                return Err(BadTemplate::TooManyPieces);
            }
        }
        if pieces.is_empty() {
            return Err(BadTemplate::NoField);
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(LinePiece::Text(plain));
        }
        Ok(Self { pieces })
    }

    /// Fields of requests that it writes, in lower case.
    pub(crate) fn headers(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            LinePiece::Header(name) => Some(name.as_str()),
            LinePiece::Text(_) | LinePiece::Field(_) => None,
        })
    }
}

/// The name at the beginning of `text`, and what follows it.
fn name(text: &str) -> Option<(&str, &str)> {
    if let Some(braced) = text.strip_prefix('{') {
        return braced.split_once('}').filter(|(name, _)| !name.is_empty());
    }
    let is_of_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let end = text.find(|it| !is_of_name(it)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn field(name: &str) -> Result<LinePiece, BadTemplate> {
    if let Some((_, field)) = FIELDS.iter().find(|(known, _)| *known == name) {
        return Ok(LinePiece::Field(*field));
    }
    let shown = || name.chars().take(SHOWN_MAX).collect();
    let header = name.strip_prefix("http_").filter(|it| {
        let is_of_name =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        !it.is_empty() && it.bytes().all(is_of_name)
    });
    let is_secret_value = ["cookie_", "arg_"].iter().any(|it| name.starts_with(it));
    match header {
        Some(header) if is_secret(header.as_bytes()) => Err(BadTemplate::Secret(shown())),
        Some(header) => Ok(LinePiece::Header(header.replace('_', "-"))),
        None if is_secret_value && is_secret(name.as_bytes()) => Err(BadTemplate::Secret(shown())),
        None => Err(BadTemplate::UnknownField(shown())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_text_with_fields_in_it() {
        let read = LineTemplate::parse("$remote_addr - ${status}x $$ $http_x_request_id").unwrap();
        let text = |it: &str| LinePiece::Text(it.into());
        assert_eq!(
            read.pieces,
            [
                LinePiece::Field(LineField::RemoteAddr),
                text(" - "),
                LinePiece::Field(LineField::Status),
                text("x $ "),
                LinePiece::Header("x-request-id".into()),
            ]
        );
        assert_eq!(read.headers().collect::<Vec<_>>(), ["x-request-id"]);
        for (name, _) in FIELDS {
            assert!(LineTemplate::parse(&format!("${name}")).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_template_that_cannot_be_is_refused_with_its_field() {
        let wrong = |text: &str| LineTemplate::parse(text).unwrap_err();
        assert_eq!(wrong("status"), BadTemplate::NoField);
        assert_eq!(wrong(""), BadTemplate::NoField);
        assert_eq!(wrong("$status $"), BadTemplate::NoName);
        assert_eq!(wrong("$status ${status"), BadTemplate::NoName);
        assert_eq!(wrong("${}"), BadTemplate::NoName);
        assert_eq!(wrong("$status\n"), BadTemplate::Control);
        assert_eq!(wrong("$state"), BadTemplate::UnknownField("state".into()));
        assert_eq!(wrong("$http_"), BadTemplate::UnknownField("http_".into()));
        assert_eq!(wrong("$http_Host"), BadTemplate::UnknownField("http_Host".into()));
        for name in ["http_authorization", "http_cookie", "http_x_api_key", "cookie_sid"] {
            assert_eq!(wrong(&format!("${name}")), BadTemplate::Secret(name.into()), "{name}");
        }
        assert_eq!(wrong(&"$status".repeat(200)), BadTemplate::TooManyPieces);
        assert_eq!(wrong(&"a".repeat(4097)), BadTemplate::TooLong);
    }
}
