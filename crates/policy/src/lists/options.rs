//! What follows the `$` of a filter rule: modifiers and types.
//!
//! It reads words and splits values; what a value means is looked at by `compile`. A rule with a
//! modifier that is not in force here is refused as a whole, with the modifier's own reason: half a
//! rule would block what its author did not mean. Called by `adblock`.

use crate::report::SkipReason;
use crate::urls::flags::{DOCUMENT, TYPES_ALL, TYPES_USUAL, type_bit};
use vocab::RequestKind;

/// Tells whose request a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestParty {
    /// That of a page of another owner.
    Third,
    /// That of a page of the same owner.
    First,
}

/// Words that stand alone.
#[expect(clippy::struct_excessive_bools, reason = "each is a word that is there or not")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OptionMarks {
    pub(crate) important: bool,
    pub(crate) badfilter: bool,
    pub(crate) match_case: bool,
    /// `$all`: every type, pages too, so that the name itself may be blocked.
    pub(crate) all: bool,
}

/// The modifiers of one rule; values are kept as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleOptions<'l> {
    pub(crate) marks: OptionMarks,
    pub(crate) party: Option<RequestParty>,
    /// Types of request, if any were named.
    pub(crate) types: Option<u16>,
    pub(crate) domain: Option<&'l str>,
    pub(crate) denyallow: Option<&'l str>,
    pub(crate) to: Option<&'l str>,
    pub(crate) client: Option<&'l str>,
    pub(crate) dnstype: Option<&'l str>,
    pub(crate) ctag: Option<&'l str>,
    /// `$dnsrewrite`, perhaps without a value.
    pub(crate) dnsrewrite: Option<&'l str>,
    /// `$removeparam`, perhaps without a value.
    pub(crate) removeparam: Option<&'l str>,
    pub(crate) stand_in: Option<StandInWord<'l>>,
}

/// `$redirect` and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StandInWord<'l> {
    /// The name of the resource, perhaps with its priority behind a colon; empty in exceptions.
    pub(crate) value: &'l str,
    pub(crate) reach: StandInReach,
}

/// Tells what a rule with a stand-in does besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandInReach {
    /// Blocks: `$redirect`.
    Blocks,
    /// Waits for another rule to block: `$redirect-rule`.
    Waits,
}

/// Types without which pages still work.
/// Requests whose parameters are taken off where a rule names no types: pages, frames, and what
/// scripts fetch.
const TYPES_TRIMMED: u16 =
    DOCUMENT | type_bit(RequestKind::Subdocument) | type_bit(RequestKind::Fetch);
const TYPES_FEW: u16 =
    type_bit(RequestKind::Ping) | type_bit(RequestKind::Websocket) | type_bit(RequestKind::Other);

/// Types while they are read: named ones add up, negated ones are taken from the usual.
#[derive(Default)]
struct RequestTypes {
    named: u16,
    negated: u16,
    needs_browser: bool,
}

impl<'l> RuleOptions<'l> {
    /// Reads the words between commas.
    pub(crate) fn read(text: &'l str) -> Result<Self, SkipReason> {
        let mut options = Self::default();
        let mut types = RequestTypes::default();
        for word in split(text, ',') {
            options.read_option(word.trim(), &mut types)?;
        }
        if types.named == 0 && types.needs_browser {
            return Err(SkipReason::NeedsBrowser);
        }
        options.types = match (types.named, types.negated) {
            _ if options.marks.all => None,
            (0, 0) => None,
            (0, negated) => Some(TYPES_USUAL & !negated),
            (named, negated) => Some(named & !negated),
        };
        if options.types == Some(0) {
            return Err(SkipReason::BadModifier);
        }
        Ok(options)
    }

