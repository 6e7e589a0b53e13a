//! URLs that a server has named for a while: requests for the same spare asking it again.
//!
//! A bounded table by the URL that clients ask for, forgotten at a reload. It holds no body. Called
//! by the parent module.

use super::fields::RememberUrls;
use super::urls::NamedUrls;
use http::header::HeaderMap;
use http::{Response, response};
use quick_cache::sync::Cache;
use std::sync::Arc;
use vocab::Now;

/// Bytes of fields in one entry, at most; one with more is not remembered.
const FIELD_BYTES_MAX: usize = 8 << 10;

/// Holds what is remembered for URLs of a route.
#[derive(Debug)]
pub(super) struct RememberedUrls(Option<Cache<Box<str>, Arc<RememberedEntry>>>);

/// Holds what stands for one URL.
#[derive(Debug)]
pub(super) struct RememberedEntry {
    pub(super) named: NamedUrls,
    fields: HeaderMap,
    until_ms: u64,
}

impl RememberedUrls {
    /// Room for `count` URLs.
    pub(super) fn new(count: u32) -> Self {
        Self((count > 0).then(|| Cache::new(count as usize)))
    }

    /// Returns what stands for `url`.
    pub(super) fn get(&self, url: &str, now: Now) -> Option<Arc<RememberedEntry>> {
        let table = self.0.as_ref()?;
        let entry = table.get(url)?;
        if now.mono_ms >= entry.until_ms {
            table.remove(url);
            return None;
        }
        Some(entry)
    }

    /// Nothing is known of `url` any more.
    pub(super) fn forget(&self, url: &str) {
        if let Some(table) = &self.0 {
            table.remove(url);
        }
    }

    /// Remembers what the server has named for `url`, with these fields of its answer.
    pub(super) fn keep(&self, url: &str, entry: RememberedEntry) {
        let bytes: usize =
            entry.fields.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        if let Some(table) = &self.0
            && bytes <= FIELD_BYTES_MAX
        {
            table.insert(url.into(), Arc::new(entry));
        }
    }
}

impl RememberedEntry {
    pub(super) fn new(
        named: NamedUrls,
        answer: &HeaderMap,
        remember: &RememberUrls,
        now: Now,
    ) -> Self {
        let mut fields = HeaderMap::new();
        for name in &remember.fields {
            for value in answer.get_all(name) {
                fields.append(name, value.clone());
            }
        }
        let lasts = u64::try_from(remember.ttl.as_millis()).unwrap_or(u64::MAX);
        Self { named, fields, until_ms: now.mono_ms.saturating_add(lasts) }
    }

    /// The head that the server's answer would have.
    pub(super) fn head(&self) -> response::Parts {
        let (mut head, ()) = Response::new(()).into_parts();
        head.headers = self.fields.clone();
        head
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use http::header::{CONTENT_TYPE, ETAG, HeaderValue, LAST_MODIFIED};
    use std::time::Duration;

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    fn entry(fields: &[(http::HeaderName, &'static str)], now: Now) -> RememberedEntry {
        let answer = fields
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect();
        let remember =
            RememberUrls { ttl: Duration::from_secs(2), fields: vec![LAST_MODIFIED, CONTENT_TYPE] };
        let named = NamedUrls { targets: vec![], expected: None };
        RememberedEntry::new(named, &answer, &remember, now)
    }

    #[test]
    fn an_entry_has_the_fields_that_were_named_and_ends() {
        let table = RememberedUrls::new(8);
        table.keep("u", entry(&[(CONTENT_TYPE, "a/b"), (ETAG, "\"x\"")], at(1_000)));
        let head = table.get("u", at(2_999)).unwrap().head();
        assert_eq!(head.headers.keys().collect::<Vec<_>>(), [CONTENT_TYPE]);
        assert!(table.get("u", at(3_000)).is_none());
        assert!(table.get("u", at(1_000)).is_none(), "it was dropped");
    }

    #[test]
    fn there_is_a_cap_on_urls_and_on_fields() {
        let table = RememberedUrls::new(8);
        for number in 0..100 {
            table.keep(&number.to_string(), entry(&[], at(0)));
        }
        let left = (0..100).filter(|number| table.get(&number.to_string(), at(1)).is_some());
        assert!(left.count() <= 8);
        let long: &'static str = Box::leak("x".repeat(FIELD_BYTES_MAX).into_boxed_str());
        table.keep("long", entry(&[(CONTENT_TYPE, long)], at(0)));
        assert!(table.get("long", at(1)).is_none());
        let none = RememberedUrls::new(0);
        none.keep("u", entry(&[], at(0)));
        assert!(none.get("u", at(0)).is_none());
    }
}
