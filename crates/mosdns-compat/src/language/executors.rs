//! Executors: what a rule can do, as a plugin of its own or in its quick form.
//!
//! Each type has its arguments here or beside; the defaults are the peers'. Nothing is looked up:
//! tags stay words until [`crate::compile`]. Called by [`super::plugins`] and [`super::rules`].

use super::Dialect;
use super::answers::{self, BlackHole, ListedRules};
use super::caches::{self, CachePlugin, FallbackPlugin, ReverseLookup};
use super::learning::{self, LearnDomainPlugin};
use super::outward::{OutwardEffect, quick as quick_outward, read as read_outward};
use super::position::{PlacedWord, ReadNotes, SourcePosition, not_yet};
use super::rules::{self, SequenceRule};
use super::schedule::{CronPlugin, cron};
use super::selector::{self, IpSelectorPlugin};
use super::tree::{ConfigSection, UnknownKeys, text_of};
use super::upstreams::{self, ForwardPlugin};
use super::words::{no_words, numbers, split};
use pipeline::program::{PassOn, SubnetRule, TtlRule};
use serde_json::Value;
use std::net::IpAddr;
use std::time::Duration;

/// An executor and its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Executor {
    /// Rules, one after the other.
    Sequence(Vec<SequenceRule>),
    /// Asks upstreams.
    Forward(ForwardPlugin),
    /// Keeps answers.
    Cache(CachePlugin),
    /// Runs one executor, and another if it fails or is slow.
    Fallback(FallbackPlugin),
    /// Addresses of names.
    Hosts(ListedRules),
    /// Records of one's own, as lines of a zone file.
    Arbitrary(ListedRules),
    /// Other names in a name's stead.
    Redirect(ListedRules),
    /// Client subnet (RFC 7871).
    EcsHandler(SubnetRule),
    /// Passes these EDNS options of the client on.
    ForwardOptions(Vec<u16>),
    /// Changes TTLs.
    Ttl(TtlRule),
    /// Prefers a family: 1 (A) or 28 (AAAA).
    Prefer(u16),
    /// Fixed addresses.
    BlackHole(BlackHole),
    /// Forgets the answer.
    DropResponse,
    /// Waits.
    Sleep(Duration),
    /// Writes a line.
    DebugPrint(String),
    /// Writes a line about the rest.
    QuerySummary(String),
    /// Counts the rest under a name.
    MetricsCollector(String),
    /// Remembers whose addresses answers hold.
    ReverseLookup(ReverseLookup),
    /// Records queries; the request log does that for all.
    QueryRecorder,
    /// Learns the name asked for.
    LearnDomain(LearnDomainPlugin),
    /// Puts addresses in the order in which they let us connect.
    IpSelector(IpSelectorPlugin),
    /// Something outside.
    Outward(OutwardEffect),
    /// Runs executors by the clock.
    Cron(CronPlugin),
}

/// All types of executors, with what their names stand for.
pub(super) const TYPES: &[&str] = &[
    "sequence",
    "forward",
    "cache",
    "fallback",
    "hosts",
    "arbitrary",
    "redirect",
    "ecs_handler",
    "forward_edns0opt",
    "ttl",
    "prefer_ipv4",
    "prefer_ipv6",
    "black_hole",
    "drop_resp",
    "sleep",
    "debug_print",
    "query_summary",
    "metrics_collector",
    "reverse_lookup",
    "query_recorder",
    "ip_selector",
    "learn_domain",
    "http_request",
    "script",
    "ipset",
    "nftset",
    "ros_address_list",
    "ros_route",
    "download",
    "reload_provider",
    "reload",
    "upgrade",
    "cron",
];

/// Those that mosdns declares as plugins.
pub(super) const MOSDNS_PLUGINS: &[&str] = &[
    "sequence",
    "forward",
    "cache",
    "fallback",
    "hosts",
    "arbitrary",
    "redirect",
    "ecs_handler",
    "sleep",
    "reverse_lookup",
];

/// Those that can stand in a rule, in either dialect; `ecs` is mosdns's old name of `ecs_handler`.
pub(super) const QUICK: &[&str] = &[
    "forward",
    "cache",
    "ecs",
    "ecs_handler",
    "forward_edns0opt",
    "ttl",
    "prefer_ipv4",
    "prefer_ipv6",
    "black_hole",
    "drop_resp",
    "sleep",
    "debug_print",
    "query_summary",
    "metrics_collector",
    "ip_selector",
    "ipset",
    "nftset",
    "download",
    "reload_provider",
    "reload",
    "upgrade",
];

/// Those of them that only OxiDNS has in rules.
pub(super) const OXIDNS_QUICK: &[&str] =
    &["ecs_handler", "ip_selector", "download", "reload_provider", "reload", "upgrade"];

