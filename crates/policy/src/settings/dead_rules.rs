//! Rules of the configuration that do nothing: whoever writes a rule means it.
//!
//! Lists from elsewhere hold what other programs understand, so their lines are skipped and
//! counted. A rule that stands in the configuration is this program's own, and one that is skipped
//! there leaves something unblocked. Called by `Settings::check`.

use super::{ScheduleSettings, Settings};
use crate::compile::{ListSource, compile};
use crate::report::{ListKind, SkipReason};
use vocab::Complaint;

/// Complains of every rule of the configuration that would be skipped.
pub(super) fn check(settings: &Settings, complaints: &mut Vec<Complaint>) {
    for (at, list) in settings.lists.iter().enumerate() {
        let place = |entry: usize| format!("lists.{at}.rules.{entry}");
        check_rules(&list.rules, list.kind, place, complaints);
    }
    let groups = settings.groups.iter().map(|group| &group.schedule).enumerate();
    for (at, schedules) in groups {
        check_schedules(schedules, &format!("groups.{at}"), complaints);
    }
    let clients = settings.clients.iter().map(|client| &client.schedule).enumerate();
    for (at, schedules) in clients {
        check_schedules(schedules, &format!("clients.{at}"), complaints);
    }
}

fn check_schedules(schedules: &[ScheduleSettings], path: &str, complaints: &mut Vec<Complaint>) {
    for (at, schedule) in schedules.iter().enumerate() {
        let place = |_| format!("{path}.schedule.{at}.block");
        let rules = std::slice::from_ref(&schedule.block);
        check_rules(rules, ListKind::Block, place, complaints);
    }
}

/// `place` makes the path of an entry of `rules` from its number.
fn check_rules(
    rules: &[String],
    kind: ListKind,
    place: impl Fn(usize) -> String,
    complaints: &mut Vec<Complaint>,
) {
    if rules.iter().all(|rule| rule.trim().is_empty()) {
        return;
    }
    // The first line of each entry: one may hold several.
    let mut next = 1;
    let starts: Vec<u32> = rules
        .iter()
        .map(|rule| {
            let start = next;
            next += rule.matches('\n').count() as u32 + 1;
            start
        })
        .collect();
    let text = rules.join("\n");
    let compiled = compile(&[ListSource { name: "", kind, text: text.as_bytes(), files: &[] }], 0);
    let skipped = compiled.lists().iter().flat_map(|report| &report.skipped);
    // A rule that the next one cancels was meant to be.
    for line in skipped.filter(|line| line.reason != SkipReason::Cancelled) {
        let entry = starts.partition_point(|start| *start <= line.line).saturating_sub(1);
        let message = format!("the rule {:?} is not in force: it {}", line.text, line.reason);
        complaints.push(Complaint::new(place(entry), message).remedy(remedy(line.reason)));
    }
}

/// Advice for a rule that is skipped.
const fn remedy(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::TooBroad => {
            "name what it is about; to block all that no rule lets pass, write otherwise: block \
             under policy.default or the client"
        }
        SkipReason::NotARule | SkipReason::BadName | SkipReason::Fragment => {
            "write ||ads.example^ for a name with all below it, or a line of another syntax of the \
             manual's page on lists"
        }
        SkipReason::BadRegex => {
            "correct the expression: look-around and back references are not supported"
        }
        SkipReason::Record | SkipReason::LocalName => "write records under dns.local",
        SkipReason::Cosmetic
        | SkipReason::NeedsBrowser
        | SkipReason::ChangesHeaders
        | SkipReason::Redirect
        | SkipReason::RewritesContent
        | SkipReason::DnsRewrite
        | SkipReason::ClientTag
        | SkipReason::UnseenProperty
        | SkipReason::UnknownModifier
        | SkipReason::BadModifier
        | SkipReason::TooManyRegexes
        | SkipReason::TooLong
        | SkipReason::NotAscii
        | SkipReason::NotABlock
        | SkipReason::Cancelled
        | SkipReason::TooMany
        | SkipReason::Include
        | SkipReason::TooDear => "correct it or leave it out",
    }
}
