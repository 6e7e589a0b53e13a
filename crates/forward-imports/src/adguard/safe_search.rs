//! Safe search: names of search engines that lead to their safe mode.
//!
//! Each engine says itself to which name its own are to lead.

use super::AdGuardFile;
use crate::draft::ImportDraft;
use crate::lists::{DraftLists, RuleOrigin};
use crate::placed_yaml::PlacedNode;
use policy::ListKind;

/// Engines, patterns of their names, and the safe name.
const ENGINES: [(&str, &[&str], &str); 6] = [
    ("bing", &["|www.bing.com^"], "strict.bing.com"),
    (
        "duckduckgo",
        &["|duckduckgo.com^", "|www.duckduckgo.com^", "|start.duckduckgo.com^"],
        "safe.duckduckgo.com",
    ),
    ("ecosia", &["|www.ecosia.org^"], "strict-safe-search.ecosia.org"),
    ("google", &[r"/^www\.google\.[a-z]+(\.[a-z]+)?$/"], "forcesafesearch.google.com"),
    ("pixabay", &["|pixabay.com^"], "safesearch.pixabay.com"),
    (
        "youtube",
        &[
            "|www.youtube.com^",
            "|m.youtube.com^",
            "|youtubei.googleapis.com^",
            "|youtube.googleapis.com^",
            "|www.youtube-nocookie.com^",
        ],
        "restrict.youtube.com",
    ),
];

/// Adds the rules of one engine; none where it is not known.
fn engine(list: &str, wanted: &str, told: RuleOrigin<'_>, lists: &mut DraftLists) -> Option<()> {
    let (_, patterns, safe) = ENGINES.iter().find(|(name, ..)| *name == wanted)?;
    for pattern in *patterns {
        let rule = format!("{pattern}$dnsrewrite={safe}");
        lists.rule(list, ListKind::Block, rule, told);
    }
    Some(())
}

/// Adds all engines.
pub(super) fn all(list: &str, told: RuleOrigin<'_>, lists: &mut DraftLists) {
    for (name, ..) in ENGINES {
        let _ = engine(list, name, told, lists);
    }
}

impl AdGuardFile<'_> {
    /// Rules of the engines that are on, in a list of this name.
    pub(super) fn safe_search(
        &self,
        node: Option<&PlacedNode>,
        list: &str,
        draft: &mut ImportDraft<'_>,
    ) {
        let Some(node) = node else { return };
        let is_on = node.get("enabled").and_then(PlacedNode::truth) == Some(true);
        for (key, value) in node.entries().iter().filter(|(key, _)| key != "enabled") {
            if !is_on || value.truth() != Some(true) {
                continue;
            }
            let (place, said) = (self.place(value), format!("safe_search.{key}: true"));
            if engine(list, key, RuleOrigin::new(&place, &said), &mut draft.lists).is_none() {
                let why = "it has no safe name: write a dnsrewrite rule with its address";
                draft.report.left_out(&place, &said, why);
            }
        }
        node.see_all();
    }
}
