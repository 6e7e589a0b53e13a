//! Resolvers that are asked: one question to each, by its own transport, with the time it took.

use crate::finding::{CheckGroup, FindingSeverity, MachineFinding};
use crate::{CHECK_MAX, DiagnosisSubject};
use resolver::{
    GroupId, GroupSettings, ResolveError, Resolver, ResolverQuestion, ResolverSettings,
    SelectionStrategy, UpstreamSettings,
};
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use transport::ClientTls;
use vocab::Name;

const GROUP: CheckGroup = CheckGroup::Upstreams;
/// Resolvers that are asked, at most.
const ASKED_MAX: usize = 64;
/// Time that the resolver has, so that its own reason is told.
const ANSWER_MAX: Duration = CHECK_MAX.saturating_sub(Duration::from_millis(200));
/// An answer that takes longer is felt by people.
const SLOW: Duration = Duration::from_millis(500);
/// Types of records.
const TYPE_NS: u16 = 2;
const TYPE_SOA: u16 = 6;

/// A check that waits.
pub(crate) type WaitingCheck = Pin<Box<dyn Future<Output = Vec<MachineFinding>>>>;

/// An upstream with the group that it stands in.
type GroupedUpstream = (usize, UpstreamSettings);

/// One check of all upstreams: of one that is dead among others that answer, less is to be said.
pub(crate) fn checks(subject: &DiagnosisSubject) -> Vec<WaitingCheck> {
    let settings = subject.plan.file.dns.clone().unwrap_or_default().resolver();
    let mut asked: Vec<GroupedUpstream> = Vec::new();
    let mut alone = Vec::new();
    for (number, group) in settings.groups.iter().enumerate() {
        for upstream in &group.upstreams {
            asked.push((number, upstream.clone()));
            let mut group = GroupSettings {
                upstreams: vec![upstream.clone()],
                strategy: SelectionStrategy::Ordered,
                ..group.clone()
            };
            group.timeout.0.0 = ANSWER_MAX;
            alone.push(group);
        }
    }
    let left = asked.len().saturating_sub(ASKED_MAX);
    asked.truncate(ASKED_MAX);
    alone.truncate(ASKED_MAX);
    // Without a DNS door the resolver serves doors that may need no names.
    let is_door = subject.plan.file.dns.is_some();
    let settings = ResolverSettings { groups: alone, caches: settings.caches };
    let all = async move {
        let resolver = match Resolver::start(&settings, ClientTls::new()) {
            Ok(resolver) => resolver,
            Err(why) => {
                let what = format!("no resolver can be asked: {why}");
                return vec![MachineFinding::warning(GROUP, what)];
            }
        };
        let mut found = ask_all(&resolver, asked).await;
        if !is_door {
            found.iter_mut().for_each(lessen);
        }
        if left > 0 {
            found
                .push(MachineFinding::note(GROUP, format!("{left} more upstreams were not asked")));
        }
        found
    };
    vec![Box::pin(all)]
}

async fn ask_all(resolver: &Resolver, asked: Vec<GroupedUpstream>) -> Vec<MachineFinding> {
    let mut exchanges = JoinSet::new();
    for (place, (group, upstream)) in asked.into_iter().enumerate() {
        let to = GroupId(u16::try_from(place).unwrap_or(u16::MAX));
        let resolver = resolver.clone();
        exchanges.spawn_local(async move { (group, ask(resolver, to, upstream).await) });
    }
    let mut found: Vec<(usize, MachineFinding)> =
        exchanges.join_all().await.into_iter().filter_map(|(at, it)| Some((at, it?))).collect();
    let alive: Vec<usize> = found
        .iter()
        .filter(|(_, it)| it.severity < FindingSeverity::Obstacle)
        .map(|(group, _)| *group)
        .collect();
    found.iter_mut().filter(|(group, _)| alive.contains(group)).for_each(|(_, it)| lessen(it));
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// An obstacle that others get around.
fn lessen(finding: &mut MachineFinding) {
    finding.severity = finding.severity.min(FindingSeverity::Warning);
}

async fn ask(
    resolver: Resolver,
    to: GroupId,
    upstream: UpstreamSettings,
) -> Option<MachineFinding> {
    // One that is asked for some names alone need not know of others.
    let own = upstream.domains().first();
    let (name, kind) = own.map_or((Name::ROOT, TYPE_NS), |name| (name.as_name(), TYPE_SOA));
    let address = upstream.address();
    let question = ResolverQuestion::internal(name, kind)?;
    let asked = Instant::now();
    let resolution = resolver.resolve(question.to(to).with_cache(None)).await;
    let took = asked.elapsed();
    Some(match resolution.result {
        Ok(_) if took > SLOW => MachineFinding::warning(
            GROUP,
            format!("{address} answers after {} ms", took.as_millis()),
        )
        .remedy("name a resolver that is nearer, or several: the fastest answer counts"),
        Ok(_) => {
            MachineFinding::fine(GROUP, format!("{address} answers after {} ms", took.as_millis()))
        }
        Err(why) => {
            MachineFinding::obstacle(GROUP, format!("{address}: {why}")).remedy(remedy(why))
        }
    })
}

fn remedy(why: ResolveError) -> &'static str {
    match why {
        ResolveError::Timeout => {
            "see that the address is right and that no firewall drops its port; where the network \
             lets plain DNS through alone, write udp://ADDRESS"
        }
        ResolveError::Unreachable => {
            "see that this machine has a route there, and that its name is found (dns.bootstrap)"
        }
        ResolveError::Tls => {
            "see that the clock is right and the name is the certificate's; a network that \
             intercepts TLS lets none of it through"
        }
        ResolveError::BadAnswer => "see that a resolver answers there, by that protocol",
        ResolveError::Loop => "name an upstream that is not this machine",
        ResolveError::Overloaded | ResolveError::Stopped => "ask again",
    }
}