/// The executor of type `name` with the arguments of its own plugin; none if there is no such
/// type, or it was refused with a complaint.
pub(super) fn read(
    name: &str,
    args: &Value,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<Executor> {
    if name == "sequence" {
        return Some(Executor::Sequence(rules::read(args, place, notes)));
    }
    if let Some(text) = text_of(args).filter(|it| !it.is_empty() && takes_text(name)) {
        return quick(name, &text, place, notes);
    }
    if name == "black_hole" && args.is_array() {
        return Some(Executor::BlackHole(answers::black_hole_list(args, place, notes)));
    }
    if name == "reload_provider" {
        return read_outward(name, args, place, notes).map(Executor::Outward);
    }
    if let "http_request" | "script" | "ipset" | "nftset" | "download" | "reload"
    | "ros_address_list" | "ros_route" = name
    {
        return read_outward(name, args, place, notes).map(Executor::Outward);
    }
    if name == "upgrade" {
        not_yet(name, place, notes);
        return None;
    }
    let mut section = ConfigSection::new(args, place, notes);
    let executor = read_section(name, &mut section);
    let unknown = match name {
        "ip_selector" | "learn_domain" => UnknownKeys::Refused,
        _ => UnknownKeys::AsUsual,
    };
    section.finish(unknown);
    executor
}

/// Types whose arguments OxiDNS also takes as one text, as in the quick form.
fn takes_text(name: &str) -> bool {
    matches!(
        name,
        "ttl"
            | "black_hole"
            | "forward_edns0opt"
            | "debug_print"
            | "query_summary"
            | "metrics_collector"
    )
}

fn read_section(name: &str, section: &mut ConfigSection<'_>) -> Option<Executor> {
    Some(match name {
        "forward" => Executor::Forward(upstreams::forward(section)),
        "cache" => Executor::Cache(caches::cache(section)),
        "ip_selector" => Executor::IpSelector(selector::selector(section)),
        "learn_domain" => Executor::LearnDomain(learning::learn(section)?),
        "fallback" => Executor::Fallback(caches::fallback(section)?),
        "hosts" => Executor::Hosts(answers::listed(section, "entries")),
        "arbitrary" => Executor::Arbitrary(answers::listed(section, "rules")),
        "redirect" => Executor::Redirect(answers::listed(section, "rules")),
        "ecs_handler" => Executor::EcsHandler(ecs(section)),
        "forward_edns0opt" => Executor::ForwardOptions(option_codes(section)),
        "ttl" => Executor::Ttl(answers::ttl(section)?),
        "prefer_ipv4" | "prefer_ipv6" => {
            if section.flag("cache") == Some(false) || section.count("cache_ttl", 86400).is_some() {
                let message = "what is learned of a name is kept for an hour, whatever is set";
                section.notes.warn(section.position.complaint(message));
            }
            Executor::Prefer(family(name))
        }
        "black_hole" => Executor::BlackHole(answers::black_hole(section)),
        "drop_resp" => Executor::DropResponse,
        "sleep" => {
            // An hour is longer than any client waits.
            let ms = section.whole("duration", 0..=3_600_000).unwrap_or(0);
            Executor::Sleep(Duration::from_millis(ms))
        }
        "debug_print" => {
            Executor::DebugPrint(section.text("msg").map_or("debug print".into(), text))
        }
        "query_summary" => {
            Executor::QuerySummary(section.text("msg").map_or("query summary".into(), text))
        }
        "metrics_collector" => {
            Executor::MetricsCollector(section.text("name").map_or("default".into(), text))
        }
        "reverse_lookup" => Executor::ReverseLookup(caches::reverse_lookup(section)),
        "query_recorder" => recorder(section),
        "cron" => Executor::Cron(cron(section)),
        _ => return None,
    })
}

fn text(item: PlacedWord) -> String {
    item.text
}

fn family(name: &str) -> u16 {
    use dns_wire::record_type;
    if name == "prefer_ipv4" { record_type::A } else { record_type::AAAA }
}

/// The executor of type `name` with the words of its quick form; none if there is no such form, or
/// it was refused with a complaint.
pub(super) fn quick(
    name: &str,
    words: &str,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<Executor> {
    let some = |default: &str| if words.is_empty() { default.into() } else { words.to_owned() };
    Some(match name {
        "forward" => Executor::Forward(upstreams::quick(words, place, notes)?),
        "cache" => Executor::Cache(caches::quick(words, place, notes)),
        "ecs" | "ecs_handler" => Executor::EcsHandler(quick_ecs(words, place, notes)),
        "forward_edns0opt" => {
            let codes = numbers(&split(words, Dialect::Oxidns), 65535, place, notes);
            Executor::ForwardOptions(codes.into_iter().map(|it| it as u16).collect())
        }
        "ttl" => Executor::Ttl(answers::quick_ttl(words, place, notes)?),
        "prefer_ipv4" | "prefer_ipv6" => {
            no_words(name, words, place, notes);
            Executor::Prefer(family(name))
        }
        "black_hole" => Executor::BlackHole(answers::quick_black_hole(words, place, notes)),
        "drop_resp" => {
            no_words(name, words, place, notes);
            Executor::DropResponse
        }
        "sleep" => Executor::Sleep(quick_sleep(words, place, notes)?),
        "debug_print" => Executor::DebugPrint(some("debug print")),
        "query_summary" => Executor::QuerySummary(some("query summary")),
        "metrics_collector" if words.is_empty() && notes.is_mosdns() => {
            let complaint = place.complaint("a collector must have a name");
            notes.complain(complaint.remedy("write metrics_collector NAME"));
            return None;
        }
        "metrics_collector" => Executor::MetricsCollector(some("default")),
        "ip_selector" => Executor::IpSelector(selector::quick(words, place, notes)),
        "ipset" | "nftset" | "download" | "reload_provider" | "reload" => {
            Executor::Outward(quick_outward(name, words, place, notes)?)
        }
        "upgrade" => {
            not_yet(name, place, notes);
            return None;
        }
        _ => return None,
    })
}

fn ecs(section: &mut ConfigSection<'_>) -> SubnetRule {
    let passing = |is_on: bool| if is_on { PassOn::Pass } else { PassOn::Keep };
    let (forward, send) = (section.is_on("forward"), section.is_on("send"));
    let preset =
        section.text("preset").and_then(|it| preset(&it.text, &it.position, section.notes));
    SubnetRule {
        forward: passing(forward),
        send: passing(send),
        preset,
        mask4: section.mask("mask4", 32).unwrap_or(24),
        mask6: section.mask("mask6", 128).unwrap_or(48),
    }
}

fn preset(text: &str, place: &SourcePosition, notes: &ReadNotes) -> Option<IpAddr> {
    let address: Option<IpAddr> = text.trim().parse().ok();
    if address.is_none() {
        notes.complain(place.complaint(format!("{text:?} is no IP address")));
    }
    address.map(|it| it.to_canonical())
}

/// `ecs ADDRESS`: mosdns warns of a mask and of a second address, and ignores them.
fn quick_ecs(words: &str, place: &SourcePosition, notes: &ReadNotes) -> SubnetRule {
    let mut words = words.split_whitespace();
    let first = words.next();
    let (address, mask) = first.map_or((None, None), |it| match it.split_once('/') {
        Some((address, mask)) => (Some(address), Some(mask)),
        None => (Some(it), None),
    });
    if mask.is_some() || words.next().is_some() {
        let message = "only the first address counts, with the bits that are usual: 24 and 48";
        notes.warn(place.complaint(message));
    }
    SubnetRule {
        forward: PassOn::Keep,
        send: PassOn::Keep,
        preset: address.and_then(|it| preset(it, place, notes)),
        mask4: 24,
        mask6: 48,
    }
}

fn option_codes(section: &mut ConfigSection<'_>) -> Vec<u16> {
    let items = section.texts("codes");
    let read = |it: &PlacedWord| numbers(&[it.text.as_str()], 65535, &it.position, section.notes);
    items.iter().flat_map(read).map(|it| it as u16).collect()
}

fn quick_sleep(words: &str, place: &SourcePosition, notes: &ReadNotes) -> Option<Duration> {
    let is_number = !words.is_empty() && words.bytes().all(|it| it.is_ascii_digit());
    let span = if is_number {
        words.parse::<u32>().ok().map(|it| Duration::from_millis(it.into()))
    } else if notes.is_mosdns() || words.is_empty() {
        None
    } else {
        super::tree::span_of(words)
    };
    span.filter(|it| *it <= Duration::from_hours(1)).or_else(|| {
        let complaint = place.complaint(format!("{words:?} is no time to sleep"));
        notes.refuse(complaint.remedy("milliseconds, at most 3600000"))
    })
}

fn recorder(section: &mut ConfigSection<'_>) -> Executor {
    for key in [
        "path",
        "queue_size",
        "batch_size",
        "flush_interval_ms",
        "memory_tail",
        "retention_days",
        "cleanup_interval_hours",
        "reader_concurrency",
    ] {
        section.value(key);
    }
    let message = "Tidegate's request log records every query: this plugin has no effect";
    let complaint = section.position.complaint(message);
    section.notes.warn(complaint.remedy("see `ledger` in the manual for how long it is kept"));
    Executor::QueryRecorder
}
