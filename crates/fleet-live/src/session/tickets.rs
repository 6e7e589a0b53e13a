//! Keys of TLS tickets: learns those of the fleet, and turns them when their time is over.

use super::LiveSession;
use crate::server::LiveFailure;
use crate::ticket_keys::{FleetSeal, NoRandomness, TicketKeySet};
use redis::cmd;
use std::convert::Infallible;
use std::time::Duration;

/// Time for which a key seals, in milliseconds: half of the life of a ticket.
const KEY_MS: u64 = 6 * 3_600_000;
/// Time between two looks at the keys.
const LOOK: Duration = Duration::from_secs(5);

/// Result of a look at the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TicketLook {
    /// They are as they were, or as they were just read.
    Same,
    /// There are new ones.
    Turned,
}

impl LiveSession<'_> {
    /// Keeps the keys as those of the fleet; where there is no secret, it has nothing to do.
    pub(super) async fn keep_tickets(&self) -> Result<Infallible, LiveFailure> {
        let Some(seal) = &self.core.seal else { return std::future::pending().await };
        let mut known: Option<(u64, TicketKeySet)> = None;
        loop {
            if self.look_at_tickets(seal, &mut known).await? == TicketLook::Turned {
                // Whoever was first: these are the keys.
                self.look_at_tickets(seal, &mut known).await?;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn look_at_tickets(
        &self,
        seal: &FleetSeal,
        known: &mut Option<(u64, TicketKeySet)>,
    ) -> Result<TicketLook, LiveFailure> {
        let core = self.core;
        let commands = &mut self.commands();
        let mut look = cmd("HMGET");
        look.arg(&core.keys.tickets).arg("number").arg("made").arg("keys");
        let (number, made, sealed): (Option<u64>, Option<u64>, Option<String>) =
            look.query_async(commands).await?;
        let number = number.unwrap_or(0);
        if number > 0 && known.as_ref().is_none_or(|(it, _)| *it != number) {
            let opened = sealed.and_then(|sealed| seal.open(&sealed, number));
            let Some(keys) = opened else {
                core.foreign_tickets();
                return Ok(TicketLook::Same);
            };
            core.take_tickets(&keys);
            *known = Some((number, keys));
        } else if number > 0 {
            core.confirm_tickets();
        }
        let age = self.server_ms.get().saturating_sub(made.unwrap_or(0));
        if number == 0 || age >= KEY_MS {
            let next = match (number, &*known, core.tickets()) {
                // A server that lost them gets those back that are in force here.
                (0, _, Some(held)) => Ok(held),
                (0, _, None) => TicketKeySet::random(),
                (_, Some((_, keys)), _) => keys.turned(),
                (_, None, _) => return Ok(TicketLook::Same),
            };
            let Ok(sealed) = next.and_then(|next| seal.seal(&next, number.saturating_add(1)))
            else {
                log::warn!(target: "fleet", "{NoRandomness}: keys of tickets stay as they are");
                return Ok(TicketLook::Same);
            };
            let mut turn = core.scripts.turn_tickets.key(&core.keys.tickets);
            turn.arg(number).arg(KEY_MS).arg(sealed);
            let now: u64 = turn.invoke_async(commands).await?;
            if now != number {
                return Ok(TicketLook::Turned);
            }
        }
        Ok(TicketLook::Same)
    }
}
