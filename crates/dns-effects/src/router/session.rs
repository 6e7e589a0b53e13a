//! The task that keeps the address lists of one router: addresses of answers are added, and what is
//! set is put right now and then.
//!
//! What it has in common with others at routers is [`super::task`].

use super::access::LifeRule;
use super::entries::{EntryKind, EntryLife, ListedNetwork, WrittenEntries, network};
use super::link::RouterLink;
use super::spec::RouterEffect;
use super::task::{self, RouterTask};
use crate::EffectFailure;
use crate::counts::{EffectCounts, FailureReporter};
use crate::orders::EffectOrder;
use routeros::{RouterFailure, RouterRow};
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use transport::Drain;
use vocab::Now;

/// Time between two looks at what is set.
const RECONCILE_EVERY: Duration = Duration::from_mins(3);
/// A whole list takes longer than a command.
const LIST_TIMES: u32 = 12;

/// The task's own things.
struct RouterSession {
    effect: RouterEffect,
    link: RouterLink,
    written: WrittenEntries,
}

/// Carries out orders until it is closed, and all that wait; then cleans up, if it is to.
pub(crate) async fn serve(
    effect: RouterEffect,
    counts: Arc<EffectCounts>,
    orders: mpsc::Receiver<EffectOrder>,
    reporter: FailureReporter,
    closing: Drain,
) {
    let link = RouterLink::new(effect.access.clone());
    let session = RouterSession { effect, link, written: WrittenEntries::default() };
    task::run(session, counts, orders, reporter, closing).await;
}

pub(super) const fn folder(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "/ip" } else { "/ipv6" }
}

impl RouterTask for RouterSession {
    const LOOK_EVERY: Duration = RECONCILE_EVERY;

    fn is_looked_after(&self) -> bool {
        !self.effect.persistent.is_empty()
    }

    fn life(&self) -> LifeRule {
        self.effect.life
    }

    fn persistent(&self) -> &HashSet<ListedNetwork> {
        &self.effect.persistent
    }

    fn takes(&self, address: IpAddr) -> bool {
        self.effect.list_for(address).is_some()
    }

    fn written(&mut self) -> &mut WrittenEntries {
        &mut self.written
    }

    fn is_lost(&self) -> bool {
        self.link.is_lost()
    }

    fn is_cleaned_up(&self) -> bool {
        self.effect.is_cleaned_up
    }

    async fn write_address(
        &mut self,
        address: IpAddr,
        life: EntryLife,
        name: Option<&str>,
        _now: Now,
    ) -> Result<(), EffectFailure> {
        let comment = self.effect.owner.comment(EntryKind::Dynamic, name);
        self.write(ListedNetwork::host(address), life, &comment).await
    }

    async fn look(&mut self, _now: Now) -> Result<(), EffectFailure> {
        self.reconcile().await
    }

    /// Removes every entry of ours.
    async fn clean_up(&mut self) -> Result<(), EffectFailure> {
        let owner = self.effect.owner.clone();
        let all = self.all_entries().await?.into_iter();
        self.written.clear();
        self.remove(all.filter(|(_, row)| owner.kind_of(row.get("comment")).is_some()).collect())
            .await
    }
}

impl RouterSession {
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