    fn read_option(&mut self, word: &'l str, types: &mut RequestTypes) -> Result<(), SkipReason> {
        if let Some((name, value)) = word.split_once('=') {
            return self.value(name, value);
        }
        match word {
            "important" => self.marks.important = true,
            "badfilter" => self.marks.badfilter = true,
            "match-case" => self.marks.match_case = true,
            "all" => self.marks.all = true,
            "dnsrewrite" => return set(&mut self.dnsrewrite, ""),
            "removeparam" | "queryprune" => return set(&mut self.removeparam, ""),
            "redirect" | "rewrite" => return self.set_stand_in("", StandInReach::Blocks),
            "redirect-rule" => return self.set_stand_in("", StandInReach::Waits),
            "empty" => return self.set_stand_in("empty", StandInReach::Blocks),
            "mp4" => return self.set_stand_in("noopmp4-1s", StandInReach::Blocks),
            "third-party" | "3p" | "strict3p" | "~first-party" | "~1p" => {
                self.party = Some(RequestParty::Third);
            }
            "first-party" | "1p" | "strict1p" | "~third-party" | "~3p" => {
                self.party = Some(RequestParty::First);
            }
            "popup" | "popunder" | "webrtc" => types.needs_browser = true,
            "~popup" | "~popunder" | "~webrtc" | "~match-case" => {}
            _ if !word.is_empty() && word.bytes().all(|byte| byte == b'_') => {}
            _ => match word.strip_prefix('~') {
                Some(rest) => types.negated |= type_word(rest).ok_or_else(|| refusal(rest))?,
                None => types.named |= type_word(word).ok_or_else(|| refusal(word))?,
            },
        }
        Ok(())
    }

    fn value(&mut self, name: &str, value: &'l str) -> Result<(), SkipReason> {
        let slot = match name {
            "domain" | "from" => &mut self.domain,
            "denyallow" => &mut self.denyallow,
            "to" => &mut self.to,
            "client" => &mut self.client,
            "dnstype" => &mut self.dnstype,
            "ctag" => &mut self.ctag,
            "dnsrewrite" => return set(&mut self.dnsrewrite, value),
            "removeparam" | "queryprune" => return set(&mut self.removeparam, value),
            "redirect" => return self.set_stand_in(value, StandInReach::Blocks),
            "rewrite" => {
                let value = value.strip_prefix("abp-resource:").ok_or(SkipReason::Redirect)?;
                return self.set_stand_in(value, StandInReach::Blocks);
            }
            "redirect-rule" => return self.set_stand_in(value, StandInReach::Waits),
            _ => return Err(refusal(name)),
        };
        if value.is_empty() {
            return Err(SkipReason::BadModifier);
        }
        set(slot, value)
    }

    fn set_stand_in(&mut self, value: &'l str, reach: StandInReach) -> Result<(), SkipReason> {
        set(&mut self.stand_in, StandInWord { value, reach })
    }

    /// True if its own answer goes with what else it says.
    pub(crate) fn is_consistent(&self) -> bool {
        let answers =
            [self.dnsrewrite.is_some(), self.removeparam.is_some(), self.stand_in.is_some()];
        let count = answers.iter().filter(|it| **it).count();
        let needs_names = self.dnsrewrite.is_some() || self.dnstype.is_some();
        count <= 1 && (!needs_names || self.is_for_names())
    }

    /// True if it says nothing that needs a URL, so that the rule counts for names.
    pub(crate) fn is_for_names(&self) -> bool {
        self.party.is_none()
            && self.types.is_none()
            && self.domain.is_none()
            && self.to.is_none()
            && self.removeparam.is_none()
            && self.stand_in.is_none()
            && !self.marks.match_case
    }

    /// True if anything but the marks is set: who asks, from where, for what.
    pub(crate) fn restricts(&self) -> bool {
        let values = [self.domain, self.denyallow, self.to, self.client, self.dnstype, self.ctag];
        values.iter().any(Option::is_some)
    }

    /// True if it names both types and a party: `$ping,third-party` may stand without a pattern.
    pub(crate) fn is_narrow(&self) -> bool {
        self.party.is_some() && self.types.is_some_and(|types| types & !TYPES_FEW == 0)
    }

    /// The types of request whose URL the rule is held against.
    pub(crate) fn type_bits(&self) -> u16 {
        match self.types {
            Some(types) => types,
            None if self.marks.all => TYPES_ALL,
            None if self.removeparam.is_some() => TYPES_TRIMMED,
            None => TYPES_USUAL,
        }
    }
}

