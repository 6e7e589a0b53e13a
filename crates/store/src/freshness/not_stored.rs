//! Why an answer is not stored: a word for `Cache-Status` and a sentence for people.
//!
//! Made by the rule for storing; shown by the doors, the ledger and `why`.

use std::fmt;

/// The reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotStored {
    /// The settings name its URL.
    Never,
    /// Not a method whose answers are stored.
    Method,
    /// A `POST` whose answer does not say that it is what a `GET` of this URL gives.
    PostElsewhere,
    /// A `POST` whose answer has no explicit freshness.
    PostWithoutFreshness,
    /// The client said `no-store`.
    RequestNoStore,
    /// An interim answer, or a 304.
    NotFinal,
    /// A status that answers one client or one request only.
    Status,
    /// A status that is not stored without explicit freshness.
    StatusWithoutFreshness,
    /// `must-understand`, with a status that is not understood.
    NotUnderstood,
    /// `no-store`.
    NoStore,
    /// `private`, and the cache is shared.
    Private,
    /// It came for a name and password, and nothing says that others may have it.
    Authorization,
    /// It sets a cookie and does not say how long it may be kept.
    SetCookie,
    /// `Vary: *`.
    VaryStar,
    /// `Vary` names more, or fields larger, than can be kept.
    VaryTooLarge,
    /// Nothing says how long it may be kept, and it cannot be asked about.
    NoFreshness,
    /// `no-cache`, and it cannot be asked about.
    NoCache,
    /// It is stale already, and cannot be asked about.
    StaleAtOnce,
    /// A part without a strong validator: no other part could be put to it.
    PartWithoutValidator,
    /// A part whose `Content-Range` is missing, malformed or at odds with its length.
    ContentRange,
    /// Several parts at once.
    Multipart,
    /// More tags than can be kept.
    Tags,
    /// The head is larger than [`crate::HEAD_BYTES_MAX`].
    HeadTooLarge,
}

impl NotStored {
    /// A short word, for `Cache-Status`, the ledger and metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Method => "method",
            Self::PostElsewhere => "post-elsewhere",
            Self::PostWithoutFreshness => "post-no-freshness",
            Self::RequestNoStore => "request-no-store",
            Self::NotFinal => "not-final",
            Self::Status => "status",
            Self::StatusWithoutFreshness => "status-no-freshness",
            Self::NotUnderstood => "must-understand",
            Self::NoStore => "no-store",
            Self::Private => "private",
            Self::Authorization => "authorization",
            Self::SetCookie => "set-cookie",
            Self::VaryStar => "vary-star",
            Self::VaryTooLarge => "vary-too-large",
            Self::NoFreshness => "no-freshness",
            Self::NoCache => "no-cache",
            Self::StaleAtOnce => "stale-at-once",
            Self::PartWithoutValidator => "part-no-validator",
            Self::ContentRange => "content-range",
            Self::Multipart => "multipart",
            Self::Tags => "tags",
            Self::HeadTooLarge => "head-too-large",
        }
    }
}

impl fmt::Display for NotStored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "the settings say that answers of this URL are never stored",
            Self::Method => "answers to this method are not stored",
            Self::PostElsewhere => {
                "the answer to the POST has no Content-Location with the URL it was sent to"
            }
            Self::PostWithoutFreshness => {
                "the answer to the POST does not say how long it is fresh"
            }
            Self::RequestNoStore => "the client asked with Cache-Control: no-store",
            Self::NotFinal => "it is no final answer",
            Self::Status => "its status is for this client or this request only",
            Self::StatusWithoutFreshness => {
                "its status is stored only if the origin says how long it is fresh"
            }
            Self::NotUnderstood => "must-understand, and its status is not a known one",
            Self::NoStore => "the origin says no-store",
            Self::Private => "the origin says private, and this cache is shared",
            Self::Authorization => {
                "it came for a name and password, and the origin says neither public, \
                 must-revalidate nor s-maxage"
            }
            Self::SetCookie => "it sets a cookie, and the origin does not say how long it is fresh",
            Self::VaryStar => "it varies by more than the request's fields (Vary: *)",
            Self::VaryTooLarge => "it varies by more fields, or larger ones, than can be kept",
            Self::NoFreshness => {
                "the origin does not say how long it is fresh, and it has neither ETag nor \
                 Last-Modified"
            }
            Self::NoCache => {
                "the origin wants to be asked before every use (no-cache), and it has neither ETag \
                 nor Last-Modified to ask by"
            }
            Self::StaleAtOnce => "it is stale already, and has neither ETag nor Last-Modified",
            Self::PartWithoutValidator => {
                "it is a part without a strong validator, so no other part can be put to it"
            }
            Self::ContentRange => {
                "it is a part, and its Content-Range is missing, malformed, without a total, or at \
                 odds with its length"
            }
            Self::Multipart => "it is several parts at once",
            Self::Tags => "it has more tags than can be kept, and a purge must not miss it",
            Self::HeadTooLarge => "its head is too large",
        })
    }
}
