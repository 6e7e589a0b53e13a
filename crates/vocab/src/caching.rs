//! What a door's HTTP cache did with a request: why it did not answer, and why it did not store the
//! answer.
//!
//! Each reason has a number of its own for ever, since the ledger writes it in a file; a word, for
//! `Cache-Status`, the ledger and the API; and a sentence for people. Made by the store's rules,
//! carried by the doors, kept by the ledger.

use std::fmt;

/// An enum whose every variant has its number, its word and its sentence.
macro_rules! reasons {
    (
        $(#[$about:meta])+
        $name:ident {
            $($(#[$doc:meta])+ $variant:ident = $code:literal, $word:literal, $sentence:literal;)+
        }
    ) => {
        $(#[$about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$doc])+ $variant = $code,)+
        }

        impl $name {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns its number, which never changes its meaning: it stands in the ledger's file.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The one with this number; an unknown number (from a newer release) is none.
            pub fn from_code(code: u8) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.code() == code)
            }

            /// A short word, for `Cache-Status`, the ledger and metrics.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $sentence,)+
                })
            }
        }
    };
}

reasons! {
    /// Why an answer is not stored.
    NotStored {
        /// Not a method whose answers are stored.
        Method = 1, "method", "answers to this method are not stored";
        /// A `POST` whose answer does not say that it is what a `GET` of this URL gives.
        PostElsewhere = 2, "post-elsewhere",
            "the answer to the POST has no Content-Location with the URL it was sent to";
        /// A `POST` whose answer has no explicit freshness.
        PostWithoutFreshness = 3, "post-no-freshness",
            "the answer to the POST does not say how long it is fresh";
        /// The client said `no-store`.
        RequestNoStore = 4, "request-no-store", "the client asked with Cache-Control: no-store";
        /// An interim answer, or a 304.
        NotFinal = 5, "not-final", "it is no final answer";
        /// A status that answers one client or one request only.
        Status = 6, "status", "its status is for this client or this request only";
        /// A status that is not stored without explicit freshness.
        StatusWithoutFreshness = 7, "status-no-freshness",
            "its status is stored only if the origin says how long it is fresh";
        /// `must-understand`, with a status that is not understood.
        NotUnderstood = 8, "must-understand", "must-understand, and its status is not a known one";
        /// `no-store`.
        NoStore = 9, "no-store", "the origin says no-store";
        /// `private`, and the cache is shared.
        Private = 10, "private", "the origin says private, and this cache is shared";
        /// Came for a name and password, and nothing says that others may have it.
        Authorization = 11, "authorization",
            "it came for a name and password, and the origin says neither public, must-revalidate \
             nor s-maxage";
        /// An answer that sets a cookie: it does not say how long it may be kept, or the cache
        /// stores none such.
        SetCookie = 12, "set-cookie",
            "it sets a cookie, which is for one person";
        /// `Vary: *`.
        VaryStar = 13, "vary-star", "it varies by more than the request's fields (Vary: *)";
        /// `Vary` names more, or fields larger, than can be kept.
        VaryTooLarge = 14, "vary-too-large",
            "it varies by more fields, or larger ones, than can be kept";
        /// Nothing says how long it may be kept, and it cannot be asked about.
        NoFreshness = 15, "no-freshness",
            "the origin does not say how long it is fresh, and it has neither ETag nor \
             Last-Modified";
        /// `no-cache`, and it cannot be asked about.
        NoCache = 16, "no-cache",
            "the origin wants to be asked before every use (no-cache), and it has neither ETag nor \
             Last-Modified to ask by";
        /// Is stale already, and cannot be asked about.
        StaleAtOnce = 17, "stale-at-once",
            "it is stale already, and has neither ETag nor Last-Modified";
        /// A part without a strong validator: no other part could be put to it.
        PartWithoutValidator = 18, "part-no-validator",
            "it is a part without a strong validator, so no other part can be put to it";
        /// A part whose `Content-Range` is missing, malformed or at odds with its length or with
        /// what is stored.
        ContentRange = 19, "content-range",
            "it is a part, and its Content-Range is missing, malformed, without a total, or at \
             odds with its length";
        /// Several parts at once.
        Multipart = 20, "multipart", "it is several parts at once";
        /// More tags than can be kept.
        Tags = 21, "tags", "it has more tags than can be kept, and a purge must not miss it";
        /// The head is larger than the store keeps.
        HeadTooLarge = 22, "head-too-large", "its head is too large";
        /// The body is larger than can be kept, or than can be kept when it is asked for once.
        TooLarge = 23, "too-large", "its body is larger than can be kept now";
        /// The memory has no room for another fetch.
        NoRoom = 24, "no-room", "memory is full of bodies on their way: raise `memory`";
        /// The settings name its URL.
        Never = 25, "never", "the settings say that answers of this URL are never stored";
        /// Came over an intercepted connection to an address that its host does not lead to.
        HostUnverified = 26, "host-unverified",
            "its host does not lead to the address that the client has connected to";
        /// A redirect, of which the cache stores none.
        Redirect = 27, "redirect", "it is a redirect, and the settings say that none is stored";
    }
}

