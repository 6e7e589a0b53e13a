//! What can be set for the DNS door: the `dns` section of the configuration.
//!
//! It holds the resolver's settings flat beside the door's own, as the file has them. It opens
//! nothing and resolves nothing; `config` reads it and [`Settings::check`] says what is wrong.

pub(crate) mod access;
pub(crate) mod canaries;
pub(crate) mod certificate;
pub(crate) mod client_subnet;
mod contact;
pub(crate) mod cookies;
pub(crate) mod ddr;
pub(crate) mod doh;
pub(crate) mod guard;
pub(crate) mod guard_defaults;
pub(crate) mod lookups;
pub(crate) mod networks;
pub(crate) mod pipeline_language;
pub(crate) mod rate_limit;
pub(crate) mod rebinding;
pub(crate) mod response_rate_limit;

use crate::foreign::ForeignConfig;
use access::AccessSettings;
use canaries::CanaryAction;
use certificate::CertificateSettings;
use client_subnet::ClientSubnetSettings;
use cookies::CookieSettings;
use ddr::DdrMode;
use dns_wire::records::{BadRecord, LocalRecords};
use doh::DohSettings;
use guard::GuardSettings;
use guard_defaults::GuardDefaults;
use lookups::{FallbackSettings, ViewSettings};
use pipeline::records::{BadEntry, RedirectTable};
use pipeline_language::PipelineLanguage;
use policy::BlockStyle;
use query_log::QueryLogChoice;
use rate_limit::RateLimitSettings;
use rebinding::RebindingSettings;
use resolver::{
    CacheSettings, GroupSettings, PlainServer, ProbeSettings, ResponseSelection, SelectionStrategy,
    UpstreamSettings,
};
use response_rate_limit::ResponseRateLimitSettings;
use schemars::JsonSchema;
use scripting::LuauChoice;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use vocab::{Complaint, DomainName, Listen, RequestKind, Scheme, TimeSpan};

/// Longest time a made-up answer may be kept by clients: a day. Longer, and lifting a block would
/// not be noticed.
const BLOCKED_TTL_MAX: Duration = Duration::from_hours(24);

/// TCP connections that can be asked for at most: each costs a descriptor and some kilobytes.
const TCP_CONNECTIONS_MAX: u32 = 100_000;

