//! Action files: sections of actions, each with the patterns that they hold for.

use super::patterns;
use crate::draft::ImportDraft;
use crate::lists::RuleOrigin;
use import_report::NotePlace;
use policy::ListKind;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Aliases, at most; those beyond are not known.
const ALIASES_MAX: usize = 500;
/// Characters of a section's actions with its aliases, at most.
const ACTIONS_MAX: usize = 16 << 10;

/// Effect of a section on its patterns, as far as it is carried over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SectionEffect {
    Block,
    Allow,
    Nothing,
}

/// Reads an action file.
pub(super) fn read(file: &Arc<str>, text: &str, draft: &mut ImportDraft<'_>) {
    let mut aliases = BTreeMap::<String, String>::new();
    let (mut in_aliases, mut in_settings) = (false, false);
    let mut effect = SectionEffect::Nothing;
    let list = format!("blocks of {}", file.rsplit('/').next().unwrap_or(file));
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let place = NotePlace::new(file, index + 1);
        let mut said = without_remark(line).to_owned();
        while said.ends_with('\\') {
            said.pop();
            let Some((_, more)) = lines.next() else { break };
            said.push_str(without_remark(more));
        }
        if said.is_empty() {
            continue;
        }
        if said.starts_with("{{") {
            in_aliases = said.starts_with("{{alias");
            in_settings = !in_aliases;
        } else if said.starts_with('{') {
            (in_aliases, in_settings) = (false, false);
            let actions = expanded(said.trim_matches(['{', '}']), &aliases);
            effect = section(&said, &actions, &place, draft);
        } else if in_aliases {
            if let Some((name, actions)) = said.split_once('=')
                && aliases.len() < ALIASES_MAX
            {
                let actions = expanded(actions, &aliases);
                aliases.insert(name.trim().to_ascii_lowercase(), actions);
            }
        } else if !in_settings {
            pattern(RuleOrigin::new(&place, &said), effect, &list, draft);
        }
    }
}

/// A pattern of a section.
fn pattern(told: RuleOrigin<'_>, effect: SectionEffect, list: &str, draft: &mut ImportDraft<'_>) {
    let RuleOrigin { place, said } = told;
    let block = match effect {
        SectionEffect::Nothing => return,
        SectionEffect::Block => true,
        SectionEffect::Allow => false,
    };
    match patterns::rule(said) {
        Some(rule) if block => draft.lists.rule(list, ListKind::Block, rule, told),
        Some(rule) => {
            let list = format!("{list}, exceptions");
            draft.lists.rule(&list, ListKind::Allow, rule, told);
        }
        None if said == "/" && !block => draft.report.carried(place, said, "what no rule blocks"),
        None => draft.report.left_out(place, said, "it is no pattern of URLs"),
    }
}

/// Effect of a section; all that is not about blocks is told of once.
fn section(
    said: &str,
    actions: &str,
    place: &NotePlace,
    draft: &mut ImportDraft<'_>,
) -> SectionEffect {
    let mut effect = SectionEffect::Nothing;
    let mut others = Vec::new();
    for action in split(actions) {
        let name = action.split('{').next().unwrap_or(&action).trim();
        match name {
            "+block" => effect = SectionEffect::Block,
            "-block" => effect = SectionEffect::Allow,
            "+handle-as-image"
            | "+handle-as-empty-document"
            | "+set-image-blocker"
            | "-handle-as-image" => {}
            name if name.starts_with('+') => others.push(name.to_owned()),
            _ => {}
        }
    }
    if !others.is_empty() {
        let why = format!(
            "{}: blocks are carried over; fields and bodies are censor's, proxy.script's",
            others.join(" ")
        );
        draft.report.left_out(place, said, &why);
    } else if effect != SectionEffect::Nothing {
        draft.report.carried(place, said, "policy.lists");
    }
    effect
}

/// Actions of a section, each with its braces.
fn split(actions: &str) -> Vec<String> {
    let (mut found, mut one, mut depth) = (Vec::new(), String::new(), 0_usize);
    for c in actions.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            c if c.is_whitespace() && depth == 0 => {
                if !one.is_empty() {
                    found.push(std::mem::take(&mut one));
                }
                continue;
            }
            _ => {}
        }
        one.push(c);
    }
    if !one.is_empty() {
        found.push(one);
    }
    found
}

/// Actions with aliases put in; an alias holds those before it.
fn expanded(actions: &str, aliases: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    for action in split(actions) {
        let known = aliases.get(&action.to_ascii_lowercase());
        out.push_str(known.unwrap_or(&action));
        out.push(' ');
        if out.len() > ACTIONS_MAX {
            break;
        }
    }
    out
}

/// A line without the remark behind it.
fn without_remark(line: &str) -> &str {
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if c == '#' && before.is_whitespace() {
            return line[..at].trim();
        }
        before = c;
    }
    line.trim()
}
