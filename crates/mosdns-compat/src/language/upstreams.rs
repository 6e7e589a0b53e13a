//! Arguments of `forward`: upstreams, and how many are asked at once.
//!
//! Addresses are taken apart far enough to refuse what cannot be reached, and written anew as our
//! own settings want them. Called by [`super::executors`].

use super::answers::then;
use super::position::{PlacedWord, ReadNotes, SourcePosition, not_yet, with_remedy};
use super::tree::{ConfigSection, UnknownKeys};
use super::words::short_circuit;
use pipeline::program::AfterAnswer;
use settings::suggest;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use vocab::DomainName;

/// Upstreams of one plugin, at most.
pub const UPSTREAMS_MAX: usize = 64;

/// Asks upstreams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardPlugin {
    /// Whom to ask. At least one.
    pub upstreams: Vec<UpstreamSpec>,
    /// Number at once, from 1 to 3; more is taken for 3, as the peers do. Default 1, in the quick
    /// form 3.
    pub concurrent: u8,
    /// What follows an answer: `short_circuit` of OxiDNS.
    pub then: AfterAnswer,
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
const HTTP3_FALLS_BACK: &str = "DNS over HTTP/3 is not built: HTTP/2 is used instead";

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
    let concurrent = section.whole("concurrent", 0..=u64::MAX).unwrap_or(1).clamp(1, 3) as u8;
    ForwardPlugin { upstreams, concurrent, then: then(section) }
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
            upstream
                .set_address(&PlacedWord::new(*word, place), None, None, notes)
                .then_some(upstream)
        })
        .take(UPSTREAMS_MAX)
        .collect();
    Some(ForwardPlugin { upstreams, concurrent: 3, then })
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
    let version = section.whole("bootstrap_version", 0..=6).filter(|it| *it > 0)?;
    if version != 4 && version != 6 {
        let place = section.position.below("bootstrap_version");
        section
            .notes
            .complain(place.complaint(format!("{version} is no version")).remedy("4 or 6"));
    }
    Some(version as u8)
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
    if wants_http3 {
        let message = match it.scheme() {
            "https" => HTTP3_FALLS_BACK.to_owned(),
            other => format!("\"enable_http3\" has no effect on {other}://"),
        };
        notes.warn(section.position.below("enable_http3").complaint(message));
    }
    let is_udp = it.address.starts_with("udp:") || it.address.starts_with("quic:");
    match socks5 {
        Some(item) if is_udp => {
            let message = "no SOCKS5 proxy is used over UDP and QUIC";
            notes.warn(item.position.complaint(message));
        }
        other => it.socks5 = other.map(|item| item.text),
    }
    Some(it)
}

/// `IP` or `IP:port` of a plain DNS server.
fn server(item: &PlacedWord, notes: &ReadNotes) -> Option<SocketAddr> {
    let text = item.text.trim();
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let server =
        text.parse().ok().or_else(|| bare.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, 53)));
    if server.is_none() {
        let complaint = item.position.complaint(format!("{text:?} is no IP address with a port"));
        notes.complain(complaint.remedy("for example 9.9.9.9:53"));
    }
    server
}

