//! The task that keeps routes at one router: one to each address of an answer, for its time, in a
//! table that is there already.
//!
//! RouterOS has no time for a route, so those that are over are removed here, twice a minute; with
//! a guard, not while connections still run over them. Routes of others are never changed. What it
//! has in common with others at routers is [`super::task`].

use super::access::{AccessWords, LifeRule, NamePlace, RouterAccess, check_name};
use super::entries::{EntryKind, EntryLife, EntryOwner, ListedNetwork, WrittenEntries, network};
use super::leases::{LeaseBook, LeaseEnd, RouteLease, comment, end_of, host_of};
use super::link::RouterLink;
use super::session::folder;
use super::spec::{FamilyChoice, QUEUE_MAX, persistent};
use super::task::{self, RouterTask};
use crate::counts::{EffectCounts, FailureReporter};
use crate::orders::EffectOrder;
use crate::router_settings::RouteSpec;
use crate::{EffectFailure, bounds};
use routeros::{RouterFailure, RouterRow};
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use transport::Drain;
use vocab::{Complaint, Now};

/// Time between two looks at routes that are over.
const SWEEP_EVERY: Duration = Duration::from_secs(30);
/// Looks after which what is set is put right again.
const SWEEPS_PER_RECONCILE: u32 = 6;
/// A whole table takes longer than a command.
const TABLE_TIMES: u32 = 12;

/// Routes at a router, read.
#[derive(Debug)]
pub(crate) struct RouteEffect {
    access: RouterAccess,
    table: String,
    gateway4: Option<String>,
    gateway6: Option<String>,
    distance: u8,
    owner: EntryOwner,
    persistent: HashSet<ListedNetwork>,
    life: LifeRule,
    is_guarded: bool,
    is_cleaned_up: bool,
}

impl RouteSpec {
    /// Everything that is wrong with it.
    pub fn check(&self) -> Vec<Complaint> {
        RouteEffect::read(self).err().unwrap_or_default()
    }
}

impl RouteEffect {
    pub(crate) fn read(spec: &RouteSpec) -> Result<Self, Vec<Complaint>> {
        let mut wrong = Vec::new();
        let access = RouterAccess::read(&AccessWords::of_routes(spec), &mut wrong);
        if spec.routing_table.is_empty() {
            let complaint = Complaint::new("routing_table", "it is missing");
            wrong.push(complaint.remedy("name a table of the router, made for these routes"));
        }
        if spec.gateway4.is_empty() && spec.gateway6.is_empty() {
            let complaint = Complaint::new("gateway4", "no gateway is named, so no route is added");
            wrong.push(complaint.remedy("name one with gateway4 or gateway6"));
        }
        for (key, text) in [
            ("routing_table", &spec.routing_table),
            ("gateway4", &spec.gateway4),
            ("gateway6", &spec.gateway6),
        ] {
            check_name(key, text, NamePlace::Alone, &mut wrong);
        }
        bounds(&mut wrong, "distance", &spec.distance, &(1..=255), "from 1 to 255");
        bounds(&mut wrong, "queue_size", &spec.queue_size, &(1..=QUEUE_MAX), "from 1 to 65536");
        let life = LifeRule::read(spec.min_ttl, spec.max_ttl, spec.fixed_ttl, &mut wrong);
        let has = FamilyChoice { v4: !spec.gateway4.is_empty(), v6: !spec.gateway6.is_empty() };
        let persistent = persistent(&spec.persistent, has, &mut wrong);
        if persistent.iter().any(ListedNetwork::is_everything) {
            let complaint = Complaint::new("persistent", "a route to all addresses is not ours");
            wrong.push(complaint.remedy("leave the default route to the router"));
        }
        let Some(access) = access.filter(|_| wrong.is_empty()) else { return Err(wrong) };
        let named = |text: &String| (!text.is_empty()).then(|| text.clone());
        Ok(Self {
            access,
            table: spec.routing_table.clone(),
            gateway4: named(&spec.gateway4),
            gateway6: named(&spec.gateway6),
            distance: spec.distance,
            owner: EntryOwner { prefix: spec.comment_prefix.clone(), tag: spec.owner.clone() },
            persistent,
            life,
            is_guarded: spec.conntrack_guard,
            is_cleaned_up: spec.cleanup_on_shutdown,
        })
    }

    /// The gateway for `address`; none where its family has none.
    fn gateway(&self, address: IpAddr) -> Option<&str> {
        match address {
            IpAddr::V4(_) => self.gateway4.as_deref(),
            IpAddr::V6(_) => self.gateway6.as_deref(),
        }
    }
}

/// The task's own things.
struct RouteSession {
    effect: RouteEffect,
    link: RouterLink,
    written: WrittenEntries,
    leases: LeaseBook,
    /// True once the routes that a former start left are known.
    is_restored: bool,
    /// Looks at the router that there were.
    looks: u32,
}

