//! A pipeline of mosdns or OxiDNS, compiled, as the door takes it.
//!
//! The compiler says what is needed in its own words; here that becomes settings of the resolver,
//! listeners and effects. Nothing is opened. Made by whoever reads the configuration.

use crate::dumps::CacheDump;
use crate::learned::LearnedConfig;
use crate::listener_spec::ListenerSpec;
use crate::selectors::selector_settings;
use crate::settings::certificate::CertificateSettings;
use address_selection::SelectorSettings;
use dns_effects::{EffectId, EffectSettings, EffectSpec, EffectsPlan, JobSettings, JobTime};
use mosdns_compat::compile::{
    CacheSpec, CompiledPipeline, GroupSpec, JobSpec, ServerProtocol, ServerSpec,
};
use mosdns_compat::language::{
    AnswerChoice, NegativeCaching, OutwardEffect, PipeliningMode, UpstreamSpec, VerifyCertificate,
};
use pipeline::program::{Place, Program};
use resolver::{
    CacheSettings, CertificateCheck, FamilyChoice, GroupSettings, PipelineMode, PlainServer,
    ResolverSettings, ResponseSelection, SelectionStrategy, StaleMode, TrustAd, UpstreamDetails,
    UpstreamSettings,
};
use settings::Text;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use vocab::{ByteSize, Complaint, Listen, Scheme, TimeSpan};

/// Time that an upstream of a foreign file may take, as in both peers.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A compiled pipeline, as settings of the door, of the resolver and of effects.
#[derive(Clone, Debug)]
pub struct ForeignConfig {
    pub(crate) program: Arc<Program>,
    /// Where runs begin, by the number that a listener has.
    pub(crate) entries: Box<[Place]>,
    pub(crate) openings: Vec<ListenerSpec>,
    pub(crate) resolver: ResolverSettings,
    pub(crate) effects: EffectsPlan,
    /// Memories of names by address: how many each holds, and for how long.
    pub(crate) memories: Vec<(usize, Duration)>,
    /// Sets that sequences feed.
    pub(crate) learned: Vec<LearnedConfig>,
    /// Choosers among addresses.
    pub(crate) selectors: Vec<SelectorSettings>,
    /// What collectors are called.
    pub(crate) collectors: Vec<String>,
    certificate: Option<CertificateSettings>,
    dumps: Vec<CacheDump>,
    warnings: Vec<Complaint>,
}

impl ForeignConfig {
    /// Returns what `compiled` comes to, or everything that the door cannot do of it.
    pub fn new(compiled: CompiledPipeline) -> Result<Self, Vec<Complaint>> {
        let mut complaints = Vec::new();
        let resolver = resolver(&compiled, &mut complaints);
        let effects = effects(&compiled, &mut complaints);
        let certificate = certificate(&compiled.servers, &mut complaints);
        let dumps = CacheDump::of(&compiled, &mut complaints);
        let selectors = compiled.selectors.iter();
        let selectors = selectors.map(|it| selector_settings(it, &mut complaints)).collect();
        if !complaints.is_empty() {
            return Err(complaints);
        }
        let memories = compiled.memories.iter();
        Ok(Self {
            entries: compiled.entries.iter().map(|it| it.start).collect(),
            openings: compiled.servers.iter().flat_map(openings).collect(),
            resolver,
            effects,
            memories: memories.map(|it| (it.entries as usize, it.ttl)).collect(),
            learned: compiled.learned.iter().map(LearnedConfig::of).collect(),
            selectors,
            collectors: compiled.collectors.clone(),
            certificate,
            dumps,
            warnings: compiled.warnings,
            program: Arc::new(compiled.program),
        })
    }

    /// Returns what the user should know.
    pub fn warnings(&self) -> &[Complaint] {
        &self.warnings
    }

    /// The files that its caches are kept in.
    pub fn dumps(&self) -> &[CacheDump] {
        &self.dumps
    }

    /// True if one of its effects runs a program.
    pub fn starts_programs(&self) -> bool {
        self.effects.effects.iter().any(|it| matches!(it.spec, EffectSpec::Script(_)))
    }

    /// True if one of its effects writes sets of ipset or nftables, which takes `CAP_NET_ADMIN`.
    pub fn changes_sets(&self) -> bool {
        let is_set =
            |spec: &EffectSpec| matches!(spec, EffectSpec::Ipset(_) | EffectSpec::Nftset(_));
        self.effects.effects.iter().any(|it| is_set(&it.spec))
    }

    /// The folders that its effects put files into.
    pub fn download_folders(&self) -> impl Iterator<Item = &Path> {
        let specs = self.effects.effects.iter().map(|it| &it.spec);
        let downloads = specs.filter_map(|spec| match spec {
            EffectSpec::Download(spec) => Some(&spec.downloads),
            EffectSpec::Ipset(_)
            | EffectSpec::Nftset(_)
            | EffectSpec::HttpRequest(_)
            | EffectSpec::Script(_)
            | EffectSpec::RosAddressList(_)
            | EffectSpec::RosRoute(_)
            | EffectSpec::Reload(_) => None,
        });
        downloads.flatten().map(|item| item.dir.as_path())
    }

