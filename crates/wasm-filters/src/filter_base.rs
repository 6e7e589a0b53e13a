//! The part of a filter that all of its instances share: its settings, its log, what it keeps.

use crate::filter_metrics::FilterMetrics;
use crate::settings::WasmFilterSettings;
use crate::shared_data::SharedData;
use scripting::{LimitedLog, OnScriptError, ScriptCounters, ScriptFailure, ScriptLog};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Things that a filter wants and that are not served, of which the log is told once each.
const TOLD_MAX: usize = 64;

/// Part of a filter that all of its instances share.
pub(crate) struct FilterBase {
    pub(crate) settings: WasmFilterSettings,
    pub(crate) log: LimitedLog,
    told: Mutex<BTreeSet<String>>,
    /// Kept over reloads of the file, as are metrics and counters.
    pub(crate) shared: Arc<SharedData>,
    pub(crate) metrics: Arc<FilterMetrics>,
    pub(crate) counters: Arc<ScriptCounters>,
    /// The beginning of the clock that counts from any moment.
    pub(crate) begun: Instant,
}

impl FilterBase {
    /// `before` is what stood in the filter's place: what it keeps goes on where the file has the
    /// same name.
    pub(crate) fn new(
        settings: &WasmFilterSettings,
        log: &ScriptLog,
        before: Option<&Self>,
    ) -> Self {
        let before = before.filter(|before| before.settings.file == settings.file);
        Self {
            settings: settings.clone(),
            log: LimitedLog::new(format!("filter {}", settings.file), log),
            told: Mutex::default(),
            shared: before.map_or_else(Arc::default, |before| Arc::clone(&before.shared)),
            metrics: before.map_or_else(Arc::default, |before| Arc::clone(&before.metrics)),
            counters: before.map_or_else(Arc::default, |before| Arc::clone(&before.counters)),
            begun: Instant::now(),
        }
    }

    pub(crate) const fn configuration(&self) -> &str {
        self.settings.configuration.as_str()
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.file
    }

    pub(crate) const fn time_limit(&self) -> Duration {
        self.settings.time_limit.0.0
    }

    pub(crate) const fn memory_max(&self) -> usize {
        self.settings.memory_max.0.0 as usize
    }

    /// Counts a call, tells of a fault, and says whether the request fails by it.
    pub(crate) fn note(&self, failure: Option<ScriptFailure>) -> bool {
        let is_failed = failure.is_some() && self.settings.on_error == OnScriptError::Fail;
        if let Some(failure) = &failure {
            self.log.write(&failure.message);
        }
        self.counters.count(&failure.map_or(Ok(Duration::ZERO), Err));
        is_failed
    }

    /// Tells the log of something that the filter wants in vain, once.
    pub(crate) fn tell_once(&self, words: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < TOLD_MAX && !told.contains(&words) {
            self.log.write(&words);
            told.insert(words);
        }
    }
}

/// The words of a change that is refused, told once.
pub(crate) fn refused(function: &str, why: &dyn fmt::Display) -> String {
    format!("{function} was refused: {why}")
}

/// The words of something that is not served, told once.
pub(crate) fn unserved(function: &str) -> String {
    format!("{function} is not served here, and says so")
}
