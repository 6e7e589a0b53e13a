//! An ask on its way through the rules: with the URL in lower case, and what is known of the page
//! worked out once, when a rule first wants it.

use crate::ask::Ask;
use crate::clients::tags::ClientTags;
use crate::fingerprint::HashKeys;
use crate::profiles::ProfileStanding;
use crate::settings::UnlistedAction;
use crate::urls::conditions::{ADDRESSES, RuleClient};
use crate::urls::tokens;
use filter_patterns::{CaseMatching, MatchSubject, PatternTarget};
use std::cell::OnceCell;
use std::net::IpAddr;
use vocab::{Door, Name, RequestKind};

/// Longest URL that is looked at, in bytes; what lies beyond is cut. Rules name hosts, paths and
/// the first parameters; Internet Explorer's limit taught sites to stay below.
pub(crate) const URL_BYTES_MAX: usize = 2048;
/// Tokens of a host that are kept for the next index: real names hold a handful. Those of a host
/// with more are found again each time.
const HOST_TOKENS_KEPT: usize = 12;
/// Most parents of a page's host that `domain=` is held against; deeper names are cut at the left.
const PAGE_NAMES_MAX: usize = 24;

/// An ask, with all that rules want to know of it.
pub(crate) struct RuleRequest<'a> {
    ask: &'a Ask<'a>,
    keys: &'a HashKeys,
    profile: ProfileStanding<'a>,
    host: MatchSubject<'a>,
    url: Option<UrlSpellings<'a>>,
    host_tokens: OnceCell<HostTokens>,
    third_party: OnceCell<Option<bool>>,
    page: OnceCell<PageNames>,
}

/// A URL as it came, and in lower case.
#[derive(Clone, Copy)]
struct UrlSpellings<'a> {
    exact: MatchSubject<'a>,
    lower: MatchSubject<'a>,
}

/// The tokens of the host, if they are few.
#[derive(Default)]
struct HostTokens {
    hashes: [u64; HOST_TOKENS_KEPT],
    len: usize,
}

/// The fingerprints of a page's host and its parents, and of `example.*` for them.
#[derive(Default)]
struct PageNames {
    hashes: [u64; PAGE_NAMES_MAX],
    len: usize,
}

impl<'a> RuleRequest<'a> {
    /// A request for a name.
    pub(crate) fn of_name(
        ask: &'a Ask<'a>,
        keys: &'a HashKeys,
        profile: ProfileStanding<'a>,
    ) -> Self {
        Self {
            ask,
            keys,
            profile,
            host: MatchSubject::host(ask.host.as_str().as_bytes()),
            url: None,
            host_tokens: OnceCell::new(),
            third_party: OnceCell::new(),
            page: OnceCell::new(),
        }
    }

    /// A request for a URL, which is written into `lower` in lower case.
    pub(crate) fn of_url(
        ask: &'a Ask<'a>,
        url: &'a str,
        lower: &'a mut [u8; URL_BYTES_MAX],
        keys: &'a HashKeys,
        standing: ProfileStanding<'a>,
    ) -> Self {
        let exact = &url.as_bytes()[..url.len().min(URL_BYTES_MAX)];
        let lower = &mut lower[..exact.len()];
        lower.copy_from_slice(exact);
        lower.make_ascii_lowercase();
        let lower = MatchSubject::url(lower);
        let spellings = UrlSpellings { exact: lower.with_text(exact), lower };
        Self { url: Some(spellings), ..Self::of_name(ask, keys, standing) }
    }