    /// The files that its sets of learnt names are kept in.
    pub fn learned_files(&self) -> impl Iterator<Item = &Path> {
        self.learned.iter().map(LearnedConfig::path)
    }

    /// True if it says itself where to listen.
    pub fn has_servers(&self) -> bool {
        !self.openings.is_empty()
    }

    /// The same for a door that says itself where to listen; all questions enter at the first
    /// entry.
    #[must_use]
    pub fn without_servers(self) -> Self {
        Self { openings: Vec::new(), certificate: None, ..self }
    }

    pub(crate) fn certificate(&self) -> Option<CertificateSettings> {
        self.certificate.clone()
    }
}

fn openings(server: &ServerSpec) -> impl Iterator<Item = ListenerSpec> {
    let scheme = match server.protocol {
        ServerProtocol::Udp => Scheme::Udp,
        ServerProtocol::Tcp => Scheme::Tcp,
        ServerProtocol::Tls => Scheme::Tls,
        ServerProtocol::Http => Scheme::Http,
        ServerProtocol::Https => Scheme::Https,
        ServerProtocol::Quic => Scheme::Quic,
    };
    server.listen.iter().flat_map(move |address| {
        server.entries.iter().map(move |entry| ListenerSpec {
            listen: Listen { scheme, address: *address, path: entry.path.clone() },
            entry: entry.entry,
        })
    })
}

/// One certificate serves all encrypted listeners of the door.
fn certificate(
    servers: &[ServerSpec],
    complaints: &mut Vec<Complaint>,
) -> Option<CertificateSettings> {
    let mut found: Option<CertificateSettings> = None;
    for server in servers {
        let Some(files) = &server.certificate else { continue };
        let this = CertificateSettings {
            cert: files.cert.text.clone().into(),
            key: files.key.text.clone().into(),
        };
        match &found {
            Some(other) if *other != this => complaints.push(
                files
                    .cert
                    .position
                    .complaint("servers with different certificates are not built yet")
                    .remedy("give all of them the same"),
            ),
            _ => found = Some(this),
        }
    }
    found
}

fn resolver(compiled: &CompiledPipeline, complaints: &mut Vec<Complaint>) -> ResolverSettings {
    let mut settings = ResolverSettings::default();
    let groups: Vec<_> = compiled.groups.iter().map(group).collect();
    for (settings, spec) in groups.iter().zip(&compiled.groups) {
        let found = settings.check().into_iter();
        complaints.extend(found.map(|it| in_place(it, spec)));
    }
    let caches: Vec<_> = compiled.caches.iter().map(cache).collect();
    // Whoever else looks names up in this process uses the first of each.
    if !groups.is_empty() {
        settings.groups = groups;
    }
    if !caches.is_empty() {
        settings.caches = caches;
    }
    settings
}

fn in_place(complaint: Complaint, group: &GroupSpec) -> Complaint {
    let index = complaint.path.split('.').nth(1).and_then(|it| it.parse::<usize>().ok());
    let place =
        index.and_then(|it| group.upstreams.get(it)).map_or(&group.position, |it| &it.position);
    let placed = place.complaint(&complaint.message);
    match complaint.remedy {
        Some(remedy) => placed.remedy(remedy),
        None => placed,
    }
}

fn group(spec: &GroupSpec) -> GroupSettings {
    let own = spec.upstreams.iter().filter_map(|it| it.bootstrap);
    let profiles = spec.upstreams.iter().flat_map(|it| it.profile_servers.iter().copied());
    let bootstrap: BTreeSet<_> = own.chain(profiles).collect();
    let timeout = spec.upstreams.iter().filter_map(|it| it.timeout).max().unwrap_or(TIMEOUT);
    let strategy =
        if spec.concurrent > 1 { SelectionStrategy::Race } else { SelectionStrategy::Random };
    GroupSettings {
        name: spec.name.clone(),
        upstreams: spec.upstreams.iter().enumerate().map(|(at, it)| one(at, it)).collect(),
        strategy,
        response_selection: match spec.selection {
            AnswerChoice::First => ResponseSelection::First,
            AnswerChoice::Fastest => ResponseSelection::Fastest,
            AnswerChoice::Balanced => ResponseSelection::Balanced,
            AnswerChoice::PreferPositive => ResponseSelection::PreferPositive,
            AnswerChoice::Consensus => ResponseSelection::Consensus,
        },
        concurrent: spec.concurrent,
        bootstrap: bootstrap.into_iter().map(|it| Text(PlainServer(it))).collect(),
        timeout: Text(TimeSpan(timeout)),
        ..GroupSettings::default()
    }
}

