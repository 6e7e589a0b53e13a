//! Settings of a script: its file, its time limit, and what an error means.
//!
//! Plain data. Read as part of a route.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::ops::RangeInclusive;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// The longest time limit: while a hook runs, nobody else on its core is served.
const TIME_LIMIT_MAX: Duration = Duration::from_millis(100);

/// From one call of `on_timer` to the next.
const TIMER_SPAN: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(24);

/// A script in Luau: its file, or in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LuauChoice {
    /// The file; a relative path starts from the configuration's folder.
    File(String),
    /// The file with how to use it.
    Detailed(LuauSettings),
}

/// A script in Luau and how to use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LuauSettings {
    /// The file; a relative path starts from the configuration's folder. No default.
    pub file: String,
    /// The longest time that one call of a hook may take: it is ended then, as an error. From 1ms
    /// to 100ms. Default 1ms.
    pub time_limit: Text<TimeSpan>,
    /// The time from one call of `on_timer` to the next, from 1s to 1d; the first is at the start.
    /// Default 1m.
    pub timer: Text<TimeSpan>,
    /// Treatment of a request whose hook fails: `fail` (500) or `pass` (as if there were no such
    /// hook). Default `fail`.
    pub on_error: OnScriptError,
}

/// Treatments of a request whose hook fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnScriptError {
    /// The client gets 500.
    #[default]
    Fail,
    /// The request goes on as if there were no such hook.
    Pass,
}

impl Default for LuauSettings {
    fn default() -> Self {
        Self {
            file: String::new(),
            time_limit: Text(TimeSpan(Duration::from_millis(1))),
            timer: Text(TimeSpan(Duration::from_mins(1))),
            on_error: OnScriptError::Fail,
        }
    }
}

impl LuauChoice {
    /// The settings in full.
    pub fn settings(&self) -> LuauSettings {
        match self {
            Self::File(file) => LuauSettings { file: file.clone(), ..LuauSettings::default() },
            Self::Detailed(settings) => settings.clone(),
        }
    }
}

impl LuauSettings {
    /// Everything that is wrong with them; opens nothing.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.file.is_empty() {
            complaints.push(
                Complaint::new("file", "the script has no file").remedy("write file: hello.luau"),
            );
        }
        let limit = self.time_limit.0.0;
        if limit < Duration::from_millis(1) || limit > TIME_LIMIT_MAX {
            complaints.push(
                Complaint::new("time_limit", "a hook may take from 1ms to 100ms")
                    .remedy("write time_limit: 1ms"),
            );
        }
        if !TIMER_SPAN.contains(&self.timer.0.0) {
            complaints.push(
                Complaint::new("timer", "on_timer is called every 1s to 1d")
                    .remedy("write timer: 1m"),
            );
        }
        complaints
    }
}
