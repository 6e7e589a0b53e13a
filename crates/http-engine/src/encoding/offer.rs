//! Which coding an answer under way is due, and the answer so coded.
//!
//! What is short, coded already, a part of something, or not to be transformed is left as it is. It
//! decides by heads alone and keeps nothing. Called by the web door for scripts' answers and by the
//! gateway for servers'.

use super::{
    AcceptedCodings, CodingLevel, CodingWorth, ContentCoding, EncodedBody, IdentityCoding, to_weak,
    vary, worth_coding,
};
use crate::body::Body;
use crate::conditional::ETag;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    ETAG, HeaderMap,
};
use http::{Method, Response, StatusCode};

/// The codings that a server offers for answers under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodingOffer {
    codings: Vec<(ContentCoding, CodingLevel)>,
    order: Vec<ContentCoding>,
    bytes_min: u64,
}

/// Tells what an answer under way is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodingDue {
    /// Does not depend on `Accept-Encoding`: it is never coded.
    Never,
    /// Does, and this time it goes as it is. `Vary` must be said.
    Identity,
    /// This coding.
    Coded(ContentCoding, CodingLevel),
}

impl CodingOffer {
    /// The codings, best first; what is known to be shorter than `bytes_min` is not worth one.
    pub fn new(codings: Vec<(ContentCoding, CodingLevel)>, bytes_min: u64) -> Self {
        let order = codings.iter().map(|(coding, _)| *coding).collect();
        Self { codings, order, bytes_min }
    }

    /// Returns what `answer` is due, whose body has `length` bytes if that is known.
    pub fn select_coding<B>(
        &self,
        accepted: &AcceptedCodings,
        answer: &Response<B>,
        length: Option<u64>,
    ) -> CodingDue {
        if length == Some(0) || !is_codable(answer.status(), answer.headers()) {
            return CodingDue::Never;
        }
        let is_small = length.is_some_and(|length| length < self.bytes_min);
        let chosen = accepted.choose(&self.order);
        match chosen.and_then(|coding| self.codings.iter().find(|(it, _)| *it == coding)) {
            Some(_) if is_small && accepted.identity() == IdentityCoding::Acceptable => {
                CodingDue::Identity
            }
            Some((coding, level)) => CodingDue::Coded(*coding, *level),
            None => CodingDue::Identity,
        }
    }
}

impl CodingDue {
    /// Makes the answer to a `method` request what it is due.
    pub fn apply(self, mut response: Response<Body>, method: &Method) -> Response<Body> {
        let headers = response.headers_mut();
        let (coding, level) = match self {
            Self::Never => return response,
            Self::Identity => {
                vary(headers);
                return response;
            }
            Self::Coded(coding, level) => (coding, level),
        };
        vary(headers);
        headers.insert(CONTENT_ENCODING, coding.value());
        headers.remove(CONTENT_LENGTH);
        headers.remove(ACCEPT_RANGES);
        if let Some(tag) = headers.remove(ETAG).and_then(|it| ETag::parse(it.to_str().ok()?))
            && let Some(weak) = to_weak(&tag)
        {
            headers.insert(ETAG, weak.to_value());
        }
        if *method == Method::HEAD {
            return response;
        }
        response.map(|body| {
            if let Ok(coded) = EncodedBody::new(body, coding, level) {
                return Body::boxed(coded);
            }
            // Without its coder the body cannot be what its head says: it is broken off.
            let (feed, body) = Body::channel(1);
            drop(feed);
            body
        })
    }
}

fn is_codable(status: StatusCode, headers: &HeaderMap) -> bool {
    let whole = !status.is_informational()
        && !matches!(
            status,
            StatusCode::PARTIAL_CONTENT | StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
        )
        && !headers.contains_key(CONTENT_RANGE);
    // RFC 9110 §7.7: what must not be transformed is not.
    let may = !headers.get_all(CACHE_CONTROL).iter().any(|value| {
        value.to_str().is_ok_and(|it| it.to_ascii_lowercase().contains("no-transform"))
    });
    whole
        && may
        && !headers.contains_key(CONTENT_ENCODING)
        && headers.get(CONTENT_TYPE).is_some_and(|media| worth_coding(media) == CodingWorth::Coding)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use http::header::{HeaderName, VARY};

    fn answer(fields: &[(HeaderName, &str)]) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        response.headers_mut().insert(CONTENT_TYPE, "text/html".parse().unwrap());
        for (name, value) in fields {
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        response
    }

    fn due(answer: &Response<Body>, length: Option<u64>) -> CodingDue {
        let offer = CodingOffer::new(
            vec![(ContentCoding::Gzip, CodingLevel::default_for(ContentCoding::Gzip))],
            256,
        );
        offer.select_coding(&AcceptedCodings::of_lists(["br, gzip"].into_iter()), answer, length)
    }

    #[test]
    fn what_is_long_and_loose_is_coded() {
        let coded =
            CodingDue::Coded(ContentCoding::Gzip, CodingLevel::default_for(ContentCoding::Gzip));
        assert_eq!(due(&answer(&[]), Some(1000)), coded);
        assert_eq!(due(&answer(&[]), None), coded);
        assert_eq!(due(&answer(&[]), Some(100)), CodingDue::Identity);
        for fields in [
            [(CONTENT_TYPE, "image/png")],
            [(CONTENT_ENCODING, "br")],
            [(CONTENT_RANGE, "bytes 0-1/2")],
            [(CACHE_CONTROL, "max-age=1, No-Transform")],
        ] {
            assert_eq!(due(&answer(&fields), Some(1000)), CodingDue::Never, "{fields:?}");
        }
        assert_eq!(due(&answer(&[]), Some(0)), CodingDue::Never);
        let mut part = answer(&[]);
        *part.status_mut() = StatusCode::PARTIAL_CONTENT;
        assert_eq!(due(&part, Some(1000)), CodingDue::Never);
    }

    #[test]
    fn the_head_of_a_coded_answer_says_so() {
        let plain = answer(&[(ETAG, "\"a\""), (CONTENT_LENGTH, "1000"), (ACCEPT_RANGES, "bytes")]);
        let due = due(&plain, Some(1000));
        let coded = due.apply(plain, &Method::HEAD);
        assert_eq!(coded.headers()[ETAG], "W/\"a\"");
        assert_eq!(coded.headers()[CONTENT_ENCODING], "gzip");
        assert_eq!(coded.headers()[VARY], "Accept-Encoding");
        assert!(!coded.headers().contains_key(CONTENT_LENGTH));
        assert!(!coded.headers().contains_key(ACCEPT_RANGES));
    }
}
