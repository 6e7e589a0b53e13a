//! Rules in the syntax of AdGuard DNS and EasyList: `@@||name^$options`.
//!
//! It takes a line apart into marks, anchors, pattern and options, and refuses what is too broad,
//! hides elements, or cannot be matched. It compiles nothing. Called by `detect` for lines that
//! look like rules.

use super::options::RuleOptions;
use crate::report::{ListSyntax, SkipReason};
use crate::urls::flags::RuleFlags;
use filter_patterns::{behind_scheme, is_name_byte};

/// Longest pattern, in bytes; the longest in EasyList has about 200.
const PATTERN_BYTES_MAX: usize = 1024;
/// Longest regular expression, in bytes.
pub(crate) const REGEX_TEXT_BYTES_MAX: usize = 4096;
/// Fewer characters than these match nearly everything, unless something restricts the rule.
pub(crate) const PATTERN_CHARS_MIN: usize = 3;

/// A rule taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AdblockRule<'l> {
    /// The syntax that it was read in.
    pub(crate) syntax: ListSyntax,
    /// Everything before the `$`, with `@@`: what `$badfilter` compares.
    pub(crate) head: &'l str,
    /// What follows the `$`.
    pub(crate) tail: &'l str,
    pub(crate) exception: bool,
    pub(crate) flags: RuleFlags,
    /// The pattern without its anchors, or the expression without its slashes.
    pub(crate) pattern: &'l str,
    pub(crate) options: RuleOptions<'l>,
}

/// Reads one rule.
pub(crate) fn read(line: &str) -> Result<AdblockRule<'_>, SkipReason> {
    let (exception, body) = match line.strip_prefix("@@") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (pattern, tail) = split_options(body);
    let head = &line[..line.len() - body.len() + pattern.len()];
    let options = RuleOptions::read_tail(tail)?;
    let (flags, pattern) = match regex_of(pattern) {
        Some(expression) if expression.len() > REGEX_TEXT_BYTES_MAX => {
            return Err(SkipReason::TooLong);
        }
        Some(expression) => (RuleFlags::REGEX, expression),
        None => {
            if pattern.bytes().any(|byte| !byte.is_ascii()) {
                return Err(SkipReason::NotAscii);
            }
            if !pattern.bytes().all(is_pattern_byte) {
                return Err(SkipReason::NotARule);
            }
            // Browsers keep what follows a `#` to themselves.
            if memchr::memchr(b'#', pattern.as_bytes()).is_some() {
                return Err(SkipReason::Fragment);
            }
            anchors(pattern)
        }
    };
    if !flags.contains(RuleFlags::REGEX) && pattern.len() > PATTERN_BYTES_MAX {
        return Err(SkipReason::TooLong);
    }
    let letters = pattern.bytes().filter(|byte| *byte != b'*').take(PATTERN_CHARS_MIN).count();
    let narrow = options.restricts()
        || options.is_narrow()
        || options.removeparam.is_some()
        || options.marks.badfilter;
    if letters < PATTERN_CHARS_MIN && !narrow {
        return Err(SkipReason::TooBroad);
    }
    let syntax = ListSyntax::Adblock;
    Ok(AdblockRule { syntax, head, tail, exception, flags, pattern, options })
}

impl<'l> RuleOptions<'l> {
    fn read_tail(tail: &'l str) -> Result<Self, SkipReason> {
        if tail.is_empty() { Ok(Self::default()) } else { Self::read(tail) }
    }
}

/// Cuts at the `$` before the options. A `$` can also stand in a URL or end an expression, so what
/// follows must look like a word, and behind an expression comes its closing slash.
fn split_options(body: &str) -> (&str, &str) {
    let cut = |at: usize| (&body[..at], &body[at + 1..]);
    if body.starts_with('/')
        && let Some(slash) = body.rfind("/$")
        && slash > 0
        && opens_options(&body[slash + 2..])
    {
        return cut(slash + 1);
    }
    if body.len() > 1 && body.starts_with('/') && body.ends_with('/') {
        return (body, "");
    }
    memchr::memrchr_iter(b'$', body.as_bytes())
        .find(|at| opens_options(&body[at + 1..]))
        .map_or((body, ""), cut)
}

fn opens_options(tail: &str) -> bool {
    let first = tail.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_lowercase() || matches!(byte, b'~' | b'_' | b'1' | b'3'))
}

/// The expression between slashes.
fn regex_of(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('/')?.strip_suffix('/').filter(|expression| !expression.is_empty())
}

