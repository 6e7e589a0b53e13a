//! The filters of one place, in their order, and a request's way through them.

use crate::filter::{FilterContext, WasmFilter};
use crate::settings::{FilterCourse, WasmFilterSettings};
use scripting::{ScriptCounts, ScriptLog, ScriptedLogEntry, ScriptedRequest, ScriptedResponse};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vocab::Complaint;

/// Filters of one place.
#[derive(Clone)]
pub struct FilterChain(Arc<[Arc<WasmFilter>]>);

/// A request on its way through the filters: in each of them it has a context, made when the filter
/// is first called for it and ended with the last of these.
#[derive(Clone)]
pub struct FilterVisit(Arc<VisitedFilters>);

struct VisitedFilters {
    chain: FilterChain,
    contexts: Mutex<Vec<Option<FilterContext>>>,
}

impl FilterChain {
    /// Reads, compiles and starts the filters of a place, relative files from `base`; nothing where
    /// there are none. `before` is what stood in its place: unchanged filters are kept with their
    /// instances. A complaint has a path relative to the place.
    pub fn open(
        filters: &[WasmFilterSettings],
        base: &Path,
        log: &ScriptLog,
        before: Option<&Self>,
    ) -> Result<Option<Self>, Complaint> {
        if let Some(why) = WasmFilterSettings::check_all(filters).into_iter().next() {
            return Err(why);
        }
        let opened = filters.iter().enumerate().map(|(index, settings)| {
            let before = before.and_then(|before| before.0.get(index));
            if let Some(before) = before.filter(|before| before.is_made_by(settings, base)) {
                return Ok(Arc::clone(before));
            }
            let opened = WasmFilter::open(settings, base, log, before.map(Arc::as_ref));
            opened.map(Arc::new).map_err(|why| why.under(&format!("wasm.{index}")))
        });
        let opened = opened.collect::<Result<Arc<[_]>, Complaint>>()?;
        Ok((!opened.is_empty()).then_some(Self(opened)))
    }

    /// The beginning of a request's way.
    pub fn visit(&self) -> FilterVisit {
        let contexts = Mutex::new(vec![None; self.0.len()]);
        FilterVisit(Arc::new(VisitedFilters { chain: self.clone(), contexts }))
    }

    /// The names of the filters' files and their counts by now.
    pub fn counts(&self) -> impl Iterator<Item = (&str, ScriptCounts)> {
        self.0.iter().map(|filter| (filter.name(), filter.counts()))
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> Vec<(usize, usize)> {
        self.0.iter().flat_map(|filter| filter.held()).collect()
    }
}

impl FilterVisit {
    /// True if this is the way through those filters.
    pub fn is_of(&self, chain: &FilterChain) -> bool {
        Arc::ptr_eq(&self.0.chain.0, &chain.0)
    }

    /// Shows the filters a request, in their order, until one answers or fails it. It is as far
    /// changed then as they came.
    pub fn on_request(&self, request: &mut ScriptedRequest) -> FilterCourse {
        let mut course = FilterCourse::Same;
        for (filter, context) in self.0.chain.0.iter().zip(self.0.contexts().iter_mut()) {
            let verdict = filter.on_request(context, request);
            if verdict.is_failed {
                return FilterCourse::Failed;
            }
            if let Some(answer) = verdict.answer {
                return FilterCourse::Answered(answer);
            }
            if verdict.is_moved {
                course = FilterCourse::Moved;
            }
        }
        course
    }

    /// Shows the filters an answer, the last first; false if one fails it. `asked` is what it is
    /// for, without its fields.
    pub fn on_response(
        &self,
        asked: &mut ScriptedRequest,
        response: &mut ScriptedResponse,
    ) -> bool {
        let mut contexts = self.0.contexts();
        let mut all = self.0.chain.0.iter().zip(contexts.iter_mut()).rev();
        all.all(|(filter, context)| !filter.on_response(context, asked, response))
    }

    /// Tells the filters what became of the request, which ends their contexts.
    pub fn on_log(&self, asked: &mut ScriptedRequest, entry: &ScriptedLogEntry) {
        for (filter, context) in self.0.chain.0.iter().zip(self.0.contexts().iter_mut()) {
            filter.log(context, asked, entry);
        }
    }
}

impl VisitedFilters {
    fn contexts(&self) -> MutexGuard<'_, Vec<Option<FilterContext>>> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for VisitedFilters {
    fn drop(&mut self) {
        let contexts = self.contexts.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (filter, context) in self.chain.0.iter().zip(contexts.iter_mut()) {
            filter.end(context);
        }
    }
}

impl fmt::Debug for FilterChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|filter| filter.name())).finish()
    }
}

impl fmt::Debug for FilterVisit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterVisit").field("chain", &self.0.chain).finish_non_exhaustive()
    }
}
