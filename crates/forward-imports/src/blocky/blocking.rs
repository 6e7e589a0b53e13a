//! Groups of lists, and which hold for whom.

use super::BlockyFile;
use crate::draft::ImportDraft;
use crate::lists::RuleOrigin;
use crate::placed_yaml::PlacedNode;
use crate::words;
use policy::ListKind;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Names of lists by group.
type GroupLists = BTreeMap<String, Vec<String>>;

/// A group of lists of one kind.
struct BlockyGroup<'g> {
    name: &'g str,
    kind: ListKind,
    /// Further keys of its lists.
    more: &'g [(&'g str, Value)],
}

impl BlockyFile<'_> {
    pub(super) fn blocking(&self, draft: &mut ImportDraft<'_>) {
        let refresh = self.any(&["blocking.loading.refreshPeriod", "blocking.refreshPeriod"]);
        // Minutes where no unit is written.
        let span = refresh.and_then(PlacedNode::text).and_then(|said| {
            let minutes = || said.parse::<u64>().ok().map(|it| it.saturating_mul(60_000));
            words::go_span_ms(said).or_else(minutes)
        });
        let more: Vec<(&str, Value)> = match span {
            Some(ms) if ms > 0 && ms != 86_400_000 => {
                vec![("refresh", json!(words::bounded(ms, 600_000, 30 * 86_400_000).0))]
            }
            _ => Vec::new(),
        };
        let mut groups = GroupLists::new();
        let kinds: [(&[&str], ListKind); 2] = [
            (&["blocking.denylists", "blocking.blackLists"], ListKind::Block),
            (&["blocking.allowlists", "blocking.whiteLists"], ListKind::Allow),
        ];
        for (paths, kind) in kinds {
            let node = self.any(paths);
            for (group, sources) in node.map(PlacedNode::entries).unwrap_or_default() {
                for source in sources.items() {
                    let lists = groups.entry(group.clone()).or_default();
                    let group = BlockyGroup { name: group, kind, more: &more };
                    self.source(&group, source, lists, draft);
                }
            }
        }
        self.answer(draft);
        self.client_groups(&groups, draft);
        self.any(&["blocking.loading"]).map(PlacedNode::see_all).unwrap_or_default();
        let old = ["downloadTimeout", "downloadAttempts", "downloadCooldown", "startStrategy"];
        for key in old.iter().chain(&["processingConcurrency", "failStartOnListError"]) {
            let path = format!("blocking.{key}");
            self.any(&[path.as_str()]).map(PlacedNode::see_all).unwrap_or_default();
        }
    }

    /// One source of a group: a URL, a file, or rules on lines of their own.
    fn source(
        &self,
        group: &BlockyGroup<'_>,
        source: &PlacedNode,
        lists: &mut Vec<String>,
        draft: &mut ImportDraft<'_>,
    ) {
        let BlockyGroup { name: group, kind, more } = *group;
        let said = source.text().unwrap_or_default();
        let place = self.place(source);
        if said.contains('\n') {
            let list = match kind {
                ListKind::Block => format!("{group}, own rules"),
                ListKind::Allow => format!("{group}, own exceptions"),
            };
            for rule in said.lines().map(str::trim) {
                if !rule.is_empty() && !rule.starts_with('#') {
                    let told = RuleOrigin::new(&place, rule);
                    draft.lists.rule(&list, kind, rule, told);
                }
            }
            if !lists.contains(&list) {
                lists.push(list);
            }
            return;
        }
        let end = said.trim_end_matches('/').rsplit('/').next().unwrap_or(said);
        match draft.lists.subscribe(&format!("{group} {end}"), kind, said, more) {
            Some(list) => {
                draft.report.carried(&place, said, &format!("policy.lists, {list}"));
                lists.push(list);
            }
            None => draft.report.left_out(&place, said, "48 lists have room: join some"),
        }
    }

    /// The answer for blocked names.
    fn answer(&self, draft: &mut ImportDraft<'_>) {
        if let Some(node) = self.any(&["blocking.blockType"]) {
            let said = node.text().unwrap_or_default();
            let place = self.place(node);
            let source = format!("blockType: {said}");
            match said.to_ascii_lowercase().as_str() {
                "zeroip" => {
                    draft.sections.set("dns", "blocked", "null");
                    draft.report.carried(&place, &source, "dns.blocked");
                }
                "nxdomain" => {
                    draft.sections.set("dns", "blocked", "nxdomain");
                    draft.report.carried(&place, &source, "dns.blocked");
                }
                _ => {
                    let why = "an address is the pixel door's: write pixel, and dns.blocked: pixel";
                    draft.report.changed(&place, &source, "dns.blocked", why);
                }
            }
        }
        if let Some(node) = self.any(&["blocking.blockTTL"])
            && let Some(ms) = node.text().and_then(words::go_span_ms)
        {
            draft.sections.set("dns", "blocked_ttl", words::bounded(ms, 0, 86_400_000).0);
            draft.report.carried(&self.place(node), "blockTTL", "dns.blocked_ttl");
        }
    }

    /// Clients with the groups that hold for them.
    fn client_groups(&self, groups: &GroupLists, draft: &mut ImportDraft<'_>) {
        let node = self.any(&["blocking.clientGroupsBlock"]);
        // Without any, no list holds.
        draft.default_lists = Some(Vec::new());
        for (client, value) in node.map(PlacedNode::entries).unwrap_or_default() {
            let names = value.items().iter().filter_map(PlacedNode::text);
            let lists: Vec<String> =
                names.flat_map(|name| groups.get(name).cloned().unwrap_or_default()).collect();
            let (place, said) = (self.place(value), format!("clientGroupsBlock: {client}"));
            if client == "default" {
                draft.default_lists = Some(lists);
                draft.report.carried(&place, &said, "policy.default.lists");
            } else if let Some(network) = words::network(client) {
                let entry = json!({ "name": client, "match": [network], "lists": lists });
                draft.clients.push(entry);
                draft.report.carried(&place, &said, "policy.clients");
            } else {
                let why = "clients are known by addresses: write its own in match";
                draft.report.left_out(&place, &said, why);
            }
        }
    }
}
