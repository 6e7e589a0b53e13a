//! A look into what other machines have kept, before an upstream is asked.
//!
//! It has a budget of its own, after which the upstreams are asked as ever. Whoever renews an
//! answer gets none from there: it would be the old one.

use super::{QueryRace, RaceStart};
use crate::engine::flight_id::FlightId;
use crate::engine::flights::CallerPatience;
use crate::engine::group::OrderOutlook;
use crate::second_level::SecondLevelAnswer;
use dns_wire::WireAnswer;

impl QueryRace {
    /// Looks into the second level, if there is one that is worth asking.
    pub(super) fn look_further(&mut self, id: FlightId) -> RaceStart {
        let Some(flight) = self.flights.get_mut(id) else { return RaceStart::No };
        let Some(look) = self.delivery.second_look(&flight.identity.question) else {
            return RaceStart::No;
        };
        flight.running += 1;
        flight.tasks.push(self.tasks.look_further(id, look));
        RaceStart::Yes
    }

    /// Asks the upstreams that a question begins with.
    pub(super) fn ask_first(&mut self, id: FlightId) {
        let first = self.flights.get(id).map_or(0, |flight| flight.order.first);
        for _ in 0..first {
            if self.start_next(id) == RaceStart::No {
                break;
            }
        }
        if let Some(flight) = self.flights.get_mut(id)
            && flight.order.outlook == OrderOutlook::AllEjected
            && matches!(flight.caller_patience, CallerPatience::Until(_))
        {
            self.delivery.give_kept(flight);
        }
    }

    /// The second level has answered, or its time is over.
    pub(crate) fn looked_further(&mut self, id: FlightId, found: Option<SecondLevelAnswer>) {
        let Some(flight) = self.flights.get_mut(id) else { return };
        flight.running = flight.running.saturating_sub(1);
        let question = &flight.identity.question;
        let good = found.and_then(|found| {
            let answer = WireAnswer::from_response(&found.message).ok()?;
            let is_good = answer.matches(question.wire())
                && answer.is_definite()
                && found.age_ms < u64::from(answer.ttl()) * 1000;
            is_good.then_some((answer, found.age_ms))
        });
        let Some((answer, age_ms)) = good else {
            self.ask_first(id);
            return self.finish_if_over(id);
        };
        if let Some(flight) = self.flights.remove(id) {
            self.claims.release(flight.identity.claim);
            self.delivery.land_shared(flight, answer, age_ms, self.time);
        }
    }
}
