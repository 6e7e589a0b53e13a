//! Arguments of `forward`: upstreams, and how many are asked at once.
//!
//! Their addresses are read beside. Called by [`super::executors`].

use super::Dialect;
use super::answers::then;
use super::network;
use super::outbound::{OutboundProfile, ProfileChoice};
use super::position::{PlacedWord, ReadNotes, SourcePosition};
use super::tree::{ConfigSection, UnknownKeys};
use super::words::short_circuit;
use pipeline::program::AfterAnswer;
use std::net::SocketAddr;
use std::time::Duration;

/// Upstreams of one plugin, at most.
pub const UPSTREAMS_MAX: usize = 64;

/// Asks upstreams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardPlugin {
    /// Whom to ask. At least one.
    pub upstreams: Vec<UpstreamSpec>,
    /// Number at once, from 1 to 3 (mosdns) or 32 (OxiDNS); more is taken for the most, as the
    /// peers do. Default 1, in the quick form the most.
    pub concurrent: u8,
    /// Answer that counts where they disagree.
    pub selection: AnswerChoice,
    /// What follows an answer: `short_circuit` of OxiDNS.
    pub then: AfterAnswer,
}

/// Tells which answer counts where upstreams disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerChoice {
    /// The first that says there are records, or that there are none: mosdns.
    First,
    /// The first at all.
    Fastest,
    /// One with records at once, an empty one a moment later: what OxiDNS does where nothing is
    /// said.
    Balanced,
    /// One with records at once, an empty one when all have answered.
    PreferPositive,
    /// One with records at once, an empty one when two agree on it.
    Consensus,
}

/// One upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamSpec {
    /// Where it stands in the file.
    pub position: SourcePosition,
    /// What it is called; empty without a name.
    pub tag: String,
    /// Address as our own settings have it: `tls://dns.example:853`.
    pub address: String,
    /// Connect to this IP address or name whatever the address says. A name never over UDP.
    pub dial: Option<String>,
    /// Time for which an unused connection is kept. Default: as our own settings say.
    pub idle: Option<Duration>,
    /// Time that it has to answer (OxiDNS). Default 5 s.
    pub timeout: Option<Duration>,
    /// Connections at once, at most (OxiDNS; mosdns ignores it).
    pub connections: Option<u8>,
    /// Connections kept open though nothing is asked (OxiDNS). Default 0.
    pub min_connections: u8,
    /// Whether many questions are under way on one connection.
    pub pipeline: PipeliningMode,
    /// Whether its certificate is checked.
    pub verify: VerifyCertificate,
    /// A SOCKS5 proxy, `[user:password@]host:port`.
    pub socks5: Option<String>,
    /// The firewall mark of its packets (`SO_MARK`).
    pub mark: Option<u32>,
    /// The network interface (`SO_BINDTODEVICE`).
    pub interface: Option<String>,
    /// The plain DNS server that finds its address.
    pub bootstrap: Option<SocketAddr>,
    /// Plain DNS servers of its outbound profile.
    pub profile_servers: Vec<SocketAddr>,
    /// Which addresses are looked for: 4 or 6; any where nothing is said.
    pub bootstrap_version: Option<u8>,
}

/// Tells whether many questions are under way on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipeliningMode {
    /// Nothing is said.
    Unsaid,
    /// They are.
    On,
    /// They are not.
    Off,
}

/// Tells whether a certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyCertificate {
    /// It is.
    Yes,
    /// Is not: `insecure_skip_verify`.
    No,
}

/// Holds what is said once for all upstreams of a plugin (mosdns).
#[derive(Clone, Default)]
struct SharedUpstreamSettings {
    socks5: Option<PlacedWord>,
    mark: Option<u64>,
    interface: Option<PlacedWord>,
    bootstrap: Option<PlacedWord>,
    bootstrap_version: Option<u8>,
}