/// Takes off `||` and `|`, and stars at the ends, which say nothing.
fn anchors(pattern: &str) -> (RuleFlags, &str) {
    let mut flags = RuleFlags::default();
    let mut rest = pattern;
    if let Some(after) = rest.strip_prefix("||") {
        (flags, rest) = (flags.with(RuleFlags::AT_LABEL), after);
    } else if let Some(after) = rest.strip_prefix('|') {
        (flags, rest) = (flags.with(RuleFlags::AT_START), after);
    }
    if let Some(before) = rest.strip_suffix('|') {
        (flags, rest) = (flags.with(RuleFlags::AT_END), before);
    }
    if rest.starts_with('*') && !flags.contains(RuleFlags::AT_LABEL) {
        rest = rest.trim_start_matches('*');
        flags = RuleFlags(flags.0 & !RuleFlags::AT_START.0);
    }
    if rest.ends_with('*') {
        rest = rest.trim_end_matches('*');
        flags = RuleFlags(flags.0 & !RuleFlags::AT_END.0);
    }
    (flags, rest)
}

/// Printable ASCII, less what no URL holds and no filter is written with: what a web page saved
/// in place of a list is made of.
const fn is_pattern_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b'"' | b'{' | b'}' | b'`' | b'\\')
}

impl<'l> AdblockRule<'l> {
    /// The name, if the pattern is that name and all below it: `||name^`.
    pub(crate) fn whole_name(&self) -> Option<&'l str> {
        if !self.flags.contains(RuleFlags::AT_LABEL) {
            return None;
        }
        let end = self.pattern.bytes().position(|byte| !is_name_byte(byte));
        let (name, rest) = self.pattern.split_at(end.unwrap_or(self.pattern.len()));
        let ends = match rest {
            "^" => true,
            "" => self.flags.contains(RuleFlags::AT_END),
            // `||name/*`: its star went with the anchors, and what is left blocks all of the host.
            "/" => self.head.ends_with("/*"),
            _ => false,
        };
        (ends && !name.is_empty()).then_some(name)
    }

    /// True if the pattern could stand in a host name, so that it counts for names.
    pub(crate) fn may_match_host_name(&self) -> bool {
        self.flags.contains(RuleFlags::REGEX)
            || self.pattern.bytes().all(|byte| is_name_byte(byte) || matches!(byte, b'^' | b'*'))
            || self.is_scheme_host()
    }

    /// True for `://name^` and the like, whose name is whole: `://ads.` is about URLs alone.
    fn is_scheme_host(&self) -> bool {
        let Some(rest) = behind_scheme(self.pattern) else { return false };
        let name = rest.strip_suffix('^').unwrap_or(rest);
        let labels = name.split('.').filter(|label| !label.is_empty()).count();
        !self.flags.contains(RuleFlags::AT_LABEL)
            && labels >= 2
            && labels == name.split('.').count()
            && name.bytes().all(is_name_byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_comes_apart() {
        let rule = read("@@||ads.example^$script,domain=a.example|~b.example").unwrap();
        assert!(rule.exception);
        assert_eq!(rule.pattern, "ads.example^");
        assert_eq!(rule.head, "@@||ads.example^");
        assert_eq!(rule.options.domain, Some("a.example|~b.example"));
        assert_eq!(rule.whole_name(), Some("ads.example"));
    }

    #[test]
    fn a_dollar_in_a_url_or_an_expression_opens_no_options() {
        assert_eq!(read("/ads$/$image").unwrap().pattern, "ads$");
        assert_eq!(read("/^ads[0-9]$/").unwrap().pattern, "^ads[0-9]$");
        assert_eq!(read("/cgi/$$/ads").unwrap().pattern, "/cgi/$$/ads");
        assert_eq!(read("/ads/*$image").unwrap().pattern, "/ads/");
    }

    #[test]
    fn what_would_match_nearly_everything_is_refused() {
        assert_eq!(read("*"), Err(SkipReason::TooBroad));
        assert_eq!(read("||a"), Err(SkipReason::TooBroad));
        assert_eq!(read("a*$script"), Err(SkipReason::TooBroad));
        assert_eq!(read("$third-party"), Err(SkipReason::TooBroad));
        assert!(read("$ping,third-party").is_ok(), "EasyPrivacy says so");
        assert!(read("*$client=kids").is_ok());
        assert!(read("$domain=a.example,script").is_ok());
    }

    #[test]
    fn a_web_page_in_place_of_a_list_blocks_nothing() {
        for line in ["<html><head>", "<p>Not found</p>", "body{margin:0}"] {
            assert_eq!(read(line), Err(SkipReason::NotARule), "{line}");
        }
    }
}
