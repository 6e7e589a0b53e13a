//! Clients that may ask: networks with what is done to each.

use super::UnboundOption;
use crate::draft::ImportDraft;
use import_report::NotePlace;
use serde_json::json;
use vocab::Network;

/// Networks as they were written, allowed and not.
#[derive(Default)]
pub(super) struct AccessRules {
    allow: Vec<Network>,
    deny: Vec<(Network, NotePlace, String)>,
}

impl AccessRules {
    pub(super) fn option(&mut self, option: &UnboundOption<'_>, draft: &mut ImportDraft<'_>) {
        let mut words = option.value.split_whitespace();
        let network = words.next().and_then(|it| it.parse::<Network>().ok());
        match (network, words.next()) {
            (Some(network), Some(action)) if action.starts_with("allow") => {
                self.allow.push(network);
                draft.report.carried(&option.place, option.said, "dns.access.allow");
            }
            (Some(network), Some(_)) => {
                self.deny.push((network, option.place.clone(), option.said.into()));
            }
            _ => draft.report.left_out(&option.place, option.said, "a network and what is done"),
        }
    }

    /// Unbound takes the narrowest network that fits, and refuses whom none names but this machine.
    pub(super) fn finish(mut self, draft: &mut ImportDraft<'_>) {
        let home = ["127.0.0.0/8", "::1/128"].map(|it| it.parse::<Network>().expect("it is one"));
        self.allow
            .extend(home.into_iter().filter(|it| !self.allow.contains(it)).collect::<Vec<_>>());
        let text = |it: &Network| format!("{}/{}", it.address(), it.prefix());
        let (mut denied, setting) = (Vec::new(), "dns.access.deny");
        for (network, place, said) in self.deny {
            let holds = |wide: &Network, narrow: &Network| {
                wide.contains(narrow.address()) && wide.prefix() < narrow.prefix()
            };
            if !self.allow.iter().any(|allowed| holds(allowed, &network) || *allowed == network) {
                draft.report.carried(&place, &said, "nobody else may ask");
                continue;
            }
            denied.push(text(&network));
            if self.allow.iter().any(|allowed| holds(&network, allowed)) {
                let why = "a network inside it that was allowed is not any more";
                draft.report.changed(&place, &said, setting, why);
            } else {
                draft.report.carried(&place, &said, setting);
            }
        }
        let allow: Vec<String> = self.allow.iter().map(text).collect();
        draft.sections.set_below("dns", "access", "allow", json!(allow));
        if !denied.is_empty() {
            draft.sections.set_below("dns", "access", "deny", json!(denied));
        }
    }
}
