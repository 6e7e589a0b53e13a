//! `shared`: a table of one script that all cores see, with a time to live for each entry.
//!
//! It has a fixed capacity; what was not used for long makes room. It outlives a reload that keeps
//! the script's file, and no restart.

use mlua::{BString, Error, IntoLua, Lua, UserData, UserDataMethods, UserDataRegistry, Value};
use quick_cache::Weighter;
use quick_cache::unsync::Cache;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Parts with a lock each.
const SHARDS: usize = 8;
/// Bytes of all parts.
const BYTES_MAX: usize = 8 * 1024 * 1024;
const KEY_BYTES_MAX: usize = 256;
const VALUE_BYTES_MAX: usize = 64 * 1024;
/// Bytes of an entry beside its key and value.
const ENTRY_BYTES: usize = 96;
/// The longest time to live: a year.
const TTL_SECONDS_MAX: f64 = 31_536_000.0;

/// The entries of one script.
pub(crate) struct SharedTable {
    shards: [Mutex<SharedShard>; SHARDS],
    hasher: RandomState,
}

type SharedShard = Cache<Box<[u8]>, SharedEntry, EntryWeight>;

#[derive(Clone)]
struct EntryWeight;

struct SharedEntry {
    value: SharedValue,
    ends: Option<Instant>,
}

/// A value that outlives a call.
#[derive(Clone, Debug)]
pub(crate) enum SharedValue {
    Text(Box<[u8]>),
    Number(f64),
    Flag(bool),
}

impl Weighter<Box<[u8]>, SharedEntry> for EntryWeight {
    fn weight(&self, key: &Box<[u8]>, entry: &SharedEntry) -> u64 {
        (key.len() + entry.value.bytes() + ENTRY_BYTES) as u64
    }
}

impl Default for SharedTable {
    fn default() -> Self {
        let bytes = BYTES_MAX / SHARDS;
        let shard = || Mutex::new(Cache::with_weighter(bytes / 1024, bytes as u64, EntryWeight));
        Self { shards: std::array::from_fn(|_| shard()), hasher: RandomState::new() }
    }
}

impl SharedTable {
    fn shard(&self, key: &[u8]) -> MutexGuard<'_, SharedShard> {
        let shard = self.hasher.hash_one(key) as usize % SHARDS;
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, key: &[u8]) -> Option<SharedValue> {
        let mut shard = self.shard(key);
        let entry = shard.get(key)?;
        if entry.is_over(Instant::now()) {
            shard.remove(key);
            return None;
        }
        Some(entry.value.clone())
    }

    fn set(&self, key: &[u8], value: SharedValue, ends: Option<Instant>) {
        self.shard(key).insert(key.into(), SharedEntry { value, ends });
    }

    fn remove(&self, key: &[u8]) {
        self.shard(key).remove(key);
    }

    /// Adds to a number that is there, or begins at zero with the time to live given.
    fn add(&self, key: &[u8], by: f64, ends: Option<Instant>) -> Option<f64> {
        let mut shard = self.shard(key);
        let (before, ends) = match shard.get(key).filter(|entry| !entry.is_over(Instant::now())) {
            Some(SharedEntry { value: SharedValue::Number(number), ends }) => (*number, *ends),
            Some(_) => return None,
            None => (0.0, ends),
        };
        let value = SharedValue::Number(before + by);
        shard.insert(key.into(), SharedEntry { value, ends });
        Some(before + by)
    }
}

impl SharedEntry {
    fn is_over(&self, now: Instant) -> bool {
        self.ends.is_some_and(|ends| ends <= now)
    }
}

/// The object `shared` of one script.
pub(crate) struct SharedObject(pub(crate) Arc<SharedTable>);

impl UserData for SharedObject {
    fn register(registry: &mut UserDataRegistry<Self>) {
        registry.enable_namecall();
        Self::add_methods(registry);
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |_, this, key: BString| Ok(this.0.get(checked(&key)?)));
        methods.add_method("set", |_, this, (key, value, ttl): (BString, Value, Option<f64>)| {
            let key = checked(&key)?;
            match SharedValue::of(value)? {
                Some(value) => this.0.set(key, value, end_of(ttl)?),
                None => this.0.remove(key),
            }
            Ok(())
        });
        methods.add_method(
            "incr",
            |_, this, (key, by, ttl): (BString, Option<f64>, Option<f64>)| {
                let sum = this.0.add(checked(&key)?, by.unwrap_or(1.0), end_of(ttl)?);
                sum.ok_or_else(|| Error::runtime("only a number can be added to"))
            },
        );
        methods.add_method("delete", |_, this, key: BString| {
            this.0.remove(checked(&key)?);
            Ok(())
        });
    }
}

impl SharedValue {
    /// Bytes that it has beside itself.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Number(_) | Self::Flag(_) => 0,
        }
    }

    /// The value to keep; none for nil.
    pub(crate) fn of(value: Value) -> mlua::Result<Option<Self>> {
        match value {
            Value::Nil => Ok(None),
            Value::Boolean(flag) => Ok(Some(Self::Flag(flag))),
            Value::Integer(number) => Ok(Some(Self::Number(number as f64))),
            Value::Number(number) => Ok(Some(Self::Number(number))),
            Value::String(text) if text.as_bytes().len() <= VALUE_BYTES_MAX => {
                Ok(Some(Self::Text(text.as_bytes().as_ref().into())))
            }
            Value::String(_) => {
                Err(Error::runtime(format!("a shared text has at most {VALUE_BYTES_MAX} bytes")))
            }
            other => Err(Error::runtime(format!(
                "a {} cannot be shared: text, number or boolean can",
                other.type_name()
            ))),
        }
    }
}

impl IntoLua for SharedValue {
    fn into_lua(self, lua: &Lua) -> mlua::Result<Value> {
        match self {
            Self::Text(text) => lua.create_string(text).map(Value::String),
            Self::Number(number) => Ok(Value::Number(number)),
            Self::Flag(flag) => Ok(Value::Boolean(flag)),
        }
    }
}

fn checked(key: &[u8]) -> mlua::Result<&[u8]> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::runtime(format!("a shared key has at most {KEY_BYTES_MAX} bytes")));
    }
    Ok(key)
}

fn end_of(ttl: Option<f64>) -> mlua::Result<Option<Instant>> {
    let Some(seconds) = ttl else { return Ok(None) };
    if !(0.0..=TTL_SECONDS_MAX).contains(&seconds) {
        return Err(Error::runtime("a time to live is a number of seconds up to a year"));
    }
    Ok(Some(Instant::now() + Duration::from_secs_f64(seconds)))
}
