//! Sets of names, addresses and rules, built of words, files and other sets.
//!
//! A set that several refer to is built once. Called by [`super::matchers`].

use super::plugins::PluginBook;
use super::specs::{LEARNED_SETS_MAX, LearnedSpec};
use crate::language::{
    DatArgs, Dialect, DynamicDomainSet, Executor, ForeignFiles, ListedRules, OutwardEffect,
    PlacedWord, Plugin, PluginKind, Provider, SetArgs, SetWords, split,
};
use pipeline::program::{AddressSets, NameSets};
use pipeline::sets::dat::{self, BadDat, BadSelector, DatContents, DatSelector};
use pipeline::sets::{
    BadRule, DomainKind, DomainRule, DomainSet, DomainSetBuilder, IpSet, IpSetBuilder,
    LearnedNames, QuestionSet, RegexpCase, without_comment,
};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// A set as others refer to it.
#[derive(Clone, Default)]
pub(super) struct BuiltSet {
    names: Vec<Arc<DomainSet>>,
    rules: Vec<Arc<QuestionSet>>,
    learned: Vec<Arc<LearnedNames>>,
    addresses: Vec<Arc<IpSet>>,
}

/// Tells what a set is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetRequest {
    Names,
    Addresses,
}

/// All sets of a file.
pub(super) struct SetCompiler<'f> {
    book: &'f PluginBook<'f>,
    files: &'f dyn ForeignFiles,
    dialect: Dialect,
    seed: u64,
    built: RefCell<HashMap<usize, Rc<BuiltSet>>>,
    /// Sets that sequences feed, each with the number of its plugin.
    learned_of: RefCell<Vec<usize>>,
    pub(super) learned: RefCell<Vec<LearnedSpec>>,
    /// Files that were read.
    pub(super) paths: RefCell<BTreeSet<String>>,
}

impl<'f> SetCompiler<'f> {
    pub(super) fn new(book: &'f PluginBook<'f>, files: &'f dyn ForeignFiles, seed: u64) -> Self {
        let (built, paths) = (RefCell::default(), RefCell::default());
        let (learned_of, learned) = (RefCell::default(), RefCell::default());
        let dialect = book.notes.dialect;
        Self { book, files, dialect, seed, built, learned_of, learned, paths }
    }

    /// The providers that somebody asked for.
    pub(super) fn is_used(&self, plugin: usize) -> bool {
        self.built.borrow().contains_key(&plugin)
    }

    /// Sets of names: of words, files and providers.
    pub(super) fn names(&self, words: &SetWords) -> NameSets {
        let mut own = self.builder();
        self.add_names(&mut own, words);
        let own = own.build();
        let mut all = BuiltSet::default();
        if !own.is_empty() {
            all.names.push(Arc::new(own));
        }
        self.add_providers(&words.sets, SetRequest::Names, &mut all);
        all.into_names()
    }

    /// Returns what providers say about whole questions.
    pub(super) fn questions(&self, tags: &[PlacedWord]) -> NameSets {
        let mut all = BuiltSet::default();
        self.add_providers(tags, SetRequest::Names, &mut all);
        all.into_names()
    }

    /// Sets of addresses: of words, files and providers.
    pub(super) fn addresses(&self, words: &SetWords) -> AddressSets {
        let mut own = IpSet::builder();
        for item in &words.rules {
            self.report(item, own.add_text(&item.text));
        }
        for file in &words.files {
            self.for_each_line(file, |line| self.add_addresses(&mut own, line));
        }
        let own = own.build();
        let mut all = BuiltSet::default();
        if !own.is_empty() {
            all.addresses.push(Arc::new(own));
        }
        self.add_providers(&words.sets, SetRequest::Addresses, &mut all);
        AddressSets(all.addresses.into())
    }

    /// True if a plugin of the file fetches `path` at the start.
    fn is_fetched(&self, path: &str) -> bool {
        self.book.plugins.iter().any(|plugin| match &plugin.kind {
            PluginKind::Executor(Executor::Outward(OutwardEffect::Download(it))) => {
                it.provides(path)
            }
            _ => false,
        })
    }