/// The DNS door.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where to answer: `udp://ADDRESS` and `tcp://ADDRESS` (port 53 if none is given; clients
    /// expect both, RFC 7766 §5), `tls://ADDRESS` (DNS over TLS, 853), `https://ADDRESS/dns-query`
    /// (DNS over HTTPS, 443; `http://` behind a proxy that ends TLS) and `quic://ADDRESS` (DNS over
    /// QUIC, 853). No default: at least one.
    pub listen: Vec<Text<Listen>>,
    /// The certificate of the encrypted listeners, in PEM files; read again on every reload.
    /// Default: one for `names` and the addresses listened on, signed by Tidegate's own CA.
    pub certificate: Option<CertificateSettings>,
    /// Names by which clients of the encrypted listeners know this server. Default: none.
    pub names: Vec<Text<DomainName>>,
    /// DNS over HTTPS.
    pub doh: DohSettings,
    /// Whom to ask: `https://HOST/PATH` (DNS over HTTPS), `tls://HOST` (DNS over TLS), `tcp://IP`,
    /// `udp://IP`, or a mapping with `address`, `name` and `domains` (ask this one only about these
    /// names and those below). Default: `https://dns.quad9.net/dns-query` and `tls://1.1.1.1`.
    pub upstreams: Vec<UpstreamSettings>,
    /// Choice among several upstreams: `race`, `ordered`, `fastest`, `random` or `fastest_address`
    /// (all are asked, and the address that connects soonest comes first). Default `race`.
    pub strategy: SelectionStrategy,
    /// Answer that counts where upstreams that are asked at once disagree. `first`: the first that
    /// says there are records, or that there are none. `fastest`: the first at all, failures among
    /// them. `balanced`: one with records at once, an empty one ("no such name", nothing of the
    /// type) after 100 ms. `prefer_positive`: an empty one when all that were asked have answered,
    /// or the time is up. `consensus`: an empty one when two agree on it, or likewise. Not with the
    /// strategy `fastest_address`. Default `first`.
    pub response_selection: ResponseSelection,
    /// Measuring for the strategy `fastest_address`.
    pub probe: ProbeSettings,
    /// The cache of answers, shared by all doors that look names up.
    pub cache: CacheSettings,
    /// IP addresses of plain DNS servers that find the addresses of upstreams given by name.
    /// Default: the upstreams given by IP that speak UDP or TCP, else those of `/etc/resolv.conf`.
    pub bootstrap: Vec<Text<PlainServer>>,
    /// Time that an upstream may take, all tries together. Default 5s, from 100ms to 30s.
    pub timeout: Text<TimeSpan>,
    /// Number of upstreams a `race` asks at once. Default 3, from 1 to 32.
    pub concurrent: u8,
    /// Other upstreams, and a cache of their own, for some clients. At most 32. Default: none.
    pub views: Vec<ViewSettings>,
    /// Upstreams that are asked when those of `upstreams` fail or are slow. Default: none.
    pub fallback: Option<FallbackSettings>,
    /// Upstreams that know the names of private addresses (a router, a domain controller): asked
    /// about the reverse zones of RFC 6303 and nothing else. Default: none, and such questions are
    /// answered with "no such name".
    pub private_reverse: Vec<UpstreamSettings>,
    /// Names that are looked up under another name: `NAME OTHER` for one name, `||NAME^ OTHER` for
    /// it and all below. The answer begins with the alias. Doors that connect to such a name are
    /// led by them too. Default: none.
    pub rewrites: Vec<String>,
    /// Record types that are answered as empty without asking anyone, as in `[AAAA]` where IPv6
    /// does not work. Default: none.
    pub filter_types: Vec<String>,
    /// The answer for a blocked name: `auto` (the pixel door's address where there is one, else
    /// nodata), `pixel`, `nodata`, `nxdomain`, `null` (0.0.0.0 and ::) or `refused`. Default
    /// `auto`.
    pub blocked: BlockStyle,
    /// Time for which clients may keep the answer for a blocked name. Default 10s, at most 1d.
    pub blocked_ttl: Text<TimeSpan>,
    /// Contact for questions about blocked names, for programs that show it (structured DNS
    /// errors): `mailto:NAME@HOST` or `tel:NUMBER`. At most 3 of 80 bytes. Default: none.
    pub contact: Vec<String>,
    /// Name of the organisation that blocks, for the same programs: at most 64 bytes. Default:
    /// none.
    pub organization: Option<String>,
    /// A script in Luau that looks at questions (`on_query`), after local records and before policy
    /// and cache. Default none.
    pub script: Option<LuauChoice>,
    /// Records answered from here, before policy and cache: `NAME TYPE VALUE` for one name,
    /// `||NAME^ TYPE VALUE` for it and all below. Doors that connect to such a name are led by them
    /// too.
    pub local: Vec<String>,
    /// Answers for the names by which programs ask whether to bypass this door:
    /// `use-application-dns.net`, `mask.icloud.com` and `mask-h2.icloud.com` (no such name),
    /// `_dns.resolver.arpa` (empty). Default `answer`; `pass` treats them like any name.
    pub canaries: CanaryAction,
    /// Discovery of the encrypted listeners by clients, through `_dns.resolver.arpa` (RFC 9462):
    /// `auto`, if there are `names`, or `off`. Default `auto`.
    pub ddr: DdrMode,
    /// Clients that may ask.
    pub access: AccessSettings,
    /// Amount that one client may ask.
    pub rate_limit: RateLimitSettings,
    /// Number of answers that go to one network, against floods to forged addresses.
    pub response_rate_limit: ResponseRateLimitSettings,
    /// Protection against answers of upstreams that lead inside the network.
    pub rebinding: RebindingSettings,
    /// DNS cookies (RFC 7873).
    pub cookies: CookieSettings,
    /// EDNS client subnet: the part of a client's address that upstreams are told.
    pub client_subnet: ClientSubnetSettings,
    /// Number of TCP connections that may be open at once, all clients together. Default 1024.
    pub tcp_connections: u32,
    /// Connections that one client may hold. Default 32.
    pub tcp_connections_per_client: u32,
    /// Plugins of mosdns or OxiDNS, for full control: then they alone say what is done, and
    /// `upstreams`, `cache`, `local` and the like are not used. Questions enter at the sequence
    /// tagged `main`. Default: none.
    pub pipeline: Vec<serde_json::Value>,
    /// Language of `pipeline`: `mosdns`, `oxidns`, or `auto`, which is OxiDNS' where a plugin uses
    /// anything that only it has. They differ in what an end ends, in how upstreams that disagree
    /// are judged, and in questions that nothing answers. Default `auto`.
    pub pipeline_language: PipelineLanguage,
    /// True if what the cache holds is kept in the state folder (`dns-cache`, readable by its owner
    /// only) while Tidegate does not run. Default true.
    pub keep_cache: bool,
    /// A log of questions, as lines of JSON: the path of its file, or in detail. Default none: the
    /// ledger has every question anyway.
    pub query_log: Option<QueryLogChoice>,
    /// The pipeline, compiled. Set by whoever reads the file.
    #[serde(skip)]
    pub foreign: Option<ForeignConfig>,
    /// What the pixel door has for names that only their alias blocks. Set by whoever reads the
    /// whole file.
    #[serde(skip)]
    pub aliases_at_pixel: AliasesAtPixel,
}