    pub(crate) fn host_name(&self) -> &'a str {
        self.ask.host.as_str()
    }

    pub(crate) fn host(&self) -> Name<'a> {
        self.ask.host
    }

    pub(crate) fn url(&self) -> Option<&'a str> {
        self.ask.url
    }

    pub(crate) fn kind(&self) -> RequestKind {
        self.ask.kind
    }

    pub(crate) fn keys(&self) -> &'a HashKeys {
        self.keys
    }

    pub(crate) fn has_url(&self) -> bool {
        self.url.is_some()
    }

    /// True if a list is among those of the client.
    #[inline]
    pub(crate) fn in_profile(&self, list: u8) -> bool {
        self.profile.lists >> (list & 63) & 1 == 1
    }

    /// The URL in lower case.
    pub(crate) fn url_text(&self) -> Option<&'a [u8]> {
        self.url.map(|url| url.lower.text)
    }

    /// Returns what a pattern is held against; the host where there is no URL.
    pub(crate) fn subject(&self, place: PatternTarget, case: CaseMatching) -> MatchSubject<'a> {
        match (place, self.url, case) {
            (PatternTarget::Url, Some(url), CaseMatching::Same) => url.lower,
            (PatternTarget::Url, Some(url), CaseMatching::Differs) => url.exact,
            (PatternTarget::Url, None, _) | (PatternTarget::Host, _, _) => self.host,
        }
    }

    /// Shows the tokens of the host.
    #[inline]
    pub(crate) fn for_each_host_token(&self, mut found: impl FnMut(u64)) {
        let tokens = self.host_tokens.get_or_init(|| HostTokens::of(self.host_name()));
        match tokens.hashes.get(..tokens.len) {
            Some(hashes) => hashes.iter().for_each(|hash| found(*hash)),
            None => tokens::of_text(self.host_name().as_bytes(), found),
        }
    }

    /// Returns whether host and page belong to different owners; none where the page is unknown.
    pub(crate) fn is_third_party(&self) -> Option<bool> {
        *self.third_party.get_or_init(|| {
            let page = self.ask.page?;
            Some(site_of(page.as_str()) != site_of(self.host_name()))
        })
    }

    /// True if the page's host or a parent of it is among these fingerprints.
    pub(crate) fn page_is_among(&self, sorted: &[u64]) -> bool {
        self.page_names().iter().any(|hash| sorted.binary_search(hash).is_ok())
    }

    /// The fingerprints of the page's host and parents; none where the page is unknown.
    pub(crate) fn page_names(&self) -> &[u64] {
        let names = self.page.get_or_init(|| {
            self.ask.page.map_or_else(PageNames::default, |page| PageNames::of(page, self.keys))
        });
        &names.hashes[..names.len]
    }

    /// True if the wanted host or a parent of it is among these fingerprints.
    pub(crate) fn host_is_among(&self, sorted: &[u64]) -> bool {
        // The mark for all addresses is the least of numbers, so it stands first.
        if sorted.first() == Some(&ADDRESSES) && self.host_name().parse::<IpAddr>().is_ok() {
            return true;
        }
        self.keys
            .suffixes(self.host_name())
            .any(|(name, _)| sorted.binary_search(&name.hash).is_ok())
    }

    pub(crate) fn client_is(&self, client: &RuleClient) -> bool {
        match client {
            RuleClient::Network(network) => network.contains(self.ask.client),
            RuleClient::Name(name) => {
                *name == self.profile.profile.name
                    || self.ask.identity.and_then(|who| who.id).is_some_and(|id| *id == **name)
            }
        }
    }

    /// True if the request is blocked unless a rule lets it pass. Our own sites need no rule.
    pub(crate) fn is_blocked_unlisted(&self) -> bool {
        self.profile.unlisted == UnlistedAction::Block
            && !matches!(self.ask.door, Door::Web | Door::Gateway)
    }

    pub(crate) fn client_tags(&self) -> ClientTags {
        self.profile.profile.tags
    }
}

impl HostTokens {
    fn of(host: &str) -> Self {
        let mut tokens = Self::default();
        tokens::of_text(host.as_bytes(), |hash| {
            if let Some(slot) = tokens.hashes.get_mut(tokens.len) {
                *slot = hash;
            }
            tokens.len += 1;
        });
        tokens
    }
}

impl PageNames {
    fn of(page: Name<'_>, keys: &HashKeys) -> Self {
        let mut names = Self::default();
        let page = page.as_str();
        let suffix = psl::suffix(page.as_bytes()).map_or(0, |suffix| suffix.as_bytes().len());
        let stem = page[..page.len() - suffix].trim_end_matches('.');
        // Entities are few and come first, so that a name of many labels cannot crowd them out.
        for suffixes in [keys.entities(stem), keys.suffixes(page)] {
            for (name, _) in suffixes.take(PAGE_NAMES_MAX / 2) {
                names.hashes[names.len] = name.hash;
                names.len += 1;
            }
        }
        names
    }
}

/// The site of a host: the name somebody registered, by the Public Suffix List; a host without one
/// stands for itself.
pub fn site_of(host: &str) -> &str {
    psl::domain_str(host).unwrap_or(host)
}
