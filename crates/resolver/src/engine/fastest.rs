//! The strategy `fastest_address`: what all upstreams say is gathered, the addresses are measured,
//! and the answer with the fastest is given, that one first.
//!
//! Part of [`super::race`], whose tables it works on. It removes no address (clients fall back on
//! them, and signatures stay right) and adds none: it moves them within one upstream's answer.

use super::flights::{FlightId, Won};
use super::probes::{AddressProber, BELIEVED_S, PROBED_MAX, ProbeSpeed};
use super::race::QueryRace;
use crate::engine::ResolverEngine;
use crate::settings::UPSTREAMS_MAX;
use crate::settings::probe::ProbeTarget;
use dns_wire::{WireAnswer, record_type, reply};
use std::net::IpAddr;
use std::rc::Weak;
use std::time::{Duration, Instant};
use vocab::Now;

/// So long other upstreams are waited for once the first has answered.
const GATHERING: Duration = Duration::from_millis(100);

/// Holds what upstreams have said to one question.
pub(crate) struct GatheredAnswers {
    aim: ProbeTarget,
    /// In the order in which they came.
    answers: Vec<Won>,
    stage: GatherStage,
}

enum GatherStage {
    /// Nobody has answered.
    Waiting,
    /// Somebody has; others have until then.
    Gathering(Instant),
    Measuring,
}

impl GatheredAnswers {
    /// For a question of this type, if it is one for addresses.
    pub(crate) fn new(aim: Option<ProbeTarget>, qtype: u16) -> Option<Self> {
        let aim = aim.filter(|_| matches!(qtype, record_type::A | record_type::AAAA))?;
        Some(Self { aim, answers: Vec::new(), stage: GatherStage::Waiting })
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        matches!(self.stage, GatherStage::Gathering(until) if until <= now)
    }

    /// The first answer, for want of time to measure any.
    pub(crate) fn first(&mut self) -> Option<Won> {
        (!self.answers.is_empty()).then(|| self.answers.swap_remove(0))
    }

    /// True if an answer is here that must not be thrown away for a failure.
    pub(crate) fn has_any(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The different addresses of all answers, as many as are measured.
    fn addresses(&self) -> Vec<IpAddr> {
        let mut all = Vec::new();
        for address in self.answers.iter().flat_map(|(answer, _)| answer.addresses()) {
            if all.len() == PROBED_MAX {
                break;
            }
            if !all.contains(&address) && self.aim.allows(address) {
                all.push(address);
            }
        }
        all
    }

    /// The answer that holds the fastest address, that one first; the first answer if none is
    /// known.
    fn choose(&mut self, prober: Option<&AddressProber>, now: Now) -> Option<Won> {
        let speed = |address| {
            prober.map_or(ProbeSpeed::Unknown, |prober| prober.speed(address, &self.aim, now))
        };
        let fastest = self.addresses().into_iter().map(|it| (speed(it), it)).min();
        let Some((ProbeSpeed::Within(_), fastest)) = fastest else { return self.first() };
        let holds = |(answer, _): &Won| answer.addresses().any(|it| it == fastest);
        let chosen = self.answers.iter().position(holds)?;
        let mut message = self.answers[chosen].0.message().to_vec();
        reply::order_addresses(&mut message, speed);
        reply::set_ttls(&mut message, |ttl| ttl.min(BELIEVED_S));
        let (answer, upstream) = self.answers.swap_remove(chosen);
        // Only places and TTLs have changed, so it is as good as it was.
        Some((WireAnswer::from_response(&message).unwrap_or(answer), upstream))
    }
}

impl QueryRace {
    /// An upstream has said something definite.
    pub(crate) fn gather(&mut self, id: FlightId, won: Won) {
        let now = self.now;
        let Some(flight) = self.flights.get_mut(id) else { return };
        let Some(gathered) = &mut flight.gathered else { return self.land(id, Ok(won)) };
        flight.running = flight.running.saturating_sub(1);
        match gathered.stage {
            GatherStage::Waiting => gathered.stage = GatherStage::Gathering(now + GATHERING),
            GatherStage::Gathering(_) => {}
            // Too late.
            GatherStage::Measuring => return,
        }
        if gathered.answers.len() < UPSTREAMS_MAX {
            gathered.answers.push(won);
        }
        if flight.running == 0 {
            self.measure(id);
        }
    }

    /// Enough is gathered: has measured what is not known, or ends the question.
    pub(crate) fn measure(&mut self, id: FlightId) {
        let (now, clock) = (self.now, self.clock);
        let Some(flight) = self.flights.get_mut(id) else { return };
        let Some(gathered) = &mut flight.gathered else { return };
        if matches!(gathered.stage, GatherStage::Measuring) {
            return;
        }
        gathered.stage = GatherStage::Measuring;
        let (aim, addresses) = (gathered.aim, gathered.addresses());
        let left = aim.within.min(flight.ends.saturating_duration_since(now));
        let told = self.prober.as_ref().filter(|_| addresses.len() > 1).and_then(|prober| {
            let speed = |it: &IpAddr| prober.speed(*it, &aim, clock);
            let unknown: Vec<_> =
                addresses.iter().copied().filter(|it| speed(it) == ProbeSpeed::Unknown).collect();
            // What takes longer than the fastest known cannot be faster.
            let left = match addresses.iter().map(speed).min() {
                Some(ProbeSpeed::Within(best)) => left.min(best),
                Some(ProbeSpeed::Unknown | ProbeSpeed::Never) | None => left,
            };
            if unknown.is_empty() { None } else { Some((prober.probe(unknown, aim)?, left)) }
        });
        let Some((told, left)) = told else { return self.measured(id) };
        let engine: Weak<ResolverEngine> = Weak::clone(&self.engine);
        tokio::task::spawn_local(async move {
            // Whatever is known by then is used.
            let _ = tokio::time::timeout(left, told).await;
            if let Some(engine) = engine.upgrade() {
                engine.measured(id);
            }
        });
    }

    /// Ends a question by what is known now.
    pub(crate) fn measured(&mut self, id: FlightId) {
        let clock = self.clock;
        let Some(flight) = self.flights.get_mut(id) else { return };
        let Some(gathered) = &mut flight.gathered else { return };
        if let Some(won) = gathered.choose(self.prober.as_ref(), clock) {
            self.land(id, Ok(won));
        }
    }
}
