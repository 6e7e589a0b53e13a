//! Entries: telling ours, and hearing those of others.

use super::LiveSession;
use super::stream_page::StreamItem;
use crate::entry::{ENTRY_BYTES_MAX, STORED_BYTES_MAX, SharedEntry, StoredEntry, left_ms};
use crate::outbox::WaitingItem;
use crate::scripts::ENTRIES_MAX;
use crate::server::LiveFailure;
use std::collections::HashSet;
use std::sync::Arc;

/// Entries that are read at once.
const PAGE: usize = 64;
/// Pages that all entries have at most: a server that has more is not believed.
const PAGES_MAX: usize = 4096;
/// Age of an entry that is to be taken only where there is none.
const NEVER_NEWER: i64 = -1;

impl LiveSession<'_> {
    /// Tells the entries that wait, the oldest first.
    pub(super) async fn tell_entries(&self) -> Result<(), LiveFailure> {
        while let Some(waiting) = self.core.with_outbox(|outbox| outbox.next_entry()) {
            let now = (self.core.clock)();
            let age = now.mono_ms.saturating_sub(waiting.made.mono_ms);
            self.put(&waiting.what, age.min(i64::MAX as u64).cast_signed(), Some(&waiting)).await?;
        }
        Ok(())
    }

    /// Puts an entry, and hears the newer one if there is one.
    async fn put(
        &self,
        entry: &SharedEntry,
        age_ms: i64,
        waiting: Option<&WaitingItem<SharedEntry>>,
    ) -> Result<(), LiveFailure> {
        let core = self.core;
        let text = entry.said.as_ref().map_or("", |said| &*said.text);
        let mut put = core.scripts.put_entry.key(&core.keys.entries);
        put.key(&core.keys.changes).arg(&entry.key).arg(text);
        put.arg(left_ms(entry, (core.clock)().unix_ms)).arg(age_ms);
        put.arg(&core.maker).arg(ENTRIES_MAX);
        let (taken, held): (i64, String) = put.invoke_async(&mut self.commands()).await?;
        core.health.count_exchange(1);
        if let Some(waiting) = waiting {
            core.with_outbox(|outbox| outbox.told_entry(waiting));
        }
        match taken {
            1 => {
                if let Some(held) = StoredEntry::parse(&held) {
                    self.made.borrow_mut().insert(entry.key.clone(), held.made_ms);
                }
            }
            0 => self.hear(&entry.key, &held).await,
            _ => log::warn!(
                target: "fleet",
                "the server holds {ENTRIES_MAX} entries: {} is not told to the other edges",
                entry.key
            ),
        }
        Ok(())
    }

    /// Hears everything that the server holds, and gives it what this edge has and it has not.
    pub(super) async fn hear_all_entries(&self) -> Result<(), LiveFailure> {
        let core = self.core;
        let mut all = HashSet::new();
        let mut cursor = "0".to_owned();
        for _ in 0..PAGES_MAX {
            let mut page = core.scripts.page_entries.key(&core.keys.entries);
            page.arg(&cursor).arg(PAGE).arg(ENTRY_BYTES_MAX).arg(STORED_BYTES_MAX);
            let (next, entries): (String, Vec<(String, String)>) =
                page.invoke_async(&mut self.commands()).await?;
            for (key, stored) in entries {
                self.hear_held(&key, &stored).await?;
                all.insert(key);
            }
            if all.len() > 2 * ENTRIES_MAX {
                break;
            }
            if next == "0" {
                return self.give_held(&all).await;
            }
            cursor = next;
        }
        Err(LiveFailure::TooMany("entries"))
    }

    /// Hears an entry that the server holds, or has it forget what nobody needs any more.
    async fn hear_held(&self, key: &str, stored: &str) -> Result<(), LiveFailure> {
        match StoredEntry::parse(stored) {
            Some(entry) if !entry.is_forgotten(self.server_ms.get()) => {
                self.hear(key, stored).await;
            }
            _ => {
                let mut drop = self.core.scripts.drop_entry.key(&self.core.keys.entries);
                let drop = drop.arg(key).arg(stored);
                let _: i64 = drop.invoke_async(&mut self.commands()).await?;
            }
        }
        Ok(())
    }

    /// Gives the server the entries that hold here and that it has not.
    async fn give_held(&self, all: &HashSet<String>) -> Result<(), LiveFailure> {
        let receiver = Arc::clone(&self.core.receiver);
        let held = tokio::task::spawn_blocking(move || receiver.held()).await.unwrap_or_default();
        for entry in held.into_iter().filter(|it| !all.contains(&it.key)) {
            self.put(&entry, NEVER_NEWER, None).await?;
        }
        Ok(())
    }

    /// Hears a change that came in the stream.
    pub(super) async fn hear_change(&self, item: &StreamItem) {
        if let (Some(key), Some(stored)) = (item.fields.get("k"), item.fields.get("v")) {
            self.hear(key, stored).await;
        }
    }

    /// Hears an entry, unless it is our own or an older one than is known.
    async fn hear(&self, key: &str, stored: &str) {
        let Some(heard) = StoredEntry::parse(stored) else { return };
        if key.len() > ENTRY_BYTES_MAX || self.core.with_outbox(|outbox| outbox.has_entry(key)) {
            return;
        }
        let known = self.made.borrow().get(key).copied().unwrap_or(0);
        let is_known = self.made.borrow().len() < 2 * ENTRIES_MAX || known > 0;
        if heard.made_ms < known || heard.maker == self.core.maker || !is_known {
            return;
        }
        self.made.borrow_mut().insert(key.to_owned(), heard.made_ms);
        self.core.health.count_exchange(1);
        let entry = heard.entry(key, self.ahead_ms.get());
        self.with_receiver(move |receiver| receiver.entry(&entry)).await;
    }
}
