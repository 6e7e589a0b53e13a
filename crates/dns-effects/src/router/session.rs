//! The task that speaks to one router: orders in their turn, what is set put right now and then,
//! and our entries removed at the end.
//!
//! Where the router is not reached, orders fail at once, and their addresses are written when they
//! are seen next.

use super::entries::{EntryKind, EntryLife, ListedNetwork, WrittenEntries, network};
use super::link::RouterLink;
use super::spec::RouterEffect;
use crate::EffectFailure;
use crate::counts::{EffectCounts, FailureReporter};
use crate::event::EffectOccurrence;
use crate::orders::EffectOrder;
use routeros::{RouterFailure, RouterRow};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use transport::Drain;
use vocab::Now;

/// Time between two looks at what is set.
const RECONCILE_EVERY: Duration = Duration::from_mins(3);
/// A whole list takes longer than a command.
const LIST_TIMES: u32 = 12;

/// The task's own things.
struct RouterSession {
    effect: RouterEffect,
    counts: Arc<EffectCounts>,
    link: RouterLink,
    written: WrittenEntries,
}

/// Carries out orders until it is closed, and all that wait; then cleans up, if it is to.
pub(crate) async fn serve(
    effect: RouterEffect,
    counts: Arc<EffectCounts>,
    mut orders: mpsc::Receiver<EffectOrder>,
    reporter: FailureReporter,
    closing: Drain,
) {
    let has_persistent = !effect.persistent.is_empty();
    let link = RouterLink::new(effect.access.clone());
    let mut session = RouterSession {
        effect,
        counts: Arc::clone(&counts),
        link,
        written: WrittenEntries::default(),
    };
    let mut reconciling = interval(RECONCILE_EVERY);
    reconciling.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_closed = false;
    loop {
        tokio::select! {
            biased;
            () = closing.started(), if !is_closed => {
                orders.close();
                is_closed = true;
            }
            _ = reconciling.tick(), if has_persistent && !is_closed => {
                if let Err(why) = session.reconcile().await {
                    reporter.failure(&counts, &why.to_string());
                }
            }
            order = orders.recv() => {
                let Some(order) = order else { break };
                let outcome = session.observe(&order.occurrence, transport::clock::now()).await;
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
    if session.effect.is_cleaned_up
        && let Err(why) = session.clean_up().await
    {
        reporter.failure(&counts, &why.to_string());
    }
}

pub(super) const fn folder(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "/ip" } else { "/ipv6" }
}

impl RouterSession {
    /// Writes the addresses of an answer that are due.
    async fn observe(&mut self, of: &EffectOccurrence, now: Now) -> Result<(), EffectFailure> {
        if of.rcode != Some(0) {
            return Ok(());
        }
        let life = self.effect.life.of(of.ttl_s);
        let name = of.question.as_ref().map(|it| &*it.name);
        let mut outcome = Ok(());
        for (index, address) in of.addresses.iter().map(IpAddr::to_canonical).enumerate() {
            let is_set = self.effect.persistent.contains(&ListedNetwork::host(address));
            let is_again = of.addresses[..index].iter().any(|it| it.to_canonical() == address);
            if is_set || is_again || self.effect.list_for(address).is_none() {
                continue;
            }
            if !self.written.is_due(address, life, now) {
                self.counts.suppressed.fetch_add(1, Relaxed);
                continue;
            }
            let comment = self.effect.owner.comment(EntryKind::Dynamic, name);
            match self.write(ListedNetwork::host(address), life, &comment).await {
                Ok(()) => self.written.note(address, life, now),
                Err(why) => {
                    self.written.forget(address);
                    let is_lost = self.link.is_lost();
                    outcome = Err(why);
                    if is_lost {
                        break;
                    }
                }
            }
        }
        outcome
    }

    /// Adds an entry, or renews ours; one of somebody else stays as it is.
    async fn write(
        &mut self,
        entry: ListedNetwork,
        life: EntryLife,
        comment: &str,
    ) -> Result<(), EffectFailure> {
        let Some(list) = self.effect.list_for(entry.address).map(str::to_owned) else {
            return Ok(());
        };
        let menu = format!("{}/firewall/address-list", folder(entry.address));
        let (list, address) = (format!("=list={list}"), format!("=address={entry}"));
        let comment = format!("=comment={comment}");
        let timeout = match life {
            EntryLife::Seconds(seconds) => Some(format!("=timeout={seconds}s")),
            EntryLife::Lasting => None,
        };
        let add = format!("{menu}/add");
        let mut words = vec![add.as_str(), &list, &address, &comment];
        words.extend(timeout.as_deref());
        match self.link.command(&words, 1).await {
            Ok(_) => return Ok(()),
            Err(RouterFailure::Trap(why)) if why.contains("already have") => {}
            Err(why) => return Err(self.link.failed(&why)),
        }
        for row in self.find(entry).await? {
            let is_ours = self.effect.owner.kind_of(row.get("comment")).is_some();
            let Some(id) = row.get(".id").filter(|_| is_ours) else { continue };
            let (set, id) = (format!("{menu}/set"), format!("=.id={id}"));
            let mut words = vec![set.as_str(), &id, &comment];
            words.extend(timeout.as_deref());
            self.link.command(&words, 1).await.map_err(|why| self.link.failed(&why))?;
        }
        Ok(())
    }

    /// The entries of a list for one address.
    async fn find(&mut self, entry: ListedNetwork) -> Result<Vec<RouterRow>, EffectFailure> {
        let list = self.effect.list_for(entry.address).unwrap_or_default();
        let print = format!("{}/firewall/address-list/print", folder(entry.address));
        let list = format!("?list={list}");
        // Routers show the bits of an IPv6 address always.
        let (plain, full) = (format!("?address={entry}"), format!("?address={}", entry.in_full()));
        let words = [print.as_str(), "=.proplist=.id,comment", &list, &plain, &full, "?#|", "?#&"];
        self.link.command(&words, 1).await.map_err(|why| self.link.failed(&why))
    }

    /// Every entry of our lists, with its family's folder.
    async fn all_entries(&mut self) -> Result<Vec<(&'static str, RouterRow)>, EffectFailure> {
        let lists = [("/ip", self.effect.list4.clone()), ("/ipv6", self.effect.list6.clone())];
        let mut all = Vec::new();
        for (folder, list) in lists {
            let Some(list) = list else { continue };
            let (print, list) =
                (format!("{folder}/firewall/address-list/print"), format!("?list={list}"));
            let words = [print.as_str(), "=.proplist=.id,address,comment", &list];
            let rows = self
                .link
                .command(&words, LIST_TIMES)
                .await
                .map_err(|why| self.link.failed(&why))?;
            all.extend(rows.into_iter().map(|row| (folder, row)));
        }
        Ok(all)
    }

    /// Has what is set in the lists, and removes what was set and is no more.
    async fn reconcile(&mut self) -> Result<(), EffectFailure> {
        let entries = self.all_entries().await?;
        let mut missing = self.effect.persistent.clone();
        let mut gone = Vec::new();
        for (folder, row) in entries {
            if self.effect.owner.kind_of(row.get("comment")) != Some(EntryKind::Persistent) {
                continue;
            }
            let is_wanted =
                row.get("address").and_then(network).is_some_and(|it| missing.remove(&it));
            if !is_wanted {
                gone.push((folder, row));
            }
        }
        let comment = self.effect.owner.comment(EntryKind::Persistent, None);
        for entry in missing {
            self.write(entry, EntryLife::Lasting, &comment).await?;
        }
        self.remove(gone).await
    }

    /// Removes every entry of ours.
    async fn clean_up(&mut self) -> Result<(), EffectFailure> {
        let owner = self.effect.owner.clone();
        let all = self.all_entries().await?.into_iter();
        self.written.clear();
        self.remove(all.filter(|(_, row)| owner.kind_of(row.get("comment")).is_some()).collect())
            .await
    }

    async fn remove(&mut self, rows: Vec<(&'static str, RouterRow)>) -> Result<(), EffectFailure> {
        for (folder, row) in rows {
            let Some(id) = row.get(".id") else { continue };
            let (remove, id) =
                (format!("{folder}/firewall/address-list/remove"), format!("=.id={id}"));
            match self.link.command(&[&remove, &id], 1).await {
                // It has run out meanwhile.
                Err(RouterFailure::Trap(why)) if why.contains("no such item") => {}
                Ok(_) => {}
                Err(why) => return Err(self.link.failed(&why)),
            }
        }
        Ok(())
    }
}
