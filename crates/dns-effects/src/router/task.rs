//! What the tasks at a router have in common: orders in their turn, a look at the router now and
//! then, and our own things removed at the end.
//!
//! Where the router is not reached, orders fail at once, and their addresses are written when they
//! are seen next. It speaks no command: that is its tasks', lists and routes.

use super::access::LifeRule;
use super::entries::{EntryLife, ListedNetwork, WrittenEntries};
use crate::EffectFailure;
use crate::counts::{EffectCounts, FailureReporter};
use crate::event::EffectOccurrence;
use crate::orders::EffectOrder;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use transport::Drain;
use vocab::Now;

/// Things at one router that follow the addresses of answers.
pub(super) trait RouterTask {
    /// Interval between two looks at the router.
    const LOOK_EVERY: Duration;

    /// True if the router is to be looked at.
    fn is_looked_after(&self) -> bool;

    /// Time for which an address stays.
    fn life(&self) -> LifeRule;

    /// Networks that are there whatever is asked.
    fn persistent(&self) -> &HashSet<ListedNetwork>;

    /// True if addresses of this family are written.
    fn takes(&self, address: IpAddr) -> bool;

    /// Addresses that were written of late.
    fn written(&mut self) -> &mut WrittenEntries;

    /// True if the connection is lost.
    fn is_lost(&self) -> bool;

    /// True if our own things are removed at the end.
    fn is_cleaned_up(&self) -> bool;

    /// Writes one address of an answer about `name`.
    async fn write_address(
        &mut self,
        address: IpAddr,
        life: EntryLife,
        name: Option<&str>,
        now: Now,
    ) -> Result<(), EffectFailure>;

    /// Looks at the router, and puts right what is to be.
    async fn look(&mut self, now: Now) -> Result<(), EffectFailure>;

    /// Removes everything of ours.
    async fn clean_up(&mut self) -> Result<(), EffectFailure>;
}

/// Carries out orders until it is closed, and all that wait; then cleans up, if it is to.
pub(super) async fn run<T: RouterTask>(
    mut task: T,
    counts: Arc<EffectCounts>,
    mut orders: mpsc::Receiver<EffectOrder>,
    reporter: FailureReporter,
    closing: Drain,
) {
    let is_looked_after = task.is_looked_after();
    let mut looking = interval(T::LOOK_EVERY);
    looking.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_closed = false;
    loop {
        tokio::select! {
            biased;
            () = closing.started(), if !is_closed => {
                orders.close();
                is_closed = true;
            }
            _ = looking.tick(), if is_looked_after && !is_closed => {
                if let Err(why) = task.look(transport::clock::now()).await {
                    reporter.failure(&counts, &why.to_string());
                }
            }
            order = orders.recv() => {
                let Some(order) = order else { break };
                let now = transport::clock::now();
                let outcome = observe(&mut task, &order.occurrence, &counts, now).await;
                match &outcome {
                    Ok(()) => drop(counts.done.fetch_add(1, Relaxed)),
                    Err(failure) => {
                        counts.failed.fetch_add(1, Relaxed);
                        reporter.failure(&counts, &failure.to_string());
                    }
                }
                // Most often nobody waits.
                let _ = order.waiting.send(outcome);
            }
        }
    }
    if task.is_cleaned_up()
        && let Err(why) = task.clean_up().await
    {
        reporter.failure(&counts, &why.to_string());
    }
}

/// Writes the addresses of an answer that are due.
async fn observe(
    task: &mut impl RouterTask,
    of: &EffectOccurrence,
    counts: &EffectCounts,
    now: Now,
) -> Result<(), EffectFailure> {
    if of.rcode != Some(0) {
        return Ok(());
    }
    let life = task.life().of(of.ttl_s);
    let name = of.question.as_ref().map(|it| &*it.name);
    let mut outcome = Ok(());
    for (index, address) in of.addresses.iter().map(IpAddr::to_canonical).enumerate() {
        let is_set = task.persistent().contains(&ListedNetwork::host(address));
        let is_again = of.addresses[..index].iter().any(|it| it.to_canonical() == address);
        if is_set || is_again || !task.takes(address) {
            continue;
        }
        if !task.written().is_due(address, life, now) {
            counts.suppressed.fetch_add(1, Relaxed);
            continue;
        }
        match task.write_address(address, life, name, now).await {
            Ok(()) => task.written().note(address, life, now),
            Err(why) => {
                task.written().forget(address);
                outcome = Err(why);
                if task.is_lost() {
                    break;
                }
            }
        }
    }
    outcome
}
