//! Texts of lists into rules, in one pass over the lines.
//!
//! It never fails: a line that cannot be used is counted with its reason. It opens no file and
//! keeps no text of plain names. Called at start and reload, when no snapshot fits.

mod cancelled;
mod conditions;
mod report;
mod reuse;

pub use reuse::recompile;

use crate::answers::{self, AnswerValues};
use crate::fingerprint::{HashKeys, checksum};
use crate::lists::adblock::AdblockRule;
use crate::lists::bare::{self, BareWords, ExpressionSubject};
use crate::lists::detect;
use crate::lists::fitness;
use crate::lists::hosts;
use crate::lists::line::{DetectedLine, EntryEffect, NameSeparator};
use crate::lists::options::RequestParty;
use crate::lists::parameter_removal::ParameterTrim;
use crate::lists::punycode;
use crate::names::{CompiledNames, NameForm, NamesBuilder, RowTag};
use crate::report::{ListKind, ListReport, ListSyntax, SkipReason};
use crate::rules::RuleSet;
use crate::settings::LISTS_MAX;
use crate::subdomain_blocks::ExceptionsBelow;
use crate::urls::conditions::NO_CONDITIONS;
use crate::urls::flags::RuleFlags;
use crate::urls::index::{self, RuleDraft};
use crate::urls::rule::{RuleTable, UrlRule};
use cancelled::CancelledRules;
use filter_patterns::AutomatonExtent;
use filter_patterns::CaseMatching;
use filter_patterns::regexes::{self, LazyRegex, MeasuredExpression};
use report::ListTally;
use std::borrow::Cow;
use vocab::{DomainName, Name, NameError};

/// Longest line that may be a rule, in bytes: lengths are 16 bits. EasyList's longest has 6,352.
const LINE_BYTES_MAX: usize = u16::MAX as usize;
/// Most bytes of rule texts of a policy: offsets are 32 bits.
const TEXT_BYTES_MAX: usize = 1 << 31;

/// The text of a list.
#[derive(Clone, Copy, Debug)]
pub struct ListSource<'t> {
    /// Name in the configuration.
    pub name: &'t str,
    /// Whether it blocks or allows.
    pub kind: ListKind,
    /// Bytes, in any syntax; a line that is no UTF-8 is skipped.
    pub text: &'t [u8],
    /// The files that the text was put together from, in their order; none if it is of one piece.
    pub files: &'t [ListFile],
}

/// A file of a list that is a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFile {
    /// Name, which explanations show behind that of the list.
    pub name: String,
    /// Where it ends in the text of the list, in bytes. It begins where the one before ends.
    pub end: usize,
}

/// Compiles lists; never fails, for bad lines are counted with their reason. Of more than 64 lists
/// those beyond are left out: `Settings::check` refuses them first.
/// `seed` is a secret random number: without it nobody can make up a name whose fingerprint is
/// that of a listed one.
///
/// ```
/// use policy::{Ask, ListKind, ListSource, Policy, ClientProfiles, compile};
/// use vocab::{Action, Name, Now};
///
/// let text = b"||ads.example^\n@@||good.ads.example^\n";
/// let list = ListSource { name: "mine", kind: ListKind::Block, text, files: &[] };
/// let rules = compile(&[list], 42);
/// let policy = Policy::new(rules.into(), ClientProfiles::everyone());
///
/// let now = Now { unix_ms: 0, mono_ms: 0 };
/// let action = |name| {
///     let host = Name::from_lowercase(name).unwrap();
///     policy.decide(&Ask::lookup(host, 1, [127, 0, 0, 1].into()), now).action
/// };
/// assert_eq!(action("cdn.ads.example"), Action::Block);
/// assert_eq!(action("good.ads.example"), Action::Pass);
/// ```
pub fn compile(lists: &[ListSource<'_>], seed: u64) -> RuleSet {
    let lists = &lists[..lists.len().min(LISTS_MAX)];
    let mut compiler = ListCompiler {
        keys: HashKeys::new(seed),
        names: NamesBuilder::default(),
        excepted: Vec::new(),
        table: RuleTable::default(),
        drafts: Vec::new(),
        cancelled: CancelledRules::read(lists),
        expressions: ExpressionTally::default(),
    };
    let reports: Vec<ListReport> =
        lists.iter().enumerate().map(|(at, list)| compiler.list(at as u8, list)).collect();
    let names = std::mem::take(&mut compiler.names).build();
    compiler.finish(lists, reports, names)
}

struct ListCompiler {
    keys: HashKeys,
    names: NamesBuilder,
    /// Entries of [`ExceptionsBelow`].
    excepted: Vec<u64>,
    table: RuleTable,
    drafts: Vec<RuleDraft>,
    cancelled: CancelledRules,
    expressions: ExpressionTally,
}

/// Cost of regular expressions so far.
#[derive(Default)]
struct ExpressionTally {
    /// Their number, those in values of `$removeparam` among them.
    count: usize,
    /// The work of walking them.
    work: usize,
}

/// Where a rule stands, and in what kind of list.
#[derive(Clone, Copy)]
struct RulePlace {
    list: u8,
    kind: ListKind,
    line: u32,
}

/// Tells what a line became.
enum LineOutcome {
    Ignored,
    Names(ListSyntax, u32),
    Url(ListSyntax),
}

impl<'t> ListSource<'t> {
    /// By which an unchanged text is known, and the files that it is of.
    fn digest(&self) -> u64 {
        checksum(self.text).wrapping_add(checksum(format!("{:?}", self.files).as_bytes()))
    }

    /// Returns its files, each with its text; the whole, without a name, where it is of one piece.
    fn parts(&self) -> impl Iterator<Item = (Option<&'t str>, &'t [u8])> + use<'t> {
        let (text, files) = (self.text, self.files);
        let whole = files.is_empty().then_some((None, text));
        let mut start = 0;
        let parts = files.iter().map(move |file| {
            let part = text.get(start..file.end).unwrap_or_default();
            start = file.end;
            (Some(file.name.as_str()), part)
        });
        whole.into_iter().chain(parts)
    }
}