const MARK_MAX: u64 = u32::MAX as u64;
const SECOND: Duration = Duration::from_secs(1);
/// Longest time that an unused connection is kept, as our own settings have it.
const IDLE_MAX: Duration = Duration::from_mins(10);
pub(super) const HTTP3_FALLS_BACK: &str = "DNS over HTTP/3 is not built: HTTP/2 is used instead";

pub(super) fn forward(section: &mut ConfigSection<'_>) -> ForwardPlugin {
    let notes = section.notes;
    let shared = if notes.is_mosdns() {
        SharedUpstreamSettings::read(section)
    } else {
        SharedUpstreamSettings::default()
    };
    let mut upstreams: Vec<UpstreamSpec> = Vec::new();
    let all = section.sections("upstreams");
    if all.is_empty() {
        section.missing("upstreams");
    }
    if all.len() > UPSTREAMS_MAX {
        let message = format!("{} upstreams are too many", all.len());
        notes.complain(
            section.position.complaint(message).remedy(format!("{UPSTREAMS_MAX} is the most")),
        );
    }
    for mut it in all.into_iter().take(UPSTREAMS_MAX) {
        let upstream = upstream(&mut it, &shared);
        let place = it.position.clone();
        it.finish(UnknownKeys::AsUsual);
        let Some(upstream) = upstream else { continue };
        if !upstream.tag.is_empty() && upstreams.iter().any(|other| other.tag == upstream.tag) {
            let message = format!("another upstream is called {:?} too", upstream.tag);
            notes.complain(place.below("tag").complaint(message));
        }
        upstreams.push(upstream);
    }
    let most = concurrent_max(notes);
    let concurrent = section.whole("concurrent", 0..=u64::MAX).unwrap_or(1).clamp(1, most) as u8;
    let selection = selection(section);
    ForwardPlugin { upstreams, concurrent, selection, then: then(section) }
}

const fn concurrent_max(notes: &ReadNotes) -> u64 {
    match notes.dialect {
        Dialect::Mosdns => 3,
        Dialect::Oxidns => 32,
    }
}

/// Returns what counts where nothing is said.
const fn usual_choice(notes: &ReadNotes) -> AnswerChoice {
    match notes.dialect {
        Dialect::Mosdns => AnswerChoice::First,
        Dialect::Oxidns => AnswerChoice::Balanced,
    }
}

/// `response_selection` of OxiDNS.
fn selection(section: &mut ConfigSection<'_>) -> AnswerChoice {
    const CHOICES: &[(&str, AnswerChoice)] = &[
        ("fastest", AnswerChoice::Fastest),
        ("balanced", AnswerChoice::Balanced),
        ("prefer_positive", AnswerChoice::PreferPositive),
        ("consensus", AnswerChoice::Consensus),
    ];
    let notes = section.notes;
    let usual = usual_choice(notes);
    if notes.is_mosdns() {
        return usual;
    }
    let Some(word) = section.text("response_selection") else { return usual };
    let found = CHOICES.iter().find(|(name, _)| *name == word.text);
    if found.is_none() {
        let complaint =
            word.position.complaint(format!("{:?} is no choice among answers", word.text));
        notes.complain(complaint.remedy("fastest, balanced, prefer_positive or consensus"));
    }
    found.map_or(usual, |(_, choice)| *choice)
}