/// Tells what the pixel door has for names that only their alias blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AliasesAtPixel {
    /// Nothing: the signer reads lists, which do not name them, and so certifies none.
    #[default]
    Nothing,
    /// Certificates, on this door's word, and answers.
    Answers,
}

impl Default for Settings {
    fn default() -> Self {
        let resolver = GroupSettings::default();
        Self {
            listen: Vec::new(),
            certificate: None,
            names: Vec::new(),
            doh: DohSettings::default(),
            upstreams: resolver.upstreams,
            strategy: resolver.strategy,
            response_selection: resolver.response_selection,
            probe: resolver.probe,
            cache: CacheSettings::default(),
            bootstrap: resolver.bootstrap,
            timeout: resolver.timeout,
            concurrent: resolver.concurrent,
            views: Vec::new(),
            fallback: None,
            private_reverse: Vec::new(),
            rewrites: Vec::new(),
            filter_types: Vec::new(),
            blocked: BlockStyle::default(),
            blocked_ttl: Text(TimeSpan(Duration::from_secs(10))),
            contact: Vec::new(),
            organization: None,
            script: None,
            local: Vec::new(),
            canaries: CanaryAction::Answer,
            ddr: DdrMode::default(),
            access: AccessSettings::default(),
            rate_limit: RateLimitSettings::default(),
            response_rate_limit: ResponseRateLimitSettings::default(),
            rebinding: RebindingSettings::default(),
            cookies: CookieSettings::default(),
            client_subnet: ClientSubnetSettings::default(),
            tcp_connections: 1024,
            tcp_connections_per_client: 32,
            pipeline: Vec::new(),
            pipeline_language: PipelineLanguage::Auto,
            keep_cache: true,
            query_log: None,
            foreign: None,
            aliases_at_pixel: AliasesAtPixel::Nothing,
        }
    }
}

impl Settings {
    /// The settings of a door that is nothing but `foreign`.
    pub fn of_foreign(foreign: ForeignConfig) -> Self {
        Self {
            listen: foreign.openings.iter().map(|it| Text(it.listen.clone())).collect(),
            certificate: foreign.certificate(),
            foreign: Some(foreign),
            ..Self::default()
        }
    }

