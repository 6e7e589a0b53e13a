//! The strategy `fastest_address`: what all upstreams say is gathered, the addresses are measured,
//! and the answer with the fastest is given, that one first.
//!
//! Part of [`super::race`], whose tables it works on. It removes no address (clients fall back on
//! them, and signatures stay right) and adds none: it moves them within one upstream's answer.

use super::engine::Engine;
use super::flights::{FlightId, Won};
use super::probe_settings::Aim;
use super::probes::{BELIEVED_S, PROBED_MAX, Prober, Speed};
use super::race::Race;
use super::settings::UPSTREAMS_MAX;
use dns_wire::{Answer, record_type, reply};
use std::net::IpAddr;
use std::rc::Weak;
use std::time::{Duration, Instant};
use vocab::Now;

/// So long other upstreams are waited for once the first has answered.
const GATHERING: Duration = Duration::from_millis(100);

/// What upstreams have said to one question.
pub(super) struct Gathered {
    aim: Aim,
    /// In the order in which they came.
    answers: Vec<Won>,
    stage: Stage,
}

enum Stage {
    /// Nobody has answered.
    Waiting,
    /// Somebody has; others have until then.
    Gathering(Instant),
    Measuring,
}

impl Gathered {
    /// For a question of this type, if it is one for addresses.
    pub(super) fn new(aim: Option<Aim>, qtype: u16) -> Option<Self> {
        let aim = aim.filter(|_| matches!(qtype, record_type::A | record_type::AAAA))?;
        Some(Self { aim, answers: Vec::new(), stage: Stage::Waiting })
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        matches!(self.stage, Stage::Gathering(until) if until <= now)
    }

    /// The first answer, for want of time to measure any.
    pub(super) fn first(&mut self) -> Option<Won> {
        (!self.answers.is_empty()).then(|| self.answers.swap_remove(0))
    }

    /// Whether an answer is here that must not be thrown away for a failure.
    pub(super) fn has_any(&self) -> bool {
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

    /// The answer that holds the fastest address, that one first; the first answer if none is known.
    fn choose(&mut self, prober: Option<&Prober>, now: Now) -> Option<Won> {
        let speed =
            |address| prober.map_or(Speed::Unknown, |prober| prober.speed(address, &self.aim, now));
        let fastest = self.addresses().into_iter().map(|it| (speed(it), it)).min();
        let Some((Speed::Within(_), fastest)) = fastest else { return self.first() };
        let holds = |(answer, _): &Won| answer.addresses().any(|it| it == fastest);
        let chosen = self.answers.iter().position(holds)?;
        let mut message = self.answers[chosen].0.message().to_vec();
        reply::order_addresses(&mut message, speed);
        reply::set_ttls(&mut message, |ttl| ttl.min(BELIEVED_S));
        let (answer, upstream) = self.answers.swap_remove(chosen);
        // Only places and TTLs have changed, so it is as good as it was.
        Some((Answer::from_response(&message).unwrap_or(answer), upstream))
    }
}

impl Race {
    /// An upstream has said something definite.
    pub(super) fn gather(&mut self, id: FlightId, won: Won) {
        let now = self.now;
        let Some(flight) = self.flights.get_mut(id) else { return };
        let Some(gathered) = &mut flight.gathered else { return self.land(id, Ok(won)) };
        flight.running = flight.running.saturating_sub(1);
        match gathered.stage {
            Stage::Waiting => gathered.stage = Stage::Gathering(now + GATHERING),
            Stage::Gathering(_) => {}
            // Too late.
            Stage::Measuring => return,
        }
        if gathered.answers.len() < UPSTREAMS_MAX {
            gathered.answers.push(won);
        }
        if flight.running == 0 {
            self.measure(id);
        }
    }

    /// Enough is gathered: has measured what is not known, or ends the question.
    pub(super) fn measure(&mut self, id: FlightId) {
        let (now, clock) = (self.now, self.clock);
        let Some(flight) = self.flights.get_mut(id) else { return };
        let Some(gathered) = &mut flight.gathered else { return };
        if matches!(gathered.stage, Stage::Measuring) {
            return;
        }
        gathered.stage = Stage::Measuring;
        let (aim, addresses) = (gathered.aim, gathered.addresses());
        let left = aim.within.min(flight.ends.saturating_duration_since(now));
        let told = self.prober.as_ref().filter(|_| addresses.len() > 1).and_then(|prober| {
            let speed = |it: &IpAddr| prober.speed(*it, &aim, clock);
            let unknown: Vec<_> =
                addresses.iter().copied().filter(|it| speed(it) == Speed::Unknown).collect();
            // What takes longer than the fastest known cannot be faster.
            let left = match addresses.iter().map(speed).min() {
                Some(Speed::Within(best)) => left.min(best),
                Some(Speed::Unknown | Speed::Never) | None => left,
            };
            if unknown.is_empty() { None } else { Some((prober.probe(unknown, aim)?, left)) }
        });
        let Some((told, left)) = told else { return self.measured(id) };
        let engine: Weak<Engine> = Weak::clone(&self.engine);
        tokio::task::spawn_local(async move {
            // Whatever is known by then is used.
            let _ = tokio::time::timeout(left, told).await;
            if let Some(engine) = engine.upgrade() {
                engine.measured(id);
            }
        });
    }

    /// Ends a question by what is known now.
    pub(super) fn measured(&mut self, id: FlightId) {
        let clock = self.clock;
        let Some(flight) = self.flights.get_mut(id) else { return };
        let Some(gathered) = &mut flight.gathered else { return };
        if let Some(won) = gathered.choose(self.prober.as_ref(), clock) {
            self.land(id, Ok(won));
        }
    }
}
