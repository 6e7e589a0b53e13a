//! Arguments of `ip_selector` (OxiDNS): how addresses of an answer are measured and chosen.
//!
//! Called by [`super::executors`].

use super::network;
use super::position::{PlacedWord, ReadNotes, SourcePosition};
use super::tree::{ConfigSection, UnknownKeys};
use std::time::Duration;

/// Longest time in milliseconds that anything of it may take.
const WAIT_MS_MAX: u64 = 10_000;
/// Methods, at most.
const METHODS_MAX: usize = 8;
/// Attempts at once, at most.
const PARALLEL_MAX: u64 = 1024;
/// Addresses that are remembered, at most.
const MEMORY_MAX: u64 = 65_536;
/// Longest time in seconds that an address is remembered: a day.
const MEMORY_S_MAX: u64 = 86_400;

/// Puts the addresses of an answer in the order in which they let us connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpSelectorPlugin {
    /// Choice among addresses that are not known yet. Default: the first that lets us in.
    pub choice: AddressChoice,
    /// Ways to measure: ports, or an ICMP echo. Empty for `none`. Default: ports 443 and 80.
    pub methods: Vec<AddressProbe>,
    /// A SOCKS5 proxy that TCP goes through.
    pub socks5: Option<String>,
    /// Time between two methods. Default 200 ms.
    pub stagger: Duration,
    /// Time of one attempt. Default 600 ms.
    pub timeout: Duration,
    /// Time that an answer waits. Default 1 s.
    pub max_wait: Duration,
    /// Addresses that stay; 0 is all. Default 1.
    pub keep: usize,
    /// Treatment of signed answers. Default: they are put in order alone.
    pub signed: SignedChoice,
    /// Attempts at once. Default 256.
    pub parallel: usize,
    /// Addresses that are remembered. Default 4096.
    pub entries: usize,
    /// For so long, where they let us in. Default an hour.
    pub success: Duration,
    /// For so long, where they did not. Default a minute.
    pub failure: Duration,
    /// Trying of private addresses too: an argument of our own. Default: not.
    pub private: PrivateAddresses,
}

/// Choice among addresses that are not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressChoice {
    /// The first that lets us in.
    FirstSuccess,
    /// The soonest within the time.
    BestWithinBudget,
    /// None: they are measured for later.
    Background,
}

/// A way to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressProbe {
    /// A connection to this port.
    Tcp(u16),
    /// An ICMP echo.
    Ping,
}

/// Tells what happens to signed answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedChoice {
    /// They are put in order, and nothing is left out.
    OrderOnly,
    /// They stay as they came.
    Leave,
}

/// Tells whether private addresses are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivateAddresses {
    /// They are.
    Tried,
    /// They are not.
    Left,
}

impl Default for IpSelectorPlugin {
    fn default() -> Self {
        Self {
            choice: AddressChoice::FirstSuccess,
            methods: vec![AddressProbe::Tcp(443), AddressProbe::Tcp(80)],
            socks5: None,
            stagger: Duration::from_millis(200),
            timeout: Duration::from_millis(600),
            max_wait: Duration::from_secs(1),
            keep: 1,
            signed: SignedChoice::OrderOnly,
            parallel: 256,
            entries: 4096,
            success: Duration::from_hours(1),
            failure: Duration::from_mins(1),
            private: PrivateAddresses::Left,
        }
    }
}