reasons! {
    /// What use a cache was to a request: how it answered, or why it did not.
    CacheUse {
        /// No cache was asked: the door has none, or the request is none of a cache's business.
        NotAsked = 0, "not-asked", "no cache was asked";
        /// Answered from what is stored and fresh.
        Hit = 1, "hit", "it was stored and fresh";
        /// Answered by what another client's request brought.
        Collapsed = 2, "collapsed", "another client's request for it was under way";
        /// Sent stale: the client takes it so.
        MaxStale = 3, "max-stale", "it was stale, and the client takes it so (max-stale)";
        /// Sent stale while a new one is fetched, as the origin allows.
        WhileRevalidate = 4, "stale-while-revalidate",
            "it was stale, and the origin allows that while a new one is fetched \
             (stale-while-revalidate)";
        /// Sent stale in place of an error, as the origin or the client allows.
        IfError = 5, "stale-if-error",
            "it was stale, the origin failed, and stale-if-error allows it";
        /// Sent stale because the origin cannot be reached.
        Unreachable = 6, "unreachable", "it was stale, and the origin could not be reached";
        /// Sent stale because the origin answers with an error.
        Failing = 7, "failing", "it was stale, and the origin answered with an error";
        /// Sent stale while a new one is fetched, as this cache is set.
        Relaxed = 8, "relaxed",
            "it was stale, and this cache serves stale answers while new ones are fetched";
        /// Sent stale because this cache is offline.
        Offline = 9, "offline", "it was stale, and this cache is offline";
        /// 504: the client wants only what is stored.
        OnlyIfCached = 10, "only-if-cached",
            "nothing was stored that could be sent, and the client wants nothing else \
             (only-if-cached)";
        /// 504: this cache is offline.
        OfflineMiss = 11, "offline-miss",
            "nothing was stored that could be sent, and this cache is offline";
        /// The origin was asked past the cache.
        Bypass = 12, "bypass", "the cache could not be used for it";
        /// Nothing was stored for the URL.
        UriMiss = 13, "uri-miss", "nothing was stored for the URL";
        /// What was stored for the URL is another variant.
        VaryMiss = 14, "vary-miss", "what was stored for the URL is for other requests (Vary)";
        /// Only some of the bytes were stored.
        Partial = 15, "partial", "only its front was stored";
        /// Was stale.
        Stale = 16, "stale", "what was stored was stale, so the origin was asked";
        /// The origin wants to be asked each time.
        NoCache = 17, "no-cache",
            "what was stored is asked about each time, as the origin wants (no-cache)";
        /// The client wants the origin to be asked.
        ClientNoCache = 18, "client-no-cache", "the client wants the origin to be asked (no-cache)";
        /// The client wants nothing that old.
        ClientMaxAge = 19, "client-max-age", "the client wants nothing that old (max-age)";
        /// The client wants it to stay fresh for longer.
        ClientMinFresh = 20, "client-min-fresh",
            "the client wants it to stay fresh for longer (min-fresh)";
        /// Preconditions are for the origin to judge.
        Precondition = 21, "precondition", "its preconditions are for the origin to judge";
        /// The method is not answered from what is stored, or a `HEAD` found nothing.
        Method = 22, "method",
            "a HEAD for what is not stored, or a method that is not answered from what is stored";
        /// Answered from what another machine of the fleet has stored.
        Fleet = 23, "fleet", "another machine of the fleet had stored it, and it was fresh";
    }
}