impl ListCompiler {
    /// The rules, once all lists are read.
    fn finish(
        self,
        lists: &[ListSource<'_>],
        mut reports: Vec<ListReport>,
        names: CompiledNames,
    ) -> RuleSet {
        let ListCompiler { keys, names: _, excepted, mut table, drafts, cancelled, expressions: _ } =
            self;
        table.shrink();
        let (indexes, refused) = index::build(&table, &drafts, &keys);
        for id in refused.into_iter().chain(names.crowded) {
            let rule = &table.rules[id as usize];
            if let Some(report) = reports.get_mut(usize::from(rule.list)) {
                report.refuse(rule.line, rule.flags, table.text(rule));
            }
        }
        // Every value was read before its rule was written.
        let answers = AnswerValues::of(&table).unwrap_or_default();
        let sums = lists.iter().map(ListSource::digest).collect();
        let cancelled = cancelled.digest();
        let below = ExceptionsBelow::build(excepted, &table);
        let names = names.table;
        RuleSet {
            keys,
            lists: reports,
            list_digests: sums,
            cancelled,
            names,
            exceptions_below: below,
            table,
            indexes,
            answers,
        }
    }

    fn list(&mut self, list: u8, source: &ListSource<'_>) -> ListReport {
        let mut tally = ListTally::default();
        // The first of its files that is none; of others the rules are in force.
        let (mut unfit, mut is_any_fit) = (None, false);
        for (file, text) in source.parts() {
            if let Some(file) = file {
                tally.file(file);
            }
            if let Some(why) = fitness::unfit(text) {
                unfit = unfit.or(Some(why));
            } else {
                is_any_fit = true;
                self.lines(list, source.kind, text, &mut tally);
            }
        }
        match unfit {
            Some(why) if !is_any_fit => tally.unfit(why, source),
            Some(_) | None => tally.report(source),
        }
    }

    /// The lines of one text, which tell by themselves what they are written in.
    fn lines(&mut self, list: u8, kind: ListKind, text: &[u8], tally: &mut ListTally) {
        let mut bare = BareWords::of_list(text);
        let mut rest = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let bytes = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            let Some(line) = tally.next_line() else { break };
            if let BareWords::Expressions(ExpressionSubject::Urls(case)) = &mut bare
                && let Some(told) = bare::toggles_case(&String::from_utf8_lossy(bytes.trim_ascii()))
            {
                *case = told;
                continue;
            }
            let place = RulePlace { list, kind, line };
            let mut made = self.line(bytes, bare, place, tally);
            if made.as_ref().is_err_and(|reason| *reason == SkipReason::NotAscii)
                && let Some(ascii) = str::from_utf8(bytes).ok().and_then(punycode::ascii_line)
            {
                made = self.line(ascii.as_bytes(), bare, place, tally);
            }
            match made {
                Ok(LineOutcome::Ignored) => {}
                Ok(LineOutcome::Names(syntax, count)) => tally.names(syntax, count),
                Ok(LineOutcome::Url(syntax)) => tally.url(syntax),
                Err(reason) => tally.skip(reason, bytes),
            }
        }
    }

