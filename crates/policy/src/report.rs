//! What became of each line of a list: how many rules, and what was skipped for which reason.
//!
//! A bad line is never fatal; it is counted here, and the first of them are kept with an excerpt.
//! Filled by `compile`, printed by `tidegate lists stats`.

use crate::lists::fitness::UnfitList;
use crate::urls::flags::RuleFlags;
use std::fmt;

/// Number of skipped lines of a list that are kept with their text. Those beyond are only counted.
pub const SKIPPED_KEPT_MAX: usize = 100;
/// Longest excerpt of a skipped line, in bytes.
pub const EXCERPT_BYTES_MAX: usize = 120;

/// Holds what a list holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListReport {
    /// Name in the configuration.
    pub name: String,
    /// Whether it blocks or allows.
    pub kind: ListKind,
    /// The syntax most of its lines are written in.
    pub syntax: ListSyntax,
    /// Why the whole text is no list; then nothing of it is in force.
    pub unfit: Option<UnfitList>,
    /// Lines of text, comments and blank ones included.
    pub lines: u32,
    /// The files that it was put together from, in their order, if it is a folder. Their lines are
    /// numbered on from one to the next.
    pub files: Vec<FileLines>,
    /// Names and patterns of names, which count at every door.
    pub rules_names: u32,
    /// Rules about URLs, which count where a URL is seen.
    pub rules_urls: u32,
    /// The first hundred lines that were skipped.
    pub skipped: Vec<SkippedLine>,
    /// Number that were skipped for each reason, most frequent first.
    pub skipped_by_reason: Vec<(SkipReason, u32)>,
}

/// Where a file of a list begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLines {
    /// Name.
    pub name: String,
    /// The number of its first line among those of the list, from 1. A file without lines shares it
    /// with the next one.
    pub first_line: u32,
}

impl ListReport {
    /// Counts a rule that had been taken as skipped, once it shows that there is no room for it.
    pub(crate) fn refuse(&mut self, line: u32, flags: RuleFlags, text: &str) {
        let reason = SkipReason::TooDear;
        let is_for_names = flags.contains(RuleFlags::FOR_NAMES);
        let rules = if is_for_names { &mut self.rules_names } else { &mut self.rules_urls };
        *rules = rules.saturating_sub(1);
        match self.skipped_by_reason.iter_mut().find(|(it, _)| *it == reason) {
            Some((_, count)) => *count += 1,
            None => self.skipped_by_reason.push((reason, 1)),
        }
        self.skipped_by_reason.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        if self.skipped.len() < SKIPPED_KEPT_MAX {
            self.skipped.push(SkippedLine { line, reason, text: excerpt(text.as_bytes()) });
            self.skipped.sort_by_key(|line| line.line);
        }
    }

    /// The file that a line of the list stands in, if the list is a folder, and its number there.
    pub fn in_file(&self, line: u32) -> (Option<&str>, u32) {
        let begun = self.files.partition_point(|file| file.first_line <= line);
        match self.files[..begun].last() {
            Some(file) => (Some(file.name.as_str()), line - file.first_line + 1),
            None => (None, line),
        }
    }
}

/// A line that is not in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    /// The line, from 1; [`ListReport::in_file`] tells where that is in a folder.
    pub line: u32,
    /// Why.
    pub reason: SkipReason,
    /// Beginning, with what cannot be printed replaced.
    pub text: String,
}

/// The beginning of a line, fit for a terminal.
pub(crate) fn excerpt(line: &[u8]) -> String {
    let head = &line[..line.len().min(EXCERPT_BYTES_MAX)];
    let text = String::from_utf8_lossy(head);
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut text: String = text.trim_end().chars().map(printable).collect();
    if head.len() < line.len() {
        text.push('…');
    }
    text
}

/// What a list is for.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ListKind {
    /// What its rules match is blocked.
    #[default]
    Block,
    /// Every name and rule in it is an exception.
    Allow,
}

/// A syntax of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListSyntax {
    /// `0.0.0.0 name`.
    Hosts,
    /// A name a line.
    Names,
    /// `*.name`.
    Wildcards,
    /// `address=/name/`.
    Dnsmasq,
    /// AdGuard DNS and EasyList rules, `||name^$options`.
    Adblock,
    /// v2ray's geosite files as text: `domain:name`, `full:name`.
    Geosite,
    /// Unbound's `local-zone: "name" always_nxdomain`.
    Unbound,
    /// A regular expression a line, as in Squid's `url_regex` files.
    UrlRegex,
    /// A regular expression for names a line, as in Pi-hole's files.
    NameRegex,
    /// `DOMAIN-SUFFIX,name`, as Surge and Clash have it.
    Surge,
    /// `name CNAME .`, a response policy zone.
    ResponsePolicyZone,
    /// No line is a rule.
    Empty,
}