/// Holds what a door's cache did with a request, and with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caching {
    /// How it answered, or why it did not.
    pub outcome: CacheUse,
    /// Why the answer was not stored, as far as its head says; none where it was, and where nothing
    /// came.
    pub not_stored: Option<NotStored>,
}

impl Caching {
    /// No cache was asked.
    pub const NONE: Self = Self { outcome: CacheUse::NotAsked, not_stored: None };

    /// A fresh hit.
    pub const HIT: Self = Self { outcome: CacheUse::Hit, not_stored: None };

    /// Both numbers in one; 0 is [`Self::NONE`].
    pub const fn code(self) -> u16 {
        let not_stored = match self.not_stored {
            None => 0,
            Some(why) => why.code(),
        };
        u16::from_le_bytes([self.outcome.code(), not_stored])
    }

    /// Returns what a number stands for; what is unknown in it reads as nothing.
    pub fn from_code(code: u16) -> Self {
        let [used, not_stored] = code.to_le_bytes();
        Self {
            outcome: CacheUse::from_code(used).unwrap_or(CacheUse::NotAsked),
            not_stored: NotStored::from_code(not_stored),
        }
    }
}

impl fmt::Display for Caching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.outcome)?;
        match self.not_stored {
            None => Ok(()),
            Some(why) => write!(f, "; the answer was not stored: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_reason_has_a_word_and_a_sentence_of_its_own() {
        let words: HashSet<_> = NotStored::ALL.iter().map(|it| it.word()).collect();
        let texts: HashSet<_> = NotStored::ALL.iter().map(ToString::to_string).collect();
        assert_eq!((words.len(), texts.len()), (NotStored::ALL.len(), NotStored::ALL.len()));
        let words: HashSet<_> = CacheUse::ALL.iter().map(|it| it.word()).collect();
        let texts: HashSet<_> = CacheUse::ALL.iter().map(ToString::to_string).collect();
        assert_eq!((words.len(), texts.len()), (CacheUse::ALL.len(), CacheUse::ALL.len()));
    }

    #[test]
    fn every_pair_is_read_back_from_its_number() {
        let reasons = NotStored::ALL.iter().copied().map(Some).chain([None]);
        let all = reasons.flat_map(|not_stored| {
            CacheUse::ALL.iter().map(move |used| Caching { outcome: *used, not_stored })
        });
        for caching in all {
            assert_eq!(Caching::from_code(caching.code()), caching);
        }
        assert_eq!(Caching::NONE.code(), 0, "rows that are older than these numbers");
        assert_eq!(Caching::from_code(u16::MAX), Caching::NONE);
        assert_eq!(NotStored::from_code(0), None);
    }

    #[test]
    fn both_reasons_are_said() {
        let caching = Caching { outcome: CacheUse::UriMiss, not_stored: Some(NotStored::NoStore) };
        assert_eq!(
            caching.to_string(),
            "nothing was stored for the URL; the answer was not stored: the origin says no-store"
        );
        assert_eq!(Caching::HIT.to_string(), "it was stored and fresh");
    }
}
