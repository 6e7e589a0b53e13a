//! What some rules say besides block and pass: DNS answers, stand-in resources, parameters to take
//! off.
//!
//! Their values are kept here, in the order of the rules, read anew from the texts whenever rules
//! are compiled or come from a snapshot. It matches nothing. Asked by `special` for rules that did.

use crate::lists::adblock;
use crate::lists::options::StandInWord;
use crate::lists::parameter_removal::ParameterTrim;
use crate::lists::pihole;
use crate::lists::rewrite::DnsRewrite;
use crate::report::SkipReason;
use crate::urls::flags::RuleFlags;
use crate::urls::rule::RuleTable;

/// The priority of a stand-in where the rule says none, as uBlock Origin has it.
const PRIORITY_DEFAULT: i32 = 0;

/// The values.
#[derive(Debug, Default)]
pub(crate) struct AnswerValues {
    rewrites: Vec<(u32, DnsRewrite)>,
    parameter_removals: Vec<(u32, ParameterTrim)>,
    stand_ins: Vec<(u32, StandIn)>,
}

/// A resource that stands in for what is blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StandIn {
    /// Name; empty in an exception to all.
    pub(crate) name: Box<str>,
    /// Of several the highest counts.
    pub(crate) priority: i32,
}

impl StandIn {
    /// Reads `noop.js` or `noop.js:100`.
    pub(crate) fn read(word: StandInWord<'_>) -> Self {
        let priority = word
            .value
            .rsplit_once(':')
            .and_then(|(name, number)| Some((name, number.parse().ok()?)));
        let (name, priority) = priority.unwrap_or((word.value, PRIORITY_DEFAULT));
        Self { name: name.into(), priority }
    }
}

impl AnswerValues {
    /// Returns those of a table; none if a text does not say what its flags promise.
    pub(crate) fn of(table: &RuleTable) -> Option<Self> {
        let mut answers = Self::default();
        let special =
            RuleFlags::REWRITE.with(RuleFlags::REMOVE_PARAMETERS).with(RuleFlags::STAND_IN);
        for (id, rule) in
            table.rules.iter().enumerate().filter(|(_, it)| it.flags.contains(special))
        {
            let id = id as u32;
            let read = if rule.flags.contains(RuleFlags::NAMES_ONLY) {
                pihole::read
            } else {
                adblock::read
            };
            let options = read(table.text(rule)).ok()?.options;
            if rule.flags.contains(RuleFlags::REWRITE) {
                answers.rewrites.push((id, DnsRewrite::read(options.dnsrewrite?).ok()?));
            } else if rule.flags.contains(RuleFlags::REMOVE_PARAMETERS) {
                answers
                    .parameter_removals
                    .push((id, ParameterTrim::read(options.removeparam?).ok()?));
            } else {
                answers.stand_ins.push((id, StandIn::read(options.stand_in?)));
            }
        }
        Some(answers)
    }

    pub(crate) fn rewrite(&self, id: u32) -> Option<&DnsRewrite> {
        find(&self.rewrites, id)
    }

    pub(crate) fn parameter_removal(&self, id: u32) -> Option<&ParameterTrim> {
        find(&self.parameter_removals, id)
    }

    pub(crate) fn stand_in(&self, id: u32) -> Option<&StandIn> {
        find(&self.stand_ins, id)
    }

    /// Bytes of memory, compiled expressions not counted.
    pub(crate) fn bytes(&self) -> u64 {
        let size = self.rewrites.capacity() * size_of::<(u32, DnsRewrite)>()
            + self.parameter_removals.capacity() * size_of::<(u32, ParameterTrim)>()
            + self.stand_ins.capacity() * size_of::<(u32, StandIn)>();
        size as u64
    }
}

fn find<T>(values: &[(u32, T)], id: u32) -> Option<&T> {
    let at = values.binary_search_by_key(&id, |(id, _)| *id).ok()?;
    Some(&values[at].1)
}

/// The flags of a rule by what it answers, once its value was read; none set for most rules.
pub(crate) fn flags(
    rule: &adblock::AdblockRule<'_>,
    is_exception: impl Fn() -> bool,
) -> Result<RuleFlags, SkipReason> {
    use crate::lists::options::StandInReach;
    let options = &rule.options;
    if !options.is_consistent() {
        return Err(SkipReason::BadModifier);
    }
    if let Some(value) = options.dnsrewrite {
        if DnsRewrite::read(value)? == DnsRewrite::Off && !is_exception() {
            return Err(SkipReason::DnsRewrite);
        }
        return Ok(RuleFlags::REWRITE);
    }
    if let Some(value) = options.removeparam {
        ParameterTrim::read(value)?;
        return Ok(RuleFlags::REMOVE_PARAMETERS);
    }
    match options.stand_in {
        None => Ok(RuleFlags::default()),
        Some(word) if word.value.is_empty() && !is_exception() => Err(SkipReason::Redirect),
        Some(StandInWord { reach: StandInReach::Blocks, .. }) => Ok(RuleFlags::STAND_IN),
        Some(StandInWord { reach: StandInReach::Waits, .. }) => {
            Ok(RuleFlags::STAND_IN.with(RuleFlags::STAND_IN_ONLY))
        }
    }
}