pub(super) fn selector(section: &mut ConfigSection<'_>) -> IpSelectorPlugin {
    let notes = section.notes;
    let mut it = IpSelectorPlugin::default();
    if let Some(word) = section.text("selection_mode") {
        it.choice = choice(&word.text).unwrap_or_else(|| {
            let complaint = word.position.complaint(format!("{:?} is no mode", word.text));
            notes.complain(complaint.remedy("first_success, best_within_budget or background"));
            it.choice
        });
    }
    let words = section.texts("probe_methods");
    if !words.is_empty() {
        it.methods = methods(&words, notes);
    }
    let mut millis = |key, least: u64, usual: Duration| {
        let span = section.whole(key, least..=WAIT_MS_MAX);
        span.map_or(usual, Duration::from_millis)
    };
    it.stagger = millis("probe_stagger", 0, it.stagger);
    it.timeout = millis("probe_timeout", 1, it.timeout);
    it.max_wait = millis("max_wait", 1, it.max_wait);
    it.keep = section.whole("top_n", 0..=u64::MAX).map_or(it.keep, |most| most.min(256) as usize);
    // An earlier word for the same; it says nothing that is not so anyway.
    section.flag("reorder_only");
    if let Some(word) = section.text("dnssec_policy") {
        it.signed = match word.text.as_str() {
            "reorder_only" => SignedChoice::OrderOnly,
            "skip" => SignedChoice::Leave,
            other => {
                let complaint = word.position.complaint(format!("{other:?} is no policy"));
                notes.complain(complaint.remedy("reorder_only or skip"));
                it.signed
            }
        };
    }
    if let Some(word) = section.text("probe_addresses") {
        it.private = match word.text.as_str() {
            "public" => PrivateAddresses::Left,
            "any" => PrivateAddresses::Tried,
            other => {
                let complaint = word.position.complaint(format!("{other:?} are no addresses"));
                notes.complain(complaint.remedy("public or any"));
                it.private
            }
        };
    }
    it.parallel = section
        .clamped("max_parallel_probes", PARALLEL_MAX)
        .map_or(it.parallel, |most| most as usize);
    if let Some(cache) = section.section("cache") {
        memory(cache, &mut it);
    }
    it.socks5 = network::proxy(section);
    it
}

fn memory(mut section: ConfigSection<'_>, it: &mut IpSelectorPlugin) {
    let is_on = section.flag("enabled") != Some(false);
    it.entries = section.clamped("size", MEMORY_MAX).map_or(it.entries, |most| most as usize);
    let mut seconds = |key, usual: Duration| {
        section.clamped(key, MEMORY_S_MAX).map_or(usual, Duration::from_secs)
    };
    it.success = seconds("ttl", it.success);
    it.failure = seconds("failure_ttl", it.failure);
    section.finish(UnknownKeys::Refused);
    if !is_on {
        // Long enough for the answer that waits for it.
        (it.success, it.failure) = (Duration::from_secs(1), Duration::from_secs(1));
    }
}

/// `ip_selector [mode] [methods]`.
pub(super) fn quick(words: &str, place: &SourcePosition, notes: &ReadNotes) -> IpSelectorPlugin {
    let mut it = IpSelectorPlugin { socks5: network::usual_proxy(notes), ..Default::default() };
    let mut words = words.split_whitespace().peekable();
    if let Some(mode) = words.peek().and_then(|word| choice(word)) {
        it.choice = mode;
        words.next();
    }
    let words: Vec<_> = words.map(|word| PlacedWord::new(word, place)).collect();
    if !words.is_empty() {
        it.methods = methods(&words, notes);
    }
    it
}

fn choice(word: &str) -> Option<AddressChoice> {
    match word {
        "first_success" => Some(AddressChoice::FirstSuccess),
        "best_within_budget" => Some(AddressChoice::BestWithinBudget),
        "background" => Some(AddressChoice::Background),
        _ => None,
    }
}

/// Methods, with commas between those of one word too; `none` alone is none at all.
fn methods(words: &[PlacedWord], notes: &ReadNotes) -> Vec<AddressProbe> {
    let mut all = Vec::new();
    let mut is_none = false;
    for word in words {
        for text in word.text.split(',').map(str::trim).filter(|text| !text.is_empty()) {
            let port = text.strip_prefix("tcp:").and_then(|it| it.parse().ok());
            let method = match (text, port.filter(|port| *port > 0)) {
                ("ping", _) => AddressProbe::Ping,
                (_, Some(port)) => AddressProbe::Tcp(port),
                ("none", None) => {
                    is_none = true;
                    continue;
                }
                (other, None) => {
                    let complaint = word.position.complaint(format!("{other:?} measures nothing"));
                    notes.complain(complaint.remedy("tcp:443, ping or none"));
                    continue;
                }
            };
            if !all.contains(&method) {
                all.push(method);
            }
        }
    }
    if let Some(first) = words.first()
        && ((is_none && !all.is_empty()) || all.len() > METHODS_MAX)
    {
        let message = "these ways to measure do not go together";
        let remedy = format!("none alone, or at most {METHODS_MAX} others");
        notes.complain(first.position.complaint(message).remedy(remedy));
    }
    all
}
