//! The strategy `fastest_address`: what all upstreams say is gathered, the addresses are measured,
//! and the answer with the fastest is given, that one first.
//!
//! It removes no address (clients fall back on them, and signatures stay right) and adds none: it
//! moves them within one upstream's answer. It asks nobody and waits for nothing. Called by
//! [`super::race`].

use super::probes::{AddressProber, PROBED_MAX, ProbeSpeed, RESULT_TTL_S};
use super::upstream_answer::UpstreamAnswer;
use crate::settings::UPSTREAMS_MAX;
use crate::settings::probe::ProbeTarget;
use dns_wire::{WireAnswer, record_type, reply};
use std::net::IpAddr;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use vocab::Now;

/// So long other upstreams are waited for once the first has answered.
const GATHER_WINDOW: Duration = Duration::from_millis(100);

/// Holds what upstreams have said to one question.
pub(crate) struct GatheredAnswers {
    probe_target: ProbeTarget,
    /// In the order in which they came.
    answers: Vec<UpstreamAnswer>,
    stage: GatherStage,
}

enum GatherStage {
    /// Nobody has answered.
    Waiting,
    /// Somebody has; others have until then.
    Gathering(Instant),
    Measuring,
}

/// Tells what is to be waited for before the fastest can be chosen.
pub(crate) enum MeasureStart {
    /// It is measured already.
    Underway,
    /// What is known is all that will be: choose.
    Known,
    /// Told when an address has let us in or none will; no longer than this is worth it.
    Wait(oneshot::Receiver<()>, Duration),
}

impl GatheredAnswers {
    /// For a question of this type, if it is one for addresses.
    pub(crate) fn new(aim: Option<ProbeTarget>, qtype: u16) -> Option<Self> {
        let aim = aim.filter(|_| matches!(qtype, record_type::A | record_type::AAAA))?;
        Some(Self { probe_target: aim, answers: Vec::new(), stage: GatherStage::Waiting })
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        matches!(self.stage, GatherStage::Gathering(until) if until <= now)
    }

    /// Takes an answer in, unless it comes too late; others are waited for from the first on.
    pub(crate) fn add(&mut self, found: UpstreamAnswer, now: Instant) {
        match self.stage {
            GatherStage::Waiting => self.stage = GatherStage::Gathering(now + GATHER_WINDOW),
            GatherStage::Gathering(_) => {}
            GatherStage::Measuring => return,
        }
        if self.answers.len() < UPSTREAMS_MAX {
            self.answers.push(found);
        }
    }

    /// Enough is gathered: has `prober` measure what is not known, for at most `limit`.
    pub(crate) fn measure(
        &mut self,
        prober: Option<&AddressProber>,
        limit: Duration,
        clock: Now,
    ) -> MeasureStart {
        if matches!(self.stage, GatherStage::Measuring) {
            return MeasureStart::Underway;
        }
        self.stage = GatherStage::Measuring;
        let addresses = self.addresses();
        let Some(prober) = prober.filter(|_| addresses.len() > 1) else {
            return MeasureStart::Known;
        };
        let speed = |it: &IpAddr| prober.speed(*it, &self.probe_target, clock);
        let unknown: Vec<_> =
            addresses.iter().copied().filter(|it| speed(it) == ProbeSpeed::Unknown).collect();
        // What takes longer than the fastest known cannot be faster.
        let limit = match addresses.iter().map(speed).min() {
            Some(ProbeSpeed::Within(best)) => self.probe_target.timeout.min(limit).min(best),
            Some(ProbeSpeed::Unknown | ProbeSpeed::Never) | None => {
                self.probe_target.timeout.min(limit)
            }
        };
        if unknown.is_empty() {
            return MeasureStart::Known;
        }
        prober
            .probe(unknown, self.probe_target)
            .map_or(MeasureStart::Known, |done| MeasureStart::Wait(done, limit))
    }

    /// The first answer, for want of time to measure any.
    pub(crate) fn first(&mut self) -> Option<UpstreamAnswer> {
        (!self.answers.is_empty()).then(|| self.answers.swap_remove(0))
    }

    /// True if an answer is here that must not be thrown away for a failure.
    pub(crate) fn has_answer(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The different addresses of all answers, as many as are measured.
    fn addresses(&self) -> Vec<IpAddr> {
        let mut all = Vec::new();
        for address in self.answers.iter().flat_map(|it| it.answer.addresses()) {
            if all.len() == PROBED_MAX {
                break;
            }
            if !all.contains(&address) && self.probe_target.allows(address) {
                all.push(address);
            }
        }
        all
    }

    /// The answer that holds the fastest address, that one first; the first answer if none is
    /// known.
    pub(crate) fn choose(
        &mut self,
        prober: Option<&AddressProber>,
        now: Now,
    ) -> Option<UpstreamAnswer> {
        let speed = |address| {
            prober.map_or(ProbeSpeed::Unknown, |prober| {
                prober.speed(address, &self.probe_target, now)
            })
        };
        let fastest = self.addresses().into_iter().map(|it| (speed(it), it)).min();
        let Some((ProbeSpeed::Within(_), fastest)) = fastest else { return self.first() };
        let holds = |it: &UpstreamAnswer| it.answer.addresses().any(|it| it == fastest);
        let chosen = self.answers.iter().position(holds)?;
        let mut message = self.answers[chosen].answer.message().to_vec();
        reply::order_addresses(&mut message, speed);
        reply::set_ttls(&mut message, |ttl| ttl.min(RESULT_TTL_S));
        let UpstreamAnswer { answer, upstream } = self.answers.swap_remove(chosen);
        // Only places and TTLs have changed, so it is as good as it was.
        let answer = WireAnswer::from_response(&message).unwrap_or(answer);
        Some(UpstreamAnswer { answer, upstream })
    }
}