/// Carries out orders until it is closed, and all that wait; then cleans up, if it is to.
pub(crate) async fn serve(
    effect: RouteEffect,
    counts: Arc<EffectCounts>,
    orders: mpsc::Receiver<EffectOrder>,
    reporter: FailureReporter,
    closing: Drain,
) {
    let session = RouteSession {
        link: RouterLink::new(effect.access.clone()),
        effect,
        written: WrittenEntries::default(),
        leases: LeaseBook::default(),
        is_restored: false,
        looks: 0,
    };
    task::run(session, counts, orders, reporter, closing).await;
}

const fn second(now: Now) -> u64 {
    now.unix_ms / 1000
}

impl RouterTask for RouteSession {
    const LOOK_EVERY: Duration = SWEEP_EVERY;

    fn is_looked_after(&self) -> bool {
        true
    }

    fn life(&self) -> LifeRule {
        self.effect.life
    }

    fn persistent(&self) -> &HashSet<ListedNetwork> {
        &self.effect.persistent
    }

    fn takes(&self, address: IpAddr) -> bool {
        self.effect.gateway(address).is_some()
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

    /// Adds the route to an address of an answer, or has ours stay longer.
    async fn write_address(
        &mut self,
        address: IpAddr,
        life: EntryLife,
        _name: Option<&str>,
        now: Now,
    ) -> Result<(), EffectFailure> {
        if !self.leases.has_room_for(address) {
            return Err(EffectFailure::new("there are too many routes: none is added"));
        }
        let until_s = self.leases.until(address, life, second(now));
        let comment = comment(&self.effect.owner, until_s, second(now));
        let known = self.leases.get(address).and_then(|it| it.number.clone());
        let number = self.write(ListedNetwork::host(address), known, &comment).await?;
        self.leases.put(address, RouteLease { until_s, number });
        Ok(())
    }

    /// Removes what is over, after it was learnt what a former start left; now and then puts right
    /// what is set.
    async fn look(&mut self, now: Now) -> Result<(), EffectFailure> {
        let is_whole = self.looks.is_multiple_of(SWEEPS_PER_RECONCILE);
        self.looks = self.looks.wrapping_add(1);
        let is_due = is_whole && !self.effect.persistent.is_empty();
        if !self.is_restored || is_due {
            let rows = self.table().await?;
            self.restore(&rows);
            self.put_right(rows).await?;
        }
        let mut over = self.leases.over(second(now));
        if self.effect.is_guarded && !over.is_empty() {
            let busy = self.connected().await?;
            let later = second(now) + SWEEP_EVERY.as_secs();
            for address in over.extract_if(.., |it| busy.contains(it)) {
                self.leases.defer(address, later);
            }
        }
        for address in over {
            let known = self.leases.get(address).and_then(|it| it.number.clone());
            let number = match known {
                Some(number) => Some(number),
                None => self.find(ListedNetwork::host(address)).await?,
            };
            if let Some(number) = number {
                self.remove(folder(address), &number).await?;
            }
            self.leases.remove(address);
            self.written.forget(address);
        }
        Ok(())
    }

    /// Removes every route of ours.
    async fn clean_up(&mut self) -> Result<(), EffectFailure> {
        let rows = self.table().await?;
        self.written.clear();
        self.leases.clear();
        for (folder, row) in rows {
            let is_ours = self.effect.owner.kind_of(row.get("comment")).is_some();
            if let Some(number) = row.get(".id").filter(|_| is_ours) {
                self.remove(folder, number).await?;
            }
        }
        Ok(())
    }
}

impl RouteSession {
    /// Adds a route, or renews ours; gives its number.
    async fn write(
        &mut self,
        to: ListedNetwork,
        known: Option<String>,
        comment: &str,
    ) -> Result<Option<String>, EffectFailure> {
        let Some(gateway) = self.effect.gateway(to.address) else { return Ok(None) };
        let gateway = format!("=gateway={gateway}");
        let (menu, words) =
            (format!("{}/route", folder(to.address)), format!("=comment={comment}"));
        let distance = format!("=distance={}", self.effect.distance);
        let known = match known {
            Some(number) => Some(number),
            None if self.is_restored => None,
            None => self.find(to).await?,
        };
        if let Some(number) = known {
            let (set, id) = (format!("{menu}/set"), format!("=.id={number}"));
            match self.link.command(&[&set, &id, &gateway, &distance, &words], 1).await {
                Ok(_) => return Ok(Some(number)),
                // Somebody has removed it.
                Err(RouterFailure::Trap(why)) if why.contains("no such item") => {}
                Err(why) => return Err(self.link.failed(&why)),
            }
        }
        let (add, target) = (format!("{menu}/add"), format!("=dst-address={}", to.in_full()));
        let table = format!("=routing-table={}", self.effect.table);
        let added = [add.as_str(), &target, &gateway, &table, &distance, &words];
        let answer = self.link.carry_out(&added, 1).await;
        answer.map(|it| it.added).map_err(|why| self.link.failed(&why))
    }