    /// The bytes of a file; nothing if it is yet to be fetched; a complaint and nothing if it
    /// cannot be read.
    pub(super) fn read(&self, file: &PlacedWord) -> Option<Vec<u8>> {
        match self.files.read(&file.text) {
            Ok(bytes) => {
                self.paths.borrow_mut().insert(file.text.clone());
                Some(bytes)
            }
            Err(_) if self.files.is_missing(&file.text) && self.is_fetched(&file.text) => {
                let told = format!("{} is not there yet; it is fetched at the start", file.text);
                let remedy = "until then nothing is in it";
                self.book.notes.warn(file.position.complaint(told).remedy(remedy));
                None
            }
            Err(why) => {
                self.book.notes.complain(file.position.complaint(format!("{}: {why}", file.text)));
                None
            }
        }
    }

    /// Hands each line of a file to `add`. Those that it refuses are left out, counted, and told
    /// with the first of them: lists come from elsewhere, and one bad line must not stop a start.
    pub(super) fn for_each_line<E: fmt::Display>(
        &self,
        file: &PlacedWord,
        mut add: impl FnMut(&str) -> Result<(), E>,
    ) {
        let Some(bytes) = self.read(file) else { return };
        let (mut first, mut left_out) = (None, 0_usize);
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let why = match std::str::from_utf8(line) {
                Ok(line) => add(line).map_err(|why| why.to_string()),
                Err(_) => Err("it is not UTF-8".to_owned()),
            };
            let Err(why) = why else { continue };
            left_out += 1;
            first.get_or_insert_with(|| format!("line {}: {why}", index + 1));
        }
        let Some(first) = first else { return };
        let (file_name, lines) = (&file.text, if left_out == 1 { "line is" } else { "lines are" });
        let message = format!("{file_name}: {left_out} {lines} left out, first {first}");
        self.book.notes.warn(file.position.complaint(message));
    }

    /// Hands each rule, and each line of each file, to `add`, and complains of those it refuses.
    pub(super) fn for_each_rule<E: fmt::Display>(
        &self,
        listed: &ListedRules,
        mut add: impl FnMut(&str) -> Result<(), E>,
    ) {
        for item in &listed.rules {
            self.report(item, add(&item.text));
        }
        for file in &listed.files {
            self.for_each_line(file, &mut add);
        }
    }

    /// Complains of what is wrong with a rule.
    pub(super) fn report<E: fmt::Display>(&self, item: &PlacedWord, result: Result<(), E>) {
        if let Err(why) = result {
            self.book.notes.complain(item.position.complaint(why));
        }
    }

    /// Complains of what is wrong with a rule about names. One that no name could match is left
    /// out, and told: the peers take it, and nothing matches it there either.
    fn report_rule(&self, item: &PlacedWord, result: Result<(), BadRule>) {
        let Err(why) = result else { return };
        let complaint = item.position.complaint(&why);
        match why {
            BadRule::Blank | BadRule::NotAscii | BadRule::NoName => {
                self.book.notes.warn(complaint.remedy("it is left out"));
            }
            BadRule::Empty
            | BadRule::UnknownKind(_)
            | BadRule::Regexp(_)
            | BadRule::RegexpTooLong
            | BadRule::TooManyRegexps
            | BadRule::KeywordTooLong
            | BadRule::TooManyKeywords
            | BadRule::TooManyNames => self.book.notes.complain(complaint),
        }
    }

    /// Returns how letters count in regular expressions.
    pub(super) fn case(&self) -> RegexpCase {
        match self.dialect {
            Dialect::Mosdns => RegexpCase::Differs,
            Dialect::Oxidns => RegexpCase::Same,
        }
    }

    fn builder(&self) -> DomainSetBuilder {
        DomainSet::builder(self.seed).regexp_case(self.case())
    }

    fn add_names(&self, set: &mut DomainSetBuilder, words: &SetWords) {
        for item in &words.rules {
            let added = DomainRule::parse(&item.text, DomainKind::Domain);
            self.report_rule(item, added.and_then(|rule| set.add(&rule)));
        }
        for file in &words.files {
            self.for_each_line(file, |line| match self.dialect {
                Dialect::Mosdns => set.add_line(line, DomainKind::Domain),
                // There several stand on a line.
                Dialect::Oxidns => split(without_comment(line), Dialect::Oxidns)
                    .into_iter()
                    .try_for_each(|word| set.add_line(word, DomainKind::Domain)),
            });
        }
    }

    fn add_addresses(
        &self,
        set: &mut IpSetBuilder,
        line: &str,
    ) -> Result<(), pipeline::sets::BadNetwork> {
        match self.dialect {
            Dialect::Mosdns => set.add_line(line),
            Dialect::Oxidns => split(without_comment(line), Dialect::Oxidns)
                .into_iter()
                .try_for_each(|word| set.add_text(word)),
        }
    }

    fn add_providers(&self, tags: &[PlacedWord], asked: SetRequest, all: &mut BuiltSet) {
        for item in tags {
            let Some((at, provider)) = self.book.provider(item) else { continue };
            let is_right = match provider {
                Provider::DomainSet(_)
                | Provider::Geosite(_)
                | Provider::AdguardRule(_)
                | Provider::DynamicDomainSet(_) => asked == SetRequest::Names,
                Provider::IpSet(_) | Provider::Geoip(_) => asked == SetRequest::Addresses,
            };
            if !is_right {
                let wanted = if asked == SetRequest::Names { "names" } else { "addresses" };
                let message = format!("{:?} is no set of {wanted}", item.text);
                self.book.notes.complain(item.position.complaint(message));
                continue;
            }
            all.add(&self.provider(at, provider));
        }
    }

    /// The provider's sets, built when they are first asked for. That no provider leads back to
    /// itself was looked at before.
    fn provider(&self, at: usize, provider: &Provider) -> Rc<BuiltSet> {
        if let Some(built) = self.built.borrow().get(&at) {
            return Rc::clone(built);
        }
        let mut built = BuiltSet::default();
        match provider {
            Provider::DomainSet(args) => self.domain_set(args, &mut built),
            Provider::IpSet(args) => self.ip_set(args, &mut built),
            Provider::Geosite(args) => {
                let mut set = self.builder();
                self.dat(args, |bytes, selectors| {
                    dat::sites(bytes, selectors, |rule| set.add(rule))
                });
                built.names.push(Arc::new(set.build()));
            }
            Provider::Geoip(args) => {
                let mut set = IpSet::builder();
                self.dat(args, |bytes, selectors| {
                    dat::networks(bytes, selectors, |network| set.add_geo(network))
                });
                built.addresses.push(Arc::new(set.build()));
            }
            Provider::AdguardRule(args) => built.rules.push(Arc::new(self.adguard(args))),
            Provider::DynamicDomainSet(set) => built.learned.extend(self.learned_set(at, set)),
        }
        let built = Rc::new(built);
        self.built.borrow_mut().insert(at, Rc::clone(&built));
        built
    }

    /// The number of the set that sequences feed and that `provider` is.
    pub(super) fn learned_number(&self, at: usize, provider: &Provider) -> Option<u16> {
        self.provider(at, provider);
        let place = self.learned_of.borrow().iter().position(|it| *it == at)?;
        // There are no more than LEARNED_SETS_MAX.
        Some(place as u16)
    }

    fn learned_set(&self, at: usize, set: &DynamicDomainSet) -> Option<Arc<LearnedNames>> {
        let Plugin { tag, position, .. } = &self.book.plugins[at];
        for item in &set.bootstrap {
            let rule = DomainRule::parse(&item.text, DomainKind::Domain);
            self.report(item, rule.map(drop));
        }
        let mut learned = self.learned.borrow_mut();
        if learned.iter().any(|other| other.plugin.path.text.trim() == set.path.text.trim()) {
            let message = format!("another set is kept in {} too", set.path.text);
            let complaint = set.path.position.complaint(message);
            self.book.notes.complain(complaint.remedy("give each a file of its own"));
            return None;
        }
        if learned.len() >= LEARNED_SETS_MAX {
            let message = format!("there are more than {LEARNED_SETS_MAX} sets that grow");
            self.book.notes.complain(position.complaint(message));
            return None;
        }
        let names = Arc::new(LearnedNames::new(self.seed, self.case()));
        self.learned_of.borrow_mut().push(at);
        learned.push(LearnedSpec {
            name: tag.clone(),
            position: position.clone(),
            plugin: set.clone(),
            names: Arc::clone(&names),
        });
        Some(names)
    }

    fn domain_set(&self, args: &SetArgs, built: &mut BuiltSet) {
        let mut own = self.builder();
        for item in &args.rules {
            let added = DomainRule::parse(item.text.trim(), DomainKind::Domain);
            self.report_rule(item, added.and_then(|rule| own.add(&rule)));
        }
        for file in args.files.iter().filter(|it| !it.text.is_empty()) {
            self.for_each_line(file, |line| own.add_line(line, DomainKind::Domain));
        }
        let own = own.build();
        if !own.is_empty() {
            built.names.push(Arc::new(own));
        }
        self.add_providers(&args.sets, SetRequest::Names, built);
    }

    fn ip_set(&self, args: &SetArgs, built: &mut BuiltSet) {
        let mut own = IpSet::builder();
        for item in &args.rules {
            self.report(item, own.add_text(item.text.trim()));
        }
        for file in args.files.iter().filter(|it| !it.text.is_empty()) {
            self.for_each_line(file, |line| own.add_line(line));
        }
        let own = own.build();
        if !own.is_empty() {
            built.addresses.push(Arc::new(own));
        }
        self.add_providers(&args.sets, SetRequest::Addresses, built);
    }

    fn dat(
        &self,
        args: &DatArgs,
        take: impl FnOnce(&[u8], &[DatSelector]) -> Result<DatContents, BadDat>,
    ) {
        let notes = self.book.notes;
        let mut selectors = Vec::new();
        for item in &args.selectors {
            match DatSelector::parse(&item.text) {
                Ok(selector) => selectors.push(selector),
                Err(why) => self.report::<BadSelector>(item, Err(why)),
            }
        }
        // Without a selector all of it would be meant.
        if selectors.len() < args.selectors.len() {
            return;
        }
        let Some(bytes) = self.read(&args.file) else { return };
        match take(&bytes, &selectors) {
            Ok(found) => {
                for code in &found.missing {
                    let message = format!("{}: there is nothing under {code:?}", args.file.text);
                    notes.warn(args.file.position.complaint(message));
                }
                if found.skipped > 0 {
                    let first = found.reasons.first().map_or("", String::as_str);
                    let (file, skipped) = (&args.file.text, found.skipped);
                    let message = format!("{file}: {skipped} rules are left out, first {first}");
                    notes.warn(args.file.position.complaint(message));
                }
            }
            Err(why) => {
                notes.complain(args.file.position.complaint(format!("{}: {why}", args.file.text)));
            }
        }
    }

    fn adguard(&self, args: &SetArgs) -> QuestionSet {
        let own = args.rules.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join("\n");
        let files: Vec<(&str, Vec<u8>)> = args
            .files
            .iter()
            .filter_map(|file| Some((file.text.as_str(), self.read(file)?)))
            .collect();
        let mut texts = vec![("rules", own.as_bytes())];
        texts.extend(files.iter().map(|(name, bytes)| (*name, bytes.as_slice())));
        let set = QuestionSet::parse(&texts, self.seed);
        let skipped: u32 = set.skipped().values().sum();
        let place = args.rules.first().or(args.files.first()).map(|it| &it.position);
        if let Some(place) = place.filter(|_| skipped > 0) {
            let message = format!("{skipped} rules cannot be used for names and are left out");
            self.book.notes.warn(place.complaint(message));
        }
        set
    }
}

impl BuiltSet {
    /// Adds what another holds; what is there already is not asked twice.
    fn add(&mut self, other: &Self) {
        fn join<T>(all: &mut Vec<Arc<T>>, other: &[Arc<T>]) {
            for it in other {
                if !all.iter().any(|known| Arc::ptr_eq(known, it)) {
                    all.push(Arc::clone(it));
                }
            }
        }
        join(&mut self.names, &other.names);
        join(&mut self.rules, &other.rules);
        join(&mut self.learned, &other.learned);
        join(&mut self.addresses, &other.addresses);
    }

    fn into_names(self) -> NameSets {
        NameSets { sets: self.names.into(), learned: self.learned.into(), rules: self.rules.into() }
    }
}