macro_rules! skip_reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        /// Why a line is not in force.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SkipReason { $($(#[$doc])* $name,)* }
        impl SkipReason {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// Returns its number in a snapshot.
            pub(crate) const fn code(self) -> u8 {
                match self { $(Self::$name => $code,)* }
            }
            /// The reason with this number.
            pub(crate) const fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }
        }
        impl fmt::Display for SkipReason {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text,)* })
            }
        }
    };
}

skip_reasons! {
    /// Hides elements of a page, or runs a script in it.
    Cosmetic = 0, "hides elements or runs scripts in pages: needs a browser";
    /// `$popup`: about windows.
    NeedsBrowser = 1, "is about windows or page features that only a browser sees";
    /// `$csp`, `$permissions`, `$header`: changes or reads headers of answers.
    ChangesHeaders = 2, "changes or reads the headers of answers: not built";
    /// `$redirect` without a name: no stand-in to answer with.
    Redirect = 3, "names no stand-in resource to answer with";
    /// `$urltransform`, `$replace`: changes URL or body.
    RewritesContent = 4, "changes URLs or bodies: not built";
    /// `$dnsrewrite` with a value that is no answer.
    DnsRewrite = 5, "has no DNS answer behind $dnsrewrite=: write an address, a name or RCODE;TYPE;VALUE";
    /// `$ctag` with a word outside the closed list.
    ClientTag = 6, "names a client tag that does not exist: they are device_*, os_* and user_*";
    /// `$method`, `$app`, `$ipaddress` and the like: asks for what no door knows.
    UnseenProperty = 7, "depends on what no door can see";
    /// A modifier that nobody here knows.
    UnknownModifier = 8, "has a modifier that is not known";
    /// A modifier whose value is wrong.
    BadModifier = 9, "has a modifier with a wrong value";
    /// A pattern of under three characters and nothing that restricts it.
    TooBroad = 10, "would match nearly everything";
    /// A regular expression that cannot be compiled, or only to something huge.
    BadRegex = 11, "is no regular expression that can be used here";
    /// More regular expressions than a policy takes.
    TooManyRegexes = 12, "is one regular expression too many";
    /// A rule or pattern longer than any real one.
    TooLong = 13, "is longer than a rule may be";
    /// No rule in any known syntax.
    NotARule = 14, "is no rule in any syntax known here";
    /// Characters outside ASCII: names are written in punycode.
    NotAscii = 15, "has characters outside ASCII: write names in punycode";
    /// `localhost` and its like in a hosts file.
    LocalName = 16, "is a name of the machine itself";
    /// A hosts or dnsmasq line with an address that is not null: a record, not a block.
    Record = 17, "gives a name an address: a record, not a block; write it under dns.local";
    /// A setting, or a rule with another policy, that blocks nothing.
    NotABlock = 18, "is a setting or a rule that blocks nothing";
    /// Cancelled by a `$badfilter` rule.
    Cancelled = 19, "is cancelled by a $badfilter rule";
    /// More rules than a list may number.
    TooMany = 20, "is past the last line or rule that a policy can number";
    /// A name with an empty or overlong label, or in bytes that names do not have.
    BadName = 21, "is no domain name";
    /// `include:` of a geosite file.
    Include = 22, "includes another file: a list is one text; name that file as a list of its own";
    /// A `#` within a pattern: no request holds one.
    Fragment = 23, "has a # in it, which no request holds; a comment needs a blank before its #";
    /// A pattern that would be tried for too many requests, or an expression that costs too much.
    TooDear = 24, "would slow down every request: give it a longer word that must occur whole";
}

impl ListSyntax {
    /// All, in the order of their numbers in a snapshot.
    pub(crate) const ALL: [Self; 12] = [
        Self::Empty,
        Self::Hosts,
        Self::Names,
        Self::Wildcards,
        Self::Dnsmasq,
        Self::Adblock,
        Self::Geosite,
        Self::Unbound,
        Self::UrlRegex,
        Self::NameRegex,
        Self::Surge,
        Self::ResponsePolicyZone,
    ];
}

impl fmt::Display for ListSyntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hosts => "a hosts file",
            Self::Names => "plain names",
            Self::Wildcards => "wildcards",
            Self::Dnsmasq => "dnsmasq settings",
            Self::Adblock => "AdGuard and EasyList rules",
            Self::Geosite => "geosite rules",
            Self::Unbound => "Unbound settings",
            Self::UrlRegex => "expressions for URLs",
            Self::NameRegex => "expressions for names",
            Self::Surge => "Surge and Clash rules",
            Self::ResponsePolicyZone => "a response policy zone",
            Self::Empty => "no syntax",
        })
    }
}

impl fmt::Display for ListKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Block => "block",
            Self::Allow => "allow",
        })
    }
}
