//! The answers that turn a query away. All are short: nothing that is forged is worth sending.
//!
//! They repeat the question, say why in an extended error, and carry the client's cookie, so that
//! its next query can show it. Called by `request` with what the guard has decided.

use super::{AdmissionRefusal, SeenOptions};
use dns_wire::options::{AnswerOptions, BADCOOKIE};
use dns_wire::{DnsQuery, Ede, EdeCode, Rcode, reply, synthesize};

/// TC in the third byte of a header.
const TRUNCATED: u8 = 0x02;

impl AdmissionRefusal {
    /// Appends the answer to `query`, in at most `limit` bytes.
    pub(crate) fn write(
        self,
        query: &DnsQuery<'_>,
        seen: Option<&SeenOptions>,
        limit: usize,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let (rcode, extended, error) = match self {
            Self::Forbidden => (Rcode::Refused, None, Some("")),
            // There is no extended error for this; the text says it.
            Self::RateLimited => (Rcode::Refused, None, Some("too many queries")),
            Self::RetryOverTcp => (Rcode::NoError, None, None),
            Self::CookieRequired => (Rcode::NoError, Some(BADCOOKIE), None),
            Self::BadOption(_) => (Rcode::FormErr, None, None),
        };
        synthesize::error(&DnsQuery { edns: None, ..*query }, rcode, out);
        if self == Self::RetryOverTcp {
            out[start + 2] |= TRUNCATED;
        }
        // RFC 8914 §4.19.
        let error = error.map(|text| Ede { code: EdeCode::Prohibited, text });
        end(query, seen, extended, error, limit, start, out);
    }
}

/// Appends the empty answer to `query` that asks the client to come again over TCP.
pub(crate) fn write_truncated(
    query: &DnsQuery<'_>,
    seen: Option<&SeenOptions>,
    limit: usize,
    out: &mut Vec<u8>,
) {
    AdmissionRefusal::RetryOverTcp.write(query, seen, limit, out);
}

fn end(
    query: &DnsQuery<'_>,
    seen: Option<&SeenOptions>,
    extended: Option<u16>,
    error: Option<Ede<'_>>,
    limit: usize,
    start: usize,
    out: &mut Vec<u8>,
) {
    let answer = seen.map_or_else(AnswerOptions::default, |seen| seen.answer);
    let options = answer.write(query, error, out.len() - start, limit);
    reply::finish(query, extended, error, options.as_bytes(), limit, start, out);
}
