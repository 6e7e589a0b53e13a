//! Settings of a filter, and what a chain of filters says about a request.
//!
//! Plain data. Read as part of a route.

use schemars::JsonSchema;
use scripting::{OnScriptError, ScriptAnswer};
use serde::{Deserialize, Serialize};
use settings::Text;
use std::ops::RangeInclusive;
use std::time::Duration;
use vocab::{ByteSize, Complaint, TimeSpan};

/// Filters of one place.
const FILTERS_MAX: usize = 16;
/// Bytes of the longest configuration.
const CONFIGURATION_BYTES_MAX: usize = 64 * 1024;
/// While a filter runs, nobody else on its core is served.
const TIME_LIMITS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_millis(100);
/// Memory of one instance.
const MEMORY_LIMITS: RangeInclusive<u64> = 1024 * 1024..=MEMORY_BYTES_MAX;
/// The most that `memory_max` may be.
pub(crate) const MEMORY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A filter in WebAssembly and how to use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WasmFilterSettings {
    /// The module, a file of at most 16 MiB; a relative path starts from the configuration's
    /// folder. No default.
    pub file: String,
    /// A text for the filter, which reads it as it starts (`proxy_on_configure`): often JSON, of at
    /// most 64 KiB. Default empty.
    pub configuration: String,
    /// The longest time that one call may take: it is ended then, as an error. From 1ms to 100ms.
    /// Default 5ms.
    pub time_limit: Text<TimeSpan>,
    /// Memory that the filter may have on each core, from 1MiB to 64MiB. Default 32MiB.
    pub memory_max: Text<ByteSize>,
    /// Treatment of a request whose filter fails: `fail` (500) or `pass` (as if there were no such
    /// filter). Default `fail`.
    pub on_error: OnScriptError,
}

/// Course of a request after its filters.
#[derive(Debug)]
pub enum FilterCourse {
    /// Goes on where it was going.
    Same,
    /// Goes on at the path that its URI has now.
    Moved,
    /// A filter has answered it.
    Answered(Box<ScriptAnswer>),
    /// A filter failed, and is set to fail its requests.
    Failed,
}

impl Default for WasmFilterSettings {
    fn default() -> Self {
        Self {
            file: String::new(),
            configuration: String::new(),
            time_limit: Text(TimeSpan(Duration::from_millis(5))),
            memory_max: Text(ByteSize(32 * 1024 * 1024)),
            on_error: OnScriptError::Fail,
        }
    }
}

impl WasmFilterSettings {
    /// Everything that is wrong with the filters of a place, as `wasm.0.file`; opens nothing.
    pub fn check_all(filters: &[Self]) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if cfg!(not(feature = "engine")) && !filters.is_empty() {
            let message = "this build has no WebAssembly";
            return vec![
                Complaint::new("wasm", message)
                    .remedy("build with cargo build --release --features wasm, or take wasm out"),
            ];
        }
        if filters.len() > FILTERS_MAX {
            complaints
                .push(Complaint::new("wasm", format!("there are at most {FILTERS_MAX} filters")));
        }
        for (index, filter) in filters.iter().enumerate() {
            let place = format!("wasm.{index}");
            complaints.extend(filter.check().into_iter().map(|why| why.under(&place)));
        }
        complaints
    }

    fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.file.is_empty() {
            complaints.push(
                Complaint::new("file", "the filter has no file").remedy("write file: filter.wasm"),
            );
        }
        if self.configuration.len() > CONFIGURATION_BYTES_MAX {
            let message = "a configuration has at most 64 KiB";
            complaints.push(Complaint::new("configuration", message));
        }
        if !TIME_LIMITS.contains(&self.time_limit.0.0) {
            complaints.push(
                Complaint::new("time_limit", "a call may take from 1ms to 100ms")
                    .remedy("write time_limit: 5ms"),
            );
        }
        if !MEMORY_LIMITS.contains(&self.memory_max.0.0) {
            complaints.push(
                Complaint::new("memory_max", "a filter may have from 1MiB to 64MiB of memory")
                    .remedy("write memory_max: 32MiB"),
            );
        }
        complaints
    }
}