    fn line(
        &mut self,
        bytes: &[u8],
        bare: BareWords<'_>,
        place: RulePlace,
        tally: &mut ListTally,
    ) -> Result<LineOutcome, SkipReason> {
        if bytes.len() > LINE_BYTES_MAX {
            return Err(SkipReason::TooLong);
        }
        let line = std::str::from_utf8(bytes).map_err(|_| SkipReason::NotAscii)?;
        match detect::read(line, bare) {
            DetectedLine::Blank => Ok(LineOutcome::Ignored),
            DetectedLine::Skip(reason) => Err(reason),
            DetectedLine::Rule(rule) => self.rule(line.trim(), &rule, place),
            DetectedLine::Entry { syntax, form, name, effect } => {
                let exception = effect == EntryEffect::Excepts;
                let place =
                    if exception { RulePlace { kind: ListKind::Allow, ..place } } else { place };
                self.name(name, form, place).map(|()| LineOutcome::Names(syntax, 1))
            }
            DetectedLine::Names { form, names, separator } => {
                let mut made = 0;
                let mut count = |result| match result {
                    Ok(()) => made += 1,
                    Err(reason) => tally.skip(reason, bytes),
                };
                match separator {
                    NameSeparator::Blank => {
                        for name in names.split_ascii_whitespace() {
                            count(self.name(name, form, place));
                        }
                    }
                    NameSeparator::Slash => {
                        for name in names.split('/').filter(|name| !name.is_empty()) {
                            count(self.name(name, form, place));
                        }
                    }
                }
                Ok(LineOutcome::Names(form.syntax(), made))
            }
        }
    }

    /// A plain name in one of the forms.
    fn name(&mut self, name: &str, form: NameForm, place: RulePlace) -> Result<(), SkipReason> {
        let name = lower_name(name)?;
        if form.is_hosts() && hosts::is_local(&name) {
            return Err(SkipReason::LocalName);
        }
        if form == NameForm::Adblock && self.cancelled.is_any() {
            let head = form.write(&name);
            if self.cancelled.contains(&head, "") {
                return Err(SkipReason::Cancelled);
            }
        }
        let tag = RowTag::new(place.list, form);
        let tag = if place.kind == ListKind::Allow { tag.exception() } else { tag };
        if tag.is_exception() {
            self.excepted.extend(ExceptionsBelow::entry(&self.keys, &name, place.list));
        }
        self.names.push(self.keys.of(&name), tag, place.line);
        Ok(())
    }

    fn rule(
        &mut self,
        line: &str,
        rule: &AdblockRule<'_>,
        place: RulePlace,
    ) -> Result<LineOutcome, SkipReason> {
        let syntax = rule.syntax;
        if rule.options.marks.badfilter {
            return Ok(LineOutcome::Ignored);
        }
        if self.cancelled.is_any() && self.cancelled.contains(rule.head, rule.tail) {
            return Err(SkipReason::Cancelled);
        }
        let options = &rule.options;
        let answers = answers::flags(rule, || is_exception(rule, place))?;
        let is_plain = options.is_for_names() && answers == RuleFlags::default();
        let whole_name = if is_plain { rule.whole_name() } else { None };
        if let Some(name) = whole_name {
            return self.name_rule(line, rule, name, place).map(|()| LineOutcome::Names(syntax, 1));
        }
        let for_names = options.is_for_names() && rule.may_match_host_name();
        if answers.contains(RuleFlags::REWRITE) && !for_names {
            return Err(SkipReason::BadModifier);
        }
        let expression = self.expression(rule)?;
        let extra = if for_names { answers.with(RuleFlags::FOR_NAMES) } else { answers };
        let id = self.push(line, rule, extra, place)?;
        self.drafts.push(RuleDraft { id, expression });
        Ok(if for_names { LineOutcome::Names(syntax, 1) } else { LineOutcome::Url(syntax) })
    }

    /// `||name^`, with modifiers or without.
    fn name_rule(
        &mut self,
        line: &str,
        rule: &AdblockRule<'_>,
        name: &str,
        place: RulePlace,
    ) -> Result<(), SkipReason> {
        let text = lower_name(name)?;
        let name = self.keys.of(&text);
        let form = if rule.exception { NameForm::AdblockException } else { NameForm::Adblock };
        let mut tag = RowTag::new(place.list, form);
        if is_exception(rule, place) {
            tag = tag.exception();
        }
        if rule.options.marks.important {
            tag = tag.important();
        }
        if rule.options.restricts() || rule.options.marks.all {
            let flags = RuleFlags::FOR_NAMES.with(RuleFlags::HOST_ONLY);
            let id = self.push(line, rule, flags, place)?;
            self.names.push(name, tag.modified(), id);
        } else {
            self.names.push(name, tag, place.line);
        }
        if tag.is_exception() {
            self.excepted.extend(ExceptionsBelow::entry(&self.keys, &text, place.list));
        }
        Ok(())
    }