    /// Every complaint, with paths relative to this section.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = self.check_listen();
        complaints.extend(QueryLogChoice::check_if(self.query_log.as_ref()));
        complaints.extend(self.resolver().check());
        if self.blocked_ttl.0.0 > BLOCKED_TTL_MAX {
            complaints.push(
                Complaint::new("blocked_ttl", format!("{} is over a day", self.blocked_ttl))
                    .remedy("write 1d or less"),
            );
        }
        if let Err(bad) = LocalRecords::parse(&self.local) {
            complaints.extend(bad.into_iter().map(complaint_of));
        }
        for (path, number) in [
            ("tcp_connections", self.tcp_connections),
            ("tcp_connections_per_client", self.tcp_connections_per_client),
        ] {
            if !(1..=TCP_CONNECTIONS_MAX).contains(&number) {
                complaints.push(
                    Complaint::new(path, format!("{number} is out of bounds"))
                        .remedy(format!("write 1 to {TCP_CONNECTIONS_MAX}")),
                );
            }
        }
        complaints.extend(self.doh.header().err());
        if let Some(script) = &self.script {
            let found = script.settings().check();
            complaints.extend(found.into_iter().map(|why| why.under("script")));
            if self.foreign.is_some() || !self.pipeline.is_empty() {
                let complaint = Complaint::new("script", "a pipeline alone says what is done");
                complaints.push(complaint.remedy("leave out script or pipeline"));
            }
        }
        complaints.extend(self.check_lookups());
        complaints.extend(self.guard().check());
        complaints.extend(contact::check(&self.contact, self.organization.as_deref()));
        if let Err(found) = self.redirects() {
            complaints.extend(found);
        }
        if let Err(found) = self.filtered() {
            complaints.extend(found);
        }
        complaints
    }

    fn check_listen(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.listen.is_empty() {
            complaints.push(
                Complaint::new("listen", "the DNS door needs an address to listen on")
                    .remedy("write listen: [\"udp://127.0.0.1:5353\", \"tcp://127.0.0.1:5353\"]"),
            );
        }
        for (index, entry) in self.listen.iter().enumerate() {
            let path = format!("listen.{index}");
            match entry.scheme {
                Scheme::Udp | Scheme::Tcp | Scheme::Tls | Scheme::Quic
                    if !entry.path.is_empty() =>
                {
                    complaints.push(
                        Complaint::new(
                            &path,
                            format!(
                                "{entry} has a path; DNS over {} has none",
                                entry.scheme.as_str()
                            ),
                        )
                        .remedy("end it after the port"),
                    );
                }
                Scheme::Redirect | Scheme::Tproxy => {
                    let word = entry.scheme.as_str();
                    let message = format!("the DNS door does not speak {word}");
                    complaints.push(
                        Complaint::new(&path, message)
                            .remedy(format!("write udp://{}", entry.address)),
                    );
                }
                Scheme::Udp
                | Scheme::Tcp
                | Scheme::Tls
                | Scheme::Quic
                | Scheme::Http
                | Scheme::Https => {}
            }
            if self.listen[..index].contains(entry) {
                complaints.push(
                    Complaint::new(path, format!("{entry} is here twice")).remedy("leave one out"),
                );
            }
        }
        complaints
    }

    /// Returns how many TCP connections may be open, all listeners together: in all, and from one
    /// client.
    pub(crate) fn connection_caps(&self) -> (usize, usize) {
        (self.tcp_connections as usize, self.tcp_connections_per_client as usize)
    }

    /// True if answers of public upstreams that point inside are emptied.
    pub fn keeps_outside(&self) -> bool {
        self.rebinding.protect.unwrap_or(self.guard_defaults() == GuardDefaults::Guarded)
    }

    fn guard_defaults(&self) -> GuardDefaults {
        if self.foreign.is_some() || !self.pipeline.is_empty() {
            GuardDefaults::Unguarded
        } else {
            GuardDefaults::Guarded
        }
    }

    pub(crate) fn guard(&self) -> GuardSettings<'_> {
        GuardSettings {
            access: &self.access,
            rate_limit: &self.rate_limit,
            response_rate_limit: &self.response_rate_limit,
            rebinding: &self.rebinding,
            cookies: &self.cookies,
            client_subnet: &self.client_subnet,
            defaults: self.guard_defaults(),
        }
    }

    /// The rewrites; none where there are none.
    pub(crate) fn redirects(&self) -> Result<Option<RedirectTable>, Vec<Complaint>> {
        if self.rewrites.is_empty() {
            return Ok(None);
        }
        let rules: Vec<String> = self.rewrites.iter().map(|line| redirect_rule(line)).collect();
        RedirectTable::parse(&rules).map(Some).map_err(|bad| {
            let complain = |(index, why): (usize, BadEntry)| {
                Complaint::new(format!("rewrites.{index}"), why.to_string())
                    .remedy("write NAME OTHER or ||NAME^ OTHER")
            };
            bad.into_iter().map(complain).collect()
        })
    }

    /// The types that are answered as empty.
    pub(crate) fn filtered(&self) -> Result<Box<[u16]>, Vec<Complaint>> {
        let (mut types, mut complaints) = (Vec::new(), Vec::new());
        for (index, word) in self.filter_types.iter().enumerate() {
            match RequestKind::record_type(word) {
                Some(number) => types.push(number),
                None => complaints.push(
                    Complaint::new(
                        format!("filter_types.{index}"),
                        format!("{word:?} is no record type"),
                    )
                    .remedy("write a type as in AAAA, HTTPS or TYPE65"),
                ),
            }
        }
        if complaints.is_empty() { Ok(types.into()) } else { Err(complaints) }
    }

    pub(crate) fn blocked_ttl_s(&self) -> u32 {
        u32::try_from(self.blocked_ttl.0.0.as_secs()).unwrap_or(u32::MAX)
    }

    pub(crate) fn local_records(&self) -> Result<LocalRecords, Vec<Complaint>> {
        LocalRecords::parse(&self.local).map_err(|bad| bad.into_iter().map(complaint_of).collect())
    }
}

fn complaint_of(bad: BadRecord) -> Complaint {
    Complaint::new(format!("local.{}", bad.index), bad.message)
        .remedy("write NAME TYPE VALUE, as in router.lan A 192.168.1.1")
}

/// A rewrite as a rule of the pipeline's redirects.
fn redirect_rule(line: &str) -> String {
    match line.trim().strip_prefix("||").and_then(|rest| rest.split_once('^')) {
        Some((name, other)) => format!("domain:{name} {other}"),
        None => format!("full:{}", line.trim()),
    }
}