    /// The number of our route to `to`.
    async fn find(&mut self, to: ListedNetwork) -> Result<Option<String>, EffectFailure> {
        let print = format!("{}/route/print", folder(to.address));
        let table = format!("?routing-table={}", self.effect.table);
        let target = format!("?dst-address={}", to.in_full());
        let words = [print.as_str(), "=.proplist=.id,comment", &table, &target];
        let rows = self.link.command(&words, 1).await.map_err(|why| self.link.failed(&why))?;
        let is_ours = |row: &&RouterRow| self.effect.owner.kind_of(row.get("comment")).is_some();
        Ok(rows.iter().find(is_ours).and_then(|row| row.get(".id")).map(str::to_owned))
    }

    /// Every route of our table, with its family's folder.
    async fn table(&mut self) -> Result<Vec<(&'static str, RouterRow)>, EffectFailure> {
        let families = [("/ip", &self.effect.gateway4), ("/ipv6", &self.effect.gateway6)];
        let folders: Vec<_> =
            families.iter().filter(|(_, gateway)| gateway.is_some()).map(|it| it.0).collect();
        let table = format!("?routing-table={}", self.effect.table);
        let mut all = Vec::new();
        for folder in folders {
            let print = format!("{folder}/route/print");
            let words = [print.as_str(), "=.proplist=.id,dst-address,comment", &table];
            let rows = self.link.command(&words, TABLE_TIMES).await;
            let rows = rows.map_err(|why| self.link.failed(&why))?;
            all.extend(rows.into_iter().map(|row| (folder, row)));
        }
        Ok(all)
    }

    /// Takes over the routes of answers that are there.
    fn restore(&mut self, rows: &[(&'static str, RouterRow)]) {
        for (_, row) in rows {
            if self.effect.owner.kind_of(row.get("comment")) != Some(EntryKind::Dynamic) {
                continue;
            }
            let target = row.get("dst-address").and_then(network);
            let end = row.get("comment").and_then(end_of);
            let (Some(to), Some(end)) = (target, end) else { continue };
            let until_s = match end {
                LeaseEnd::At(until_s) => Some(until_s),
                LeaseEnd::Never => None,
            };
            let is_known = self.leases.get(to.address).is_some();
            if to == ListedNetwork::host(to.address)
                && !is_known
                && self.leases.has_room_for(to.address)
            {
                let number = row.get(".id").map(str::to_owned);
                self.leases.put(to.address, RouteLease { until_s, number });
            }
        }
        self.is_restored = true;
    }

    /// Has the routes that are set, and removes those that were set and are no more.
    async fn put_right(
        &mut self,
        rows: Vec<(&'static str, RouterRow)>,
    ) -> Result<(), EffectFailure> {
        let mut missing = self.effect.persistent.clone();
        let mut gone = Vec::new();
        for (folder, row) in rows {
            if self.effect.owner.kind_of(row.get("comment")) != Some(EntryKind::Persistent) {
                continue;
            }
            let target = row.get("dst-address").and_then(network);
            if !target.is_some_and(|it| missing.remove(&it)) {
                gone.extend(row.get(".id").map(|number| (folder, number.to_owned())));
            }
        }
        let comment = self.effect.owner.comment(EntryKind::Persistent, None);
        for to in missing {
            self.write(to, None, &comment).await?;
        }
        for (folder, number) in gone {
            self.remove(folder, &number).await?;
        }
        Ok(())
    }

    /// The addresses that connections through the router lead to.
    async fn connected(&mut self) -> Result<HashSet<IpAddr>, EffectFailure> {
        let mut found = HashSet::new();
        for (folder, gateway) in [("/ip", &self.effect.gateway4), ("/ipv6", &self.effect.gateway6)]
        {
            if gateway.is_none() {
                continue;
            }
            let print = format!("{folder}/firewall/connection/print");
            let words = [print.as_str(), "=.proplist=dst-address"];
            let rows = self.link.command(&words, TABLE_TIMES).await;
            let rows = rows.map_err(|why| self.link.failed(&why))?;
            found.extend(rows.iter().filter_map(|row| host_of(row.get("dst-address")?)));
        }
        Ok(found)
    }

    async fn remove(&mut self, folder: &str, number: &str) -> Result<(), EffectFailure> {
        let (remove, id) = (format!("{folder}/route/remove"), format!("=.id={number}"));
        match self.link.command(&[&remove, &id], 1).await {
            // Somebody was sooner.
            Err(RouterFailure::Trap(why)) if why.contains("no such item") => Ok(()),
            Ok(_) => Ok(()),
            Err(why) => Err(self.link.failed(&why)),
        }
    }
}