    /// Facts about a regular expression; none about other patterns. Those in the value of
    /// `$removeparam` cost as much.
    fn expression(&mut self, rule: &AdblockRule<'_>) -> Result<MeasuredExpression, SkipReason> {
        let case =
            if rule.options.marks.match_case { CaseMatching::Differs } else { CaseMatching::Same };
        if let Some((expression, case)) =
            rule.options.removeparam.and_then(ParameterTrim::expression)
        {
            let measured = self.measure(&expression, case)?;
            if measured.extent == AutomatonExtent::Unbounded {
                return Err(SkipReason::TooDear);
            }
        }
        if rule.flags.contains(RuleFlags::REGEX) {
            self.measure(rule.pattern, case)
        } else {
            Ok(MeasuredExpression::default())
        }
    }

    fn measure(
        &mut self,
        expression: &str,
        case: CaseMatching,
    ) -> Result<MeasuredExpression, SkipReason> {
        if self.expressions.count >= regexes::REGEXES_MAX {
            return Err(SkipReason::TooManyRegexes);
        }
        if self.expressions.work >= regexes::WALKS_MAX {
            return Err(SkipReason::TooDear);
        }
        let measured = regexes::read(expression, case).ok_or(SkipReason::BadRegex)?;
        self.expressions.count += 1;
        self.expressions.work += measured.work;
        Ok(measured)
    }

    /// Writes a record; all that can fail is done before anything is written.
    fn push(
        &mut self,
        line: &str,
        rule: &AdblockRule<'_>,
        extra: RuleFlags,
        place: RulePlace,
    ) -> Result<u32, SkipReason> {
        if self.table.texts.len() > TEXT_BYTES_MAX {
            return Err(SkipReason::TooMany);
        }
        let conditions = conditions::read(&rule.options, &mut self.table, &self.keys)?;
        let id = self.table.rules.len() as u32;
        let mut flags = rule.flags.with(extra);
        let marks = [
            (is_exception(rule, place), RuleFlags::EXCEPTION),
            (rule.options.marks.important, RuleFlags::IMPORTANT),
            (rule.options.marks.match_case, RuleFlags::MATCH_CASE),
            (rule.options.party == Some(RequestParty::Third), RuleFlags::THIRD_PARTY),
            (rule.options.party == Some(RequestParty::First), RuleFlags::FIRST_PARTY),
            // A rewrite is filed by a token, which proves no name.
            (
                rule.whole_name().is_some() && !extra.contains(RuleFlags::REWRITE),
                RuleFlags::HOST_ONLY,
            ),
        ];
        for (holds, flag) in marks {
            flags = if holds { flags.with(flag) } else { flags };
        }
        let text = self.table.texts.len() as u32;
        self.table.texts.push_str(line);
        let keeps_case = flags.contains(RuleFlags::REGEX.with(RuleFlags::MATCH_CASE));
        let pattern = if keeps_case || !rule.pattern.bytes().any(|byte| byte.is_ascii_uppercase()) {
            text + (rule.pattern.as_ptr().addr() - line.as_ptr().addr()) as u32
        } else {
            let at = self.table.texts.len() as u32;
            self.table.texts.push_str(&rule.pattern.to_ascii_lowercase());
            at
        };
        if flags.contains(RuleFlags::REGEX) {
            self.table.regex_rules.push(id);
            self.table.regexes.push(LazyRegex::default());
        }
        self.table.rules.push(UrlRule {
            text,
            pattern,
            line: place.line,
            conditions: conditions.unwrap_or(NO_CONDITIONS),
            text_len: line.len() as u16,
            pattern_len: rule.pattern.len() as u16,
            types: rule.options.type_bits(),
            flags,
            list: place.list,
        });
        Ok(id)
    }
}

fn is_exception(rule: &AdblockRule<'_>, place: RulePlace) -> bool {
    rule.exception || place.kind == ListKind::Allow
}

/// A valid name in lower case, copied only where it must be.
fn lower_name(name: &str) -> Result<Cow<'_, str>, SkipReason> {
    match Name::from_lowercase(name) {
        Ok(_) => Ok(Cow::Borrowed(name)),
        Err(NameError::Character(c)) if !c.is_ascii() => Err(SkipReason::NotAscii),
        Err(_) => DomainName::parse(name)
            .map(|name| Cow::Owned(name.as_str().to_owned()))
            .map_err(|_| SkipReason::BadName),
    }
}

impl RuleTable {
    /// Gives back what the vectors kept in hand while they grew.
    fn shrink(&mut self) {
        self.rules.shrink_to_fit();
        self.texts.shrink_to_fit();
        self.conditions.shrink_to_fit();
        self.numbers.shrink_to_fit();
        self.clients.shrink_to_fit();
        self.regex_rules.shrink_to_fit();
        self.regexes.shrink_to_fit();
    }
}
