//! Polipo's cache, said in our words: what it holds, and how long answers are fresh.

use super::PolipoImport;
use super::values::{PolipoDegree, PolipoSetting};
use serde_json::json;

/// The smallest cache that we have.
const MEMORY_MIN: u64 = 256 << 10;
/// The most for which an answer is fresh that says nothing, where it is not set.
const DAY_SECS: u64 = 24 * 60 * 60;
/// The most that `freshness` takes.
const FRESH_SECS_MAX: u64 = 3650 * DAY_SECS;

impl PolipoImport {
    pub(super) fn store(&mut self) {
        if let Some((said, bytes)) = self.read("chunkHighMark", PolipoSetting::number) {
            if bytes < MEMORY_MIN {
                self.note(&said, "the smallest cache has 256 KiB");
            }
            let bytes = bytes.max(MEMORY_MIN);
            let size = match bytes % 1024 {
                0 => format!("{}KiB", bytes / 1024),
                _ => format!("{bytes}B"),
            };
            self.cache.push(("memory", json!(size)));
        }
        let relaxed =
            self.read("relaxTransparency", PolipoSetting::degree).map(|(_, degree)| degree);
        let offline = self.read("proxyOffline", PolipoSetting::degree).map(|(_, degree)| degree);
        let stale = match (offline, relaxed) {
            (Some(PolipoDegree::Yes | PolipoDegree::Maybe), _) => Some("offline"),
            (_, Some(PolipoDegree::Yes)) => Some("always"),
            (_, Some(PolipoDegree::Maybe)) => Some("unreachable"),
            (_, Some(PolipoDegree::No)) => Some("never"),
            (Some(PolipoDegree::No) | None, None) => None,
        };
        self.cache.extend(stale.map(|stale| ("stale", json!(stale))));
        if let Some((said, _)) = self.text("diskCacheRoot") {
            let why = "its files are not read; the folder is a new one, below the state folder";
            self.note(&said, why);
            self.cache.push(("disk", json!({ "path": "proxy-cache" })));
        }
        if let Some((_, shared)) = self.read("cacheIsShared", PolipoSetting::degree)
            && shared == PolipoDegree::No
        {
            self.cache.push(("shared", json!(false)));
        }
        for (name, setting) in
            [("dontCacheCookies", "store_cookies"), ("dontCacheRedirects", "store_redirects")]
        {
            if let Some((_, PolipoDegree::Yes)) = self.read(name, PolipoSetting::degree) {
                self.cache.push((setting, json!(false)));
            }
        }
        self.freshness();
        if self.cache.is_empty() {
            // Polipo always has one.
            self.cache.push(("memory", json!("256MiB")));
        }
    }

    /// Polipo's times hold for every URL.
    fn freshness(&mut self) {
        let percent = self.read("maxAgeFraction", PolipoSetting::percent);
        let [least, most, explicit] = ["maxNoModifiedAge", "maxAge", "maxExpiresAge"]
            .map(|name| self.read(name, PolipoSetting::seconds));
        let mut rule = serde_json::Map::new();
        if let Some((_, percent)) = percent {
            rule.insert("last_modified_percent".into(), json!(percent));
        }
        let most_secs = most.as_ref().map_or(DAY_SECS, |(_, secs)| *secs);
        if let Some((said, secs)) = &least
            && *secs > most_secs
        {
            self.note(
                said,
                "what says nothing is fresh for maxAge at most, a day where it is not set",
            );
        }
        let least = least.map(|(said, secs)| (said, secs.min(most_secs)));
        for (key, found) in [("min", least), ("max", most), ("explicit_max", explicit)] {
            let Some((said, secs)) = found else { continue };
            if secs > FRESH_SECS_MAX {
                self.note(&said, "ten years is the most that is set");
            }
            rule.insert(key.into(), json!(format!("{}s", secs.min(FRESH_SECS_MAX))));
        }
        if !rule.is_empty() {
            self.cache.push(("freshness", json!([rule])));
        }
    }
}
