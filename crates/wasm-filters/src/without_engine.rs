//! Filters of a build that has no engine: there are none.

use crate::settings::{FilterCourse, WasmFilterSettings};
use scripting::{ScriptCounts, ScriptLog, ScriptedLogEntry, ScriptedRequest, ScriptedResponse};
use std::convert::Infallible;
use std::path::Path;
use vocab::Complaint;

/// Filters of one place.
#[derive(Clone, Debug)]
pub struct FilterChain(Infallible);

/// A request on its way through the filters.
#[derive(Clone, Debug)]
pub struct FilterVisit(Infallible);

impl FilterChain {
    /// None, or a complaint.
    pub fn open(
        filters: &[WasmFilterSettings],
        _: &Path,
        _: &ScriptLog,
        _: Option<&Self>,
    ) -> Result<Option<Self>, Complaint> {
        WasmFilterSettings::check_all(filters).into_iter().next().map_or(Ok(None), Err)
    }

    /// Never called.
    pub fn visit(&self) -> FilterVisit {
        match self.0 {}
    }

    /// Never called.
    pub fn counts(&self) -> impl Iterator<Item = (&str, ScriptCounts)> {
        match self.0 {}
        #[allow(unreachable_code, reason = "a type for what never is")]
        std::iter::empty()
    }
}

impl FilterVisit {
    /// Never called.
    pub const fn is_of(&self, _: &FilterChain) -> bool {
        match self.0 {}
    }

    /// Never called.
    pub const fn on_request(&self, _: &mut ScriptedRequest) -> FilterCourse {
        match self.0 {}
    }

    /// Never called.
    pub const fn on_response(&self, _: &mut ScriptedRequest, _: &mut ScriptedResponse) -> bool {
        match self.0 {}
    }

    /// Never called.
    pub const fn on_log(&self, _: &mut ScriptedRequest, _: &ScriptedLogEntry) {
        match self.0 {}
    }
}