/// Sets what may be said once.
fn set<T>(slot: &mut Option<T>, value: T) -> Result<(), SkipReason> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(SkipReason::BadModifier),
    }
}

fn type_word(word: &str) -> Option<u16> {
    let kind = match word {
        "document" | "doc" => return Some(DOCUMENT),
        "subdocument" | "frame" => RequestKind::Subdocument,
        "script" => RequestKind::Script,
        "stylesheet" | "css" => RequestKind::Stylesheet,
        "image" | "background" => RequestKind::Image,
        "font" => RequestKind::Font,
        "media" => RequestKind::Media,
        "object" | "object-subrequest" => RequestKind::Object,
        "xmlhttprequest" | "xhr" => RequestKind::Fetch,
        "ping" | "beacon" => RequestKind::Ping,
        "websocket" => RequestKind::Websocket,
        "other" => RequestKind::Other,
        _ => return None,
    };
    Some(type_bit(kind))
}

/// Why a rule with this modifier is not in force.
fn refusal(word: &str) -> SkipReason {
    match word {
        "generichide" | "ghide" | "elemhide" | "ehide" | "specifichide" | "shide" => {
            SkipReason::Cosmetic
        }
        "genericblock" | "inline-script" | "inline-font" | "popup" | "popunder" | "jsinject"
        | "content" | "extension" | "urlblock" | "stealth" | "cookie" => SkipReason::NeedsBrowser,
        "csp" | "permissions" | "header" | "referrerpolicy" | "removeheader" => {
            SkipReason::ChangesHeaders
        }
        "urltransform" | "uritransform" | "urlskip" | "replace" | "jsonprune" | "xmlprune"
        | "hls" => SkipReason::RewritesContent,
        "method" | "app" | "ipaddress" | "network" | "responseheader" | "reason" => {
            SkipReason::UnseenProperty
        }
        _ => SkipReason::UnknownModifier,
    }
}

/// Splits at a separator that stands neither after a backslash nor between quotes.
pub(crate) fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quote = None;
    let mut escaped = false;
    text.split(move |c: char| {
        if std::mem::take(&mut escaped) {
            return false;
        }
        match c {
            '\\' => escaped = true,
            '\'' | '"' if quote == Some(c) => quote = None,
            '\'' | '"' if quote.is_none() => quote = Some(c),
            _ => {}
        }
        c == separator && quote.is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_hold_what_separates_them_when_quoted_or_escaped() {
        let words: Vec<_> = split(r"client='a,b'|c\,d,important", ',').collect();
        assert_eq!(words, [r"client='a,b'|c\,d", "important"]);
    }

    #[test]
    fn types_add_up_and_negated_ones_leave_the_rest() {
        let types = |text| RuleOptions::read(text).unwrap().types;
        assert_eq!(
            types("script,image"),
            Some(type_bit(RequestKind::Script) | type_bit(RequestKind::Image))
        );
        assert_eq!(types("~script"), Some(TYPES_USUAL & !type_bit(RequestKind::Script)));
        assert_eq!(types("third-party"), None);
        assert_eq!(types("popup,script"), Some(type_bit(RequestKind::Script)));
    }

    #[test]
    fn each_modifier_that_is_not_in_force_has_its_reason() {
        let reason = |text| RuleOptions::read(text).unwrap_err();
        assert_eq!(reason("popup"), SkipReason::NeedsBrowser);
        assert_eq!(reason("csp=script-src"), SkipReason::ChangesHeaders);
        assert_eq!(reason("rewrite=noop.js"), SkipReason::Redirect);
        assert_eq!(reason("replace=/a/b/"), SkipReason::RewritesContent);
        assert_eq!(reason("dnsrewrite=a,dnsrewrite=b"), SkipReason::BadModifier);
        assert_eq!(reason("method=post"), SkipReason::UnseenProperty);
        assert_eq!(reason("flavour=mint"), SkipReason::UnknownModifier);
        assert_eq!(reason("domain="), SkipReason::BadModifier);
        assert_eq!(reason("generichide"), SkipReason::Cosmetic);
    }
}