/// `forward ADDRESS...`.
pub(super) fn quick(
    words: &str,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<ForwardPlugin> {
    let (words, then) = short_circuit(words, place, notes);
    if words.is_empty() {
        let complaint = place.complaint("no upstream is given");
        notes.complain(complaint.remedy("write forward ADDRESS"));
        return None;
    }
    let upstreams = words
        .iter()
        .filter_map(|word| {
            let mut upstream = UpstreamSpec::at(place);
            let word = PlacedWord::new(*word, place);
            let is_right = upstream.set_address(&word, None, None, notes);
            if let Some(profile) = network::usual(notes) {
                upstream.follow(profile, ProfileChoice::Usual, false, notes);
            }
            is_right.then_some(upstream)
        })
        .take(UPSTREAMS_MAX)
        .collect();
    let (concurrent, selection) = (concurrent_max(notes) as u8, usual_choice(notes));
    Some(ForwardPlugin { upstreams, concurrent, selection, then })
}

impl SharedUpstreamSettings {
    fn read(section: &mut ConfigSection<'_>) -> Self {
        Self {
            socks5: section.text("socks5"),
            mark: section.whole("so_mark", 0..=MARK_MAX),
            interface: section.text("bind_to_device"),
            bootstrap: section.text("bootstrap"),
            bootstrap_version: version(section),
        }
    }
}

fn version(section: &mut ConfigSection<'_>) -> Option<u8> {
    network::version_at(section, "bootstrap_version")
}

fn upstream(
    section: &mut ConfigSection<'_>,
    shared: &SharedUpstreamSettings,
) -> Option<UpstreamSpec> {
    let notes = section.notes;
    let mut it = UpstreamSpec::at(&section.position);
    it.tag = section.text("tag").map(|tag| tag.text).unwrap_or_default();
    it.idle = section.span("idle_timeout", SECOND);
    it.pipeline = match section.flag("enable_pipeline") {
        Some(true) => PipeliningMode::On,
        Some(false) => PipeliningMode::Off,
        None => PipeliningMode::Unsaid,
    };
    if section.is_on("insecure_skip_verify") {
        it.verify = VerifyCertificate::No;
    }
    let connections = section.whole("max_conns", 0..=u64::MAX).filter(|most| *most > 0);
    let profile = network::chosen(section);
    let port = if notes.is_mosdns() {
        None
    } else {
        it.connections = connections.map(|most| most.min(64) as u8);
        it.timeout = section.span("timeout", SECOND);
        section.whole("port", 1..=65535).map(|port| port as u16)
    };
    it.mark = section
        .whole("so_mark", 0..=MARK_MAX)
        .or(shared.mark)
        .filter(|mark| *mark > 0)
        .map(|mark| mark as u32);
    let device = section.text("bind_to_device").or_else(|| shared.interface.clone());
    it.interface = device.map(|item| item.text);
    let bootstrap = section.text("bootstrap").or_else(|| shared.bootstrap.clone());
    it.bootstrap = bootstrap.and_then(|item| server(&item, notes));
    it.bootstrap_version = version(section).or(shared.bootstrap_version);
    let socks5 = section.text("socks5").or_else(|| shared.socks5.clone());
    let wants_http3 = section.is_on("enable_http3");
    let dial = section.text("dial_addr");
    let address = section.needed("addr")?;
    if !it.set_address(&address, dial.as_ref(), port, notes) {
        return None;
    }
    it.leave_out_of_place(notes);
    let has_own_proxy = socks5.is_some();
    if wants_http3 {
        let message = match it.scheme() {
            "https" => HTTP3_FALLS_BACK.to_owned(),
            other => format!("\"enable_http3\" has no effect on {other}://"),
        };
        notes.warn(section.position.below("enable_http3").complaint(message));
    }
    let is_udp = it.address.starts_with("udp:") || it.address.starts_with("quic:");
    if !notes.is_mosdns() {
        it.min_connections = kept_open(section, connections, it.scheme());
    }
    match socks5 {
        Some(item) if is_udp => {
            let message = "no SOCKS5 proxy is used over UDP and QUIC";
            notes.warn(item.position.complaint(message));
        }
        other => it.socks5 = other.map(|item| item.text),
    }
    if let Some((profile, choice)) = profile {
        it.follow(profile, choice, has_own_proxy, notes);
    }
    Some(it)
}

/// `min_conns`: connections that are kept open though nothing is asked.
fn kept_open(section: &mut ConfigSection<'_>, most: Option<u64>, scheme: &str) -> u8 {
    let least = section.whole("min_conns", 0..=4096).unwrap_or(0);
    let place = section.position.below("min_conns");
    if least > most.unwrap_or(64) {
        let complaint = place.complaint(format!("{least} are more than max_conns"));
        section.notes.complain(complaint.remedy("at most max_conns, which is 64 by default"));
        return 0;
    }
    if least > 0 && matches!(scheme, "udp" | "quic") {
        let message = format!("\"min_conns\" has no effect on {scheme}://");
        section.notes.warn(place.complaint(message));
        return 0;
    }
    least.min(64) as u8
}

/// `IP` or `IP:port` of a plain DNS server.
fn server(item: &PlacedWord, notes: &ReadNotes) -> Option<SocketAddr> {
    network::plain_server(item, &item.text, notes)
}

impl UpstreamSpec {
    fn at(place: &SourcePosition) -> Self {
        Self {
            position: place.clone(),
            tag: String::new(),
            address: String::new(),
            dial: None,
            idle: None,
            timeout: None,
            connections: None,
            min_connections: 0,
            pipeline: PipeliningMode::Unsaid,
            verify: VerifyCertificate::Yes,
            socks5: None,
            mark: None,
            interface: None,
            bootstrap: None,
            profile_servers: Vec::new(),
            bootstrap_version: None,
        }
    }

    /// The protocol of its address.
    fn scheme(&self) -> &str {
        self.address.split_once("://").map_or("", |(scheme, _)| scheme)
    }

    /// Takes from `profile` what the upstream does not say itself.
    fn follow(
        &mut self,
        profile: &OutboundProfile,
        choice: ProfileChoice,
        has_own_proxy: bool,
        notes: &ReadNotes,
    ) {
        let place = self.position.below("outbound");
        if let Some(socks5) = profile.socks5.as_ref().filter(|_| !has_own_proxy) {
            let scheme = self.scheme();
            match (scheme, choice) {
                ("udp" | "quic", ProfileChoice::Usual) => {
                    let message =
                        format!("the usual profile has a proxy, which {scheme}:// cannot use");
                    let remedy = "name a profile without a proxy here with `outbound`";
                    notes.complain(self.position.complaint(message).remedy(remedy));
                }
                ("udp" | "quic", ProfileChoice::Named) => {
                    notes.warn(place.complaint("no SOCKS5 proxy is used over UDP and QUIC"));
                }
                _ => self.socks5 = Some(socks5.clone()),
            }
        }
        // Whose address is given, or looked up by the proxy, needs no server.
        if !self.is_looked_up() || self.bootstrap.is_some() {
            return;
        }
        self.bootstrap_version = self.bootstrap_version.or(profile.version);
        self.profile_servers.clone_from(&profile.servers);
        if let Some(first) = profile.left_out.first() {
            let message = format!("names are looked up by plain DNS alone, not by {first}");
            let complaint = self.position.complaint(message);
            if profile.servers.is_empty() {
                notes.complain(complaint.remedy("give the upstream its address with dial_addr"));
            } else {
                notes.warn(complaint);
            }
        }
    }

    /// Takes back what means nothing to its protocol, and what is out of bounds, and says so: the
    /// peers ignore it silently.
    fn leave_out_of_place(&mut self, notes: &ReadNotes) {
        let warn = |key: &str, message: String| {
            notes.warn(self.position.below(key).complaint(message));
        };
        let (mut pipeline, mut verify, mut idle) = (self.pipeline, self.verify, self.idle);
        let scheme = self.scheme();
        if pipeline == PipeliningMode::Off && !matches!(scheme, "tcp" | "tls") {
            warn("enable_pipeline", format!("\"enable_pipeline\" has no effect on {scheme}://"));
            pipeline = PipeliningMode::Unsaid;
        }
        if verify == VerifyCertificate::No && matches!(scheme, "udp" | "tcp") {
            warn("insecure_skip_verify", format!("{scheme}:// has no certificate to verify"));
            verify = VerifyCertificate::Yes;
        }
        if let Some(long) = idle.filter(|it| *it > IDLE_MAX) {
            let (long, most) = (long.as_secs(), IDLE_MAX.as_secs());
            warn("idle_timeout", format!("{long} s are too long: {most} s are taken"));
            idle = Some(IDLE_MAX);
        }
        (self.pipeline, self.verify, self.idle) = (pipeline, verify, idle);
    }
}