/// Each scheme of the peers, ours, and its port.
const SCHEMES: &[(&str, &str, u16)] = &[
    ("udp", "udp", 53),
    ("tcp", "tcp", 53),
    ("tcp+pipeline", "tcp", 53),
    ("tls", "tls", 853),
    ("tls+pipeline", "tls", 853),
    ("dot", "tls", 853),
    ("https", "https", 443),
    ("doh", "https", 443),
    ("h3", "https", 443),
    ("quic", "quic", 853),
    ("doq", "quic", 853),
];

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
            pipeline: PipeliningMode::Unsaid,
            verify: VerifyCertificate::Yes,
            socks5: None,
            mark: None,
            interface: None,
            bootstrap: None,
            bootstrap_version: None,
        }
    }

    /// The protocol of its address.
    fn scheme(&self) -> &str {
        self.address.split_once("://").map_or("", |(scheme, _)| scheme)
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

    /// Takes `[scheme://]host[:port][/path]` and where to connect to. Complains and gives false if
    /// that cannot be.
    fn set_address(
        &mut self,
        written: &PlacedWord,
        dial: Option<&PlacedWord>,
        port: Option<u16>,
        notes: &ReadNotes,
    ) -> bool {
        let text = written.text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("udp", text));
        if scheme == "sdns" {
            not_yet("a DNSCrypt stamp", &written.position, notes);
            return false;
        }
        if scheme == "h3" {
            notes.warn(written.position.complaint(HTTP3_FALLS_BACK));
        }
        let Some((_, ours, usual)) = SCHEMES.iter().find(|(name, ..)| *name == scheme) else {
            let complaint =
                written.position.complaint(format!("{scheme:?} is no protocol of upstreams"));
            let remedy = suggest(scheme, SCHEMES.iter().map(|(name, ..)| *name));
            notes.complain(with_remedy(complaint, remedy));
            return false;
        };
        if scheme.ends_with("+pipeline") {
            self.pipeline = PipeliningMode::On;
        }
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let Some((host, own_port)) = host_port(authority) else {
            let message = format!("{text:?} holds no host and port");
            notes.complain(written.position.complaint(message));
            return false;
        };
        let mut port = own_port.or(port).unwrap_or(*usual);
        let dial_ip = dial.and_then(|dial| self.set_dial(dial, ours, &mut port, notes));
        let host = match (host.parse::<IpAddr>(), dial_ip) {
            (Ok(ip), _) => bracketed(ip),
            // A name that is not looked up: the address is what counts.
            (Err(_), Some(ip)) if matches!(*ours, "udp" | "tcp") => bracketed(ip),
            (Err(_), _) if matches!(*ours, "udp" | "tcp") => {
                let message = format!("plain DNS goes to an IP address, not to {host:?}");
                let complaint = written.position.complaint(message);
                notes.complain(complaint.remedy("write its address, or use tls:// or https://"));
                return false;
            }
            (Err(_), _) => match ascii_host(host, written, notes) {
                Some(host) => host,
                None => return false,
            },
        };
        self.address = format!("{ours}://{host}:{port}{path}");
        true
    }

    /// Takes where to connect to: an address, which is given back, or a name. Its port counts
    /// instead of `port`.
    fn set_dial(
        &mut self,
        written: &PlacedWord,
        scheme: &str,
        port: &mut u16,
        notes: &ReadNotes,
    ) -> Option<IpAddr> {
        let text = written.text.trim();
        let Some((host, own_port)) = host_port(text) else {
            let message = format!("{text:?} holds no host and port");
            notes.complain(written.position.complaint(message));
            return None;
        };
        let ip = host.parse::<IpAddr>().ok();
        if ip.is_none() && scheme == "udp" {
            let message = format!("plain DNS goes to an IP address, not to {host:?}");
            notes.complain(written.position.complaint(message).remedy("write its address"));
            return None;
        }
        let host = match ip {
            Some(_) => host.to_owned(),
            None => ascii_host(host, written, notes)?,
        };
        *port = own_port.unwrap_or(*port);
        self.dial = Some(host);
        ip
    }
}

fn bracketed(ip: IpAddr) -> String {
    if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }
}

/// The host and the port of `host:port`, `[v6]:port`, or one of them alone; nothing if there is no
/// host, or a port that is none.
fn host_port(text: &str) -> Option<(&str, Option<u16>)> {
    if text.parse::<IpAddr>().is_ok() {
        return Some((text, None));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => rest.is_empty().then_some((host, None)),
        };
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port.parse().ok()?)),
        None => (text, None),
    };
    (!host.is_empty()).then_some((host, port))
}

/// The name of a host as DNS has it: letters outside ASCII in their form for DNS (RFC 5891).
fn ascii_host(host: &str, written: &PlacedWord, notes: &ReadNotes) -> Option<String> {
    let name = idna::domain_to_ascii(host).ok().filter(|name| DomainName::parse(name).is_ok());
    name.or_else(|| {
        let message = format!("{host:?} is no name of a host");
        notes.refuse(written.position.complaint(message))
    })
}
