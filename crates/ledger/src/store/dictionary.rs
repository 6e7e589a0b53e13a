//! Words that rows refer to by number: names, clients, rules.
//!
//! A bounded memory of the latest ones spares most look-ups; at its cap it is emptied, which costs
//! time and nothing else. Used by the store's writing side.

use rusqlite::{Connection, OptionalExtension, Result, params};
use std::collections::HashMap;

/// Words remembered of each kind.
const REMEMBERED_MAX: usize = 16_384;

/// All dictionaries.
#[derive(Default)]
pub(super) struct WordDictionaries {
    pub(super) names: WordDictionary,
    pub(super) clients: WordDictionary,
}

/// One dictionary of plain words.
#[derive(Default)]
pub(super) struct WordDictionary {
    cached: HashMap<Box<str>, KnownWords>,
}

#[derive(Clone, Copy)]
struct KnownWords {
    id: i64,
    last_hour: i64,
}

/// The statements of one dictionary.
pub(super) struct WordStatements {
    find: &'static str,
    add: &'static str,
    touch: &'static str,
}

pub(super) const NAMES: WordStatements = WordStatements {
    find: "SELECT id, last_hour FROM names WHERE text = ?1",
    add: "INSERT INTO names (text, last_hour) VALUES (?1, ?2)",
    touch: "UPDATE names SET last_hour = ?2 WHERE id = ?1",
};

pub(super) const CLIENTS: WordStatements = WordStatements {
    find: "SELECT id, last_hour FROM clients WHERE text = ?1",
    add: "INSERT INTO clients (text, last_hour) VALUES (?1, ?2)",
    touch: "UPDATE clients SET last_hour = ?2 WHERE id = ?1",
};

impl WordDictionaries {
    /// Forgets what it remembered: numbers may have been deleted, or rolled back.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl WordDictionary {
    /// The number of a word that is used in `hour`; a new word gets one.
    pub(super) fn id(
        &mut self,
        connection: &Connection,
        words: &WordStatements,
        text: &str,
        hour: i64,
    ) -> Result<i64> {
        if let Some(known) = self.cached.get_mut(text) {
            touch(connection, words, known, hour)?;
            return Ok(known.id);
        }
        let found = connection
            .prepare_cached(words.find)?
            .query_row([text], |row| Ok(KnownWords { id: row.get(0)?, last_hour: row.get(1)? }))
            .optional()?;
        let known = if let Some(mut known) = found {
            touch(connection, words, &mut known, hour)?;
            known
        } else {
            let id = connection.prepare_cached(words.add)?.insert(params![text, hour])?;
            KnownWords { id, last_hour: hour }
        };
        if self.cached.len() >= REMEMBERED_MAX {
            self.cached.clear();
        }
        self.cached.insert(text.into(), known);
        Ok(known.id)
    }
}

/// Notes the hour of use, once an hour.
fn touch(
    connection: &Connection,
    words: &WordStatements,
    known: &mut KnownWords,
    hour: i64,
) -> Result<()> {
    if known.last_hour < hour {
        connection.prepare_cached(words.touch)?.execute(params![known.id, hour])?;
        known.last_hour = hour;
    }
    Ok(())
}

/// The number of a rule's text, as the policy told it.
pub(super) fn rule_id(
    connection: &Connection,
    list: &str,
    line: u32,
    text: &str,
    hour: i64,
) -> Result<i64> {
    connection
        .prepare_cached(
            "INSERT INTO rules (list, line, text, last_hour) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (list, line, text) DO UPDATE SET last_hour = max(last_hour, ?4)
             RETURNING id",
        )?
        .query_row(params![list, line, text, hour], |row| row.get(0))
}