fn one(at: usize, spec: &UpstreamSpec) -> UpstreamSettings {
    // Equal addresses may stand in one group twice; their names must differ.
    let name = match spec.tag.as_str() {
        "" => format!("{} ({})", spec.address, at + 1),
        tag => tag.to_owned(),
    };
    UpstreamSettings::Detailed(UpstreamDetails {
        address: spec.address.clone(),
        name: Some(name),
        // Words that were parsed when the file was read; what is wrong all the same shows in the
        // check.
        dial: spec.dial.as_deref().and_then(|it| it.parse().ok()).map(Text),
        family: match spec.bootstrap_version {
            Some(4) => FamilyChoice::Ipv4,
            Some(6) => FamilyChoice::Ipv6,
            Some(_) | None => FamilyChoice::Any,
        },
        interface: spec.interface.clone(),
        mark: spec.mark,
        socks5: spec.socks5.as_deref().and_then(|it| it.parse().ok()).map(Text),
        verify: match spec.verify {
            VerifyCertificate::Yes => CertificateCheck::Full,
            VerifyCertificate::No => CertificateCheck::None,
        },
        pipeline: match spec.pipeline {
            PipeliningMode::Unsaid | PipeliningMode::On => PipelineMode::On,
            PipeliningMode::Off => PipelineMode::Off,
        },
        idle: spec.idle.map(|it| Text(TimeSpan(it))),
        connections: spec.connections,
        // The peers pass on what they are told.
        trust_ad: TrustAd::On,
        ..UpstreamDetails::default()
    })
}

fn cache(spec: &CacheSpec) -> CacheSettings {
    let usual = CacheSettings::default();
    let within = |given: Duration, most: Text<TimeSpan>| {
        Text(TimeSpan(given.clamp(Duration::from_secs(1), most.0.0)))
    };
    CacheSettings {
        name: spec.name.clone(),
        size: Text(ByteSize(spec.bytes())),
        stale: Text(TimeSpan(spec.lazy.unwrap_or_default().min(Duration::from_hours(7 * 24)))),
        stale_mode: StaleMode::AtOnce,
        prefetch: false,
        kept_ttl_min: Text(TimeSpan(spec.positive_min.unwrap_or_default())),
        max_ttl: spec.positive_max.map_or(usual.max_ttl, |it| within(it, usual.max_ttl)),
        max_negative_ttl: match spec.negative {
            NegativeCaching::AtMost(long) => within(long, usual.max_negative_ttl),
            // A second is as good as not at all, and spares upstreams a storm.
            NegativeCaching::Off => Text(TimeSpan(Duration::from_secs(1))),
        },
        ..usual
    }
}

fn effects(compiled: &CompiledPipeline, complaints: &mut Vec<Complaint>) -> EffectsPlan {
    let mut effects = Vec::new();
    for spec in &compiled.effects {
        let mut settings = spec.outward.settings();
        if matches!(spec.outward, OutwardEffect::RosAddressList(_) | OutwardEffect::RosRoute(_)) {
            // Comments on the router say whose its entries are.
            settings["owner"] = spec.name.clone().into();
        }
        match serde_json::from_value(settings) {
            Ok(made) => effects.push(EffectSettings { name: spec.name.clone(), spec: made }),
            Err(why) => complaints.push(spec.position.complaint(why)),
        }
    }
    let plan = EffectsPlan { effects, jobs: compiled.jobs.iter().map(job).collect() };
    if complaints.is_empty() {
        complaints.extend(plan.check().into_iter().map(|it| placed(it, compiled)));
    }
    plan
}

/// A complaint of the effects where its plugin stands.
fn placed(complaint: Complaint, compiled: &CompiledPipeline) -> Complaint {
    let mut parts = complaint.path.split('.');
    let kind = parts.next();
    let index = parts.next().and_then(|it| it.parse::<usize>().ok()).unwrap_or(0);
    let place = match kind {
        Some("jobs") => compiled.jobs.get(index).map(|it| &it.position),
        _ => compiled.effects.get(index).map(|it| &it.position),
    };
    let Some(place) = place else { return complaint };
    let placed = place.complaint(&complaint.message);
    match complaint.remedy {
        Some(remedy) => placed.remedy(remedy),
        None => placed,
    }
}

fn job(spec: &JobSpec) -> JobSettings {
    JobSettings {
        schedule: spec.schedule.clone(),
        name: spec.name.clone(),
        when: match &spec.when {
            mosdns_compat::language::CronTime::Fields(fields) => {
                JobTime::Cron { fields: fields.clone(), timezone: spec.timezone.clone() }
            }
            mosdns_compat::language::CronTime::Every(long) => JobTime::Every(*long),
        },
        effects: spec.effects.iter().map(|it| EffectId(*it)).collect(),
    }
}
