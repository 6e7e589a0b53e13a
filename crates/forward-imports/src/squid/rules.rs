//! Destinations of ACLs as rules of lists.

use super::SquidReader;
use super::acls::{AclMeaning, AclValue, DestinationKind};
use crate::draft::ImportDraft;
use crate::lists::RuleOrigin;
use policy::ListKind;

impl SquidReader {
    /// Blocks the destinations of an ACL, for some clients or for all.
    pub(super) fn blocks(
        &self,
        acl: &str,
        sources: Option<&[String]>,
        draft: &mut ImportDraft<'_>,
    ) {
        self.destinations(acl, ListKind::Block, sources, draft);
    }

    /// Lets the destinations of an ACL pass, for these clients.
    pub(super) fn exceptions(&self, acl: &str, sources: &[String], draft: &mut ImportDraft<'_>) {
        let sources = Some(sources).filter(|it| !super::access::is_everybody(it));
        self.destinations(acl, ListKind::Allow, sources, draft);
    }

    fn destinations(
        &self,
        acl: &str,
        kind: ListKind,
        sources: Option<&[String]>,
        draft: &mut ImportDraft<'_>,
    ) {
        let AclMeaning::Destinations(written) = self.acls.meaning(acl) else { return };
        let list = match sources {
            None => acl.to_owned(),
            Some(sources) => format!("{acl} for {}", sources.first().map_or("", String::as_str)),
        };
        let of_some = |rule: &str, client: &str| match kind {
            ListKind::Block => format!("{rule}$client={client}"),
            ListKind::Allow => format!("@@{rule}$client={client}"),
        };
        if written == DestinationKind::Domains {
            for (rule, AclValue { text, place }) in self.acls.domains(acl) {
                match sources {
                    None => draft.lists.rule(&list, kind, rule, RuleOrigin::new(&place, &text)),
                    Some(sources) => {
                        let wide = if rule.starts_with("||") { rule } else { format!("||{rule}^") };
                        let clients = sources.join("|");
                        let rule = of_some(&wide, &clients);
                        let told = RuleOrigin::new(&place, &text);
                        draft.lists.rule(&list, ListKind::Block, rule, told);
                    }
                }
            }
            return;
        }
        let values = self.acls.get(acl).map(|it| it.values.as_slice()).unwrap_or_default();
        if let Some(first) = values.first()
            && sources.is_none()
        {
            let syntax = if written == DestinationKind::DomainExpressions {
                "# syntax: domain_regex"
            } else {
                "# syntax: url_regex"
            };
            let told = RuleOrigin::new(&first.place, "regular expressions");
            draft.lists.rule(&list, kind, syntax, told);
        }
        for AclValue { text, place } in values {
            let told = RuleOrigin::new(place, text);
            let (expression, difference) = expression(text, written);
            let rule = match sources {
                None => expression,
                Some(sources) => {
                    of_some(&format!("/{}/", expression.replace('/', "\\/")), &sources.join("|"))
                }
            };
            let kind = if sources.is_none() { kind } else { ListKind::Block };
            draft.lists.rule_with(&list, kind, rule, told, difference);
        }
    }
}

/// An expression as it is held against a name or a URL.
fn expression(text: &str, written: DestinationKind) -> (String, Option<String>) {
    match (written, text.strip_prefix('^')) {
        (DestinationKind::PathExpressions, Some(rest)) => (format!("^[a-z]+://[^/]+{rest}"), None),
        (DestinationKind::PathExpressions, None) => {
            (text.to_owned(), Some("it is held against the whole URL".to_owned()))
        }
        _ => (text.to_owned(), None),
    }
}
