//! Purges: telling ours, doing those of others, and noticing that some were missed.

use super::stream_page::{StreamItem, items};
use super::{LiveSession, PAGE};
use crate::entry::PURGE_BYTES_MAX;
use crate::kept_place::{PurgeOrder, PurgePlace};
use crate::live_cache::PurgeMark;
use crate::scripts::PURGES_KEPT;
use crate::server::LiveFailure;
use redis::{Value, cmd};

/// Longest line and id, in bytes.
const WORD_BYTES_MAX: usize = 64;

impl LiveSession<'_> {
    /// Tells the purges that wait, in their order.
    pub(super) async fn tell_purges(&self) -> Result<(), LiveFailure> {
        let core = self.core;
        while let Some(waiting) = core.with_outbox(|outbox| outbox.next_purge()) {
            let mut add = core.scripts.add_purge.key(&core.keys.purges);
            add.key(&core.keys.purge_line).arg(format!("{:016x}", core.chance()));
            add.arg(&core.maker).arg(&waiting.what).arg(PURGES_KEPT);
            self.heard_purge.set(0);
            let number: u64 = add.invoke_async(&mut self.commands()).await?;
            self.own_purge.set(number);
            core.with_outbox(|outbox| outbox.told_purge(waiting.number));
            core.health.count_exchange(1);
            self.open_cache_again();
        }
        Ok(())
    }

    /// Opens the cache again once purges of ours have their numbers, and are done here.
    fn open_cache_again(&self) {
        let core = self.core;
        core.with_outbox(|outbox| {
            if outbox.next_purge().is_none() && self.heard_purge.get() >= self.own_purge.get() {
                core.cache.purge_is_told();
            }
        });
    }

    /// The place in the stream behind which purges are to be done.
    pub(super) fn purge_id(&self) -> String {
        self.place.borrow().purges.as_ref().map_or_else(|| "0-0".into(), |place| place.id.clone())
    }

    /// Does what was purged while this edge was away.
    pub(super) async fn catch_up_purges(&self) -> Result<(), LiveFailure> {
        let core = self.core;
        let commands = &mut self.commands();
        let mut line = cmd("HMGET");
        line.arg(&core.keys.purge_line).arg("line").arg("number");
        let (line, number): (Option<String>, Option<u64>) = line.query_async(commands).await?;
        let (line, number) = (line.unwrap_or_default(), number.unwrap_or(0));
        if line.len() > WORD_BYTES_MAX {
            return Err(LiveFailure::Answer("HMGET of the purges' line"));
        }
        let id = self.last_id(&core.keys.purges).await?;
        let now = PurgePlace { line, number, id };
        let before = self.place.borrow().purges.clone();
        let Some(before) = before else {
            // New to the fleet: nothing before it concerns it.
            self.mark_purges(&now, None).await;
            self.keep_place(now).await;
            return Ok(());
        };
        if before.line != now.line && !before.line.is_empty() || before.number > now.number {
            self.miss_purges("the server has lost its purges", now).await;
            return Ok(());
        }
        for _ in 0..=2 * PURGES_KEPT / PAGE {
            let mut read = cmd("XRANGE");
            read.arg(&core.keys.purges).arg(format!("({}", self.purge_id())).arg("+");
            let page: Value = read.arg("COUNT").arg(PAGE).query_async(commands).await?;
            let page = items(page).ok_or(LiveFailure::Answer("XRANGE"))?;
            if page.is_empty() {
                break;
            }
            self.hear_purges(page).await?;
        }
        let done = self.place.borrow().purges.as_ref().map_or(0, |it| it.number);
        if done < now.number {
            self.miss_purges("the server has forgotten purges", now).await;
            return Ok(());
        }
        let place = self.place.borrow().purges.clone();
        if let Some(place) = place {
            self.mark_purges(&place, None).await;
        }
        Ok(())
    }

    /// Does purges in their order.
    pub(super) async fn hear_purges(&self, items: Vec<StreamItem>) -> Result<(), LiveFailure> {
        for item in items {
            let field = |name: &str| item.fields.get(name).map(String::as_str);
            let before = self.place.borrow().purges.clone();
            let number = field("n").and_then(|it| it.parse().ok());
            let line = field("l").filter(|it| it.len() <= WORD_BYTES_MAX);
            let purge = field("b").filter(|it| it.len() <= PURGE_BYTES_MAX);
            let (Some(line), Some(number), Some(purge)) = (line, number, purge) else {
                // Whatever it was for is dropped, and it is not read again.
                let (line, number) =
                    before.map_or_else(Default::default, |it| (it.line, it.number));
                let place = PurgePlace { line, number, id: item.id };
                self.miss_purges("a purge cannot be read", place).await;
                continue;
            };
            let place = PurgePlace { line: line.to_owned(), number, id: item.id.clone() };
            match before.as_ref().map_or(PurgeOrder::Next, |before| before.order(line, number)) {
                PurgeOrder::Done => {
                    let id = place.id.clone();
                    let place = before.map_or(place, |before| PurgePlace { id, ..before });
                    self.keep_place(place).await;
                }
                PurgeOrder::Missed => self.miss_purges("purges were missed", place).await,
                PurgeOrder::Next => {
                    let is_own = field("e") == Some(&self.core.maker);
                    let purge = purge.to_owned();
                    // What came before it is not believed any more when it is done.
                    self.mark_purges(&place, Some(purge.clone())).await;
                    if !is_own {
                        self.core.health.count_exchange(1);
                        self.with_receiver(move |receiver| receiver.purge(&purge)).await;
                    }
                    self.keep_place(place).await;
                }
            }
        }
        Ok(())
    }

    async fn miss_purges(&self, why: &str, place: PurgePlace) {
        log::warn!(target: "fleet", "{why}: this edge drops its caches");
        self.mark_purges(&place, None).await;
        self.with_receiver(crate::LiveReceiver::purges_missed).await;
        self.keep_place(place).await;
    }

    /// Says up to where purges are done here; none for the last that is not known.
    async fn mark_purges(&self, place: &PurgePlace, purge: Option<String>) {
        let (line, number) = (place.line.clone(), place.number);
        let mark = PurgeMark { line, number };
        self.with_receiver(move |receiver| receiver.purges_at(&mark, purge.as_deref())).await;
        self.heard_purge.set(number);
        self.open_cache_again();
    }

    async fn keep_place(&self, place: PurgePlace) {
        let before = self.place.borrow_mut().purges.replace(place);
        let kept = self.place.borrow().clone();
        if kept.purges != before {
            self.core.keep(kept).await;
        }
    }
}
