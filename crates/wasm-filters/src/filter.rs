//! A filter as routes have it: compiled, with an instance a core.

use crate::compiled::CompiledModule;
use crate::filter_base::FilterBase;
use crate::instance::FilterInstance;
use crate::settings::WasmFilterSettings;
use crate::state::CallStage;
use scripting::{
    ScriptAnswer, ScriptCounts, ScriptFailure, ScriptLog, ScriptedLogEntry, ScriptedRequest,
    ScriptedResponse,
};
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use vocab::Complaint;

/// A filter of one place.
pub(crate) struct WasmFilter {
    module: Arc<CompiledModule>,
    base: Arc<FilterBase>,
    /// By core; one that is not there is made by the next call.
    instances: Box<[Mutex<Option<FilterInstance>>]>,
    numbers: AtomicU64,
}

/// The context of a request in one filter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilterContext {
    /// The core whose instance has it.
    core: usize,
    /// The instance, which may be gone by now.
    instance: u64,
    number: u32,
}

/// Outcome of a filter's look at a request.
#[derive(Default)]
pub(crate) struct FilterVerdict {
    pub(crate) is_moved: bool,
    pub(crate) answer: Option<Box<ScriptAnswer>>,
    /// True if it failed, and is set to fail its requests.
    pub(crate) is_failed: bool,
}

impl WasmFilter {
    /// Reads, compiles and starts a filter; complaints have no path. `before` is what stood in its
    /// place: shared data, metrics and counters go on where the file has the same name.
    pub(crate) fn open(
        settings: &WasmFilterSettings,
        folder: &Path,
        log: &ScriptLog,
        before: Option<&Self>,
    ) -> Result<Self, Complaint> {
        let module = CompiledModule::open(&settings.file, &folder.join(&settings.file))?;
        let before = before.map(|before| before.base.as_ref());
        let base = Arc::new(FilterBase::new(settings, log, before));
        let first = FilterInstance::start(&module, &base, 0)
            .map_err(|why| Complaint::new("", format!("{}: {why}", settings.file)))?;
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let instances: Box<[_]> = (0..cores).map(|_| Mutex::new(None)).collect();
        *instances[0].lock().unwrap_or_else(PoisonError::into_inner) = Some(first);
        Ok(Self { module, base, instances, numbers: AtomicU64::new(1) })
    }

    /// True if these settings and the module's bytes make the same filter.
    pub(crate) fn is_made_by(&self, settings: &WasmFilterSettings, folder: &Path) -> bool {
        let file = || CompiledModule::open(&settings.file, &folder.join(&settings.file));
        self.base.settings == *settings
            && file().is_ok_and(|module| Arc::ptr_eq(&module, &self.module))
    }

    pub(crate) fn name(&self) -> &str {
        self.base.name()
    }

    pub(crate) fn counts(&self) -> ScriptCounts {
        self.base.counters.counts()
    }

    fn instance(&self, core: usize) -> MutexGuard<'_, Option<FilterInstance>> {
        self.instances[core].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `run` with the request's context in its instance, or with a new one in a new instance,
    /// where the old one is gone. A fault ends the instance.
    fn call<T>(
        &self,
        context: &mut Option<FilterContext>,
        run: impl FnOnce(&mut FilterInstance, u32) -> (T, Result<(), ScriptFailure>),
    ) -> Result<T, (Option<T>, ScriptFailure)> {
        let core = context.map_or_else(|| this_core() % self.instances.len(), |it| it.core);
        let mut slot = self.instance(core);
        let made = self.enter(&mut slot, context, core);
        let (instance, number) = match made {
            Ok(number) => (slot.as_mut().expect("a context is in an instance"), number),
            Err(why) => {
                (*slot, *context) = (None, None);
                return Err((None, why));
            }
        };
        let (value, outcome) = run(instance, number);
        match outcome {
            Ok(()) => Ok(value),
            Err(why) => {
                (*slot, *context) = (None, None);
                Err((Some(value), why))
            }
        }
    }

    /// The number of the request's context in the instance of a core, either made if need be.
    fn enter(
        &self,
        slot: &mut Option<FilterInstance>,
        context: &mut Option<FilterContext>,
        core: usize,
    ) -> Result<u32, ScriptFailure> {
        let instance = if let Some(instance) = slot {
            instance
        } else {
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            slot.insert(FilterInstance::start(&self.module, &self.base, number)?)
        };
        if let Some(known) = context.filter(|known| known.instance == instance.number) {
            return Ok(known.number);
        }
        let number = instance.create_context()?;
        *context = Some(FilterContext { core, instance: instance.number, number });
        Ok(number)
    }

    pub(crate) fn on_request(
        &self,
        context: &mut Option<FilterContext>,
        request: &mut ScriptedRequest,
    ) -> FilterVerdict {
        let outcome = self.call(context, |instance, number| {
            if !instance.wants_requests() {
                return (FilterVerdict::default(), Ok(()));
            }
            std::mem::swap(&mut instance.state().message.request, request);
            let outcome = instance.on_headers(number, CallStage::Request);
            std::mem::swap(&mut instance.state().message.request, request);
            let state = instance.state();
            let (is_moved, answer) = (std::mem::take(&mut state.is_moved), state.answer.take());
            instance.take_back();
            (FilterVerdict { is_moved, answer, is_failed: false }, outcome)
        });
        match outcome {
            Ok(verdict) => {
                self.base.note(None);
                verdict
            }
            Err((left, why)) => {
                let is_moved = left.is_some_and(|left| left.is_moved);
                FilterVerdict { is_moved, answer: None, is_failed: self.base.note(Some(why)) }
            }
        }
    }

    /// True if the answer fails.
    pub(crate) fn on_response(
        &self,
        context: &mut Option<FilterContext>,
        asked: &mut ScriptedRequest,
        response: &mut ScriptedResponse,
    ) -> bool {
        let outcome = self.call(context, |instance, number| {
            if !instance.wants_responses() {
                return ((), Ok(()));
            }
            let message = &mut instance.state().message;
            std::mem::swap(&mut message.request, asked);
            std::mem::swap(&mut message.response, response);
            let outcome = instance.on_headers(number, CallStage::Response);
            let mut message = instance.take_back();
            std::mem::swap(&mut message.request, asked);
            std::mem::swap(&mut message.response, response);
            ((), outcome)
        });
        self.base.note(outcome.err().map(|(_, why)| why))
    }

    /// Tells the filter what became of a request, which ends its context.
    pub(crate) fn log(
        &self,
        context: &mut Option<FilterContext>,
        asked: &mut ScriptedRequest,
        entry: &ScriptedLogEntry,
    ) {
        self.finish(context, |instance, number| {
            let message = &mut instance.state().message;
            std::mem::swap(&mut message.request, asked);
            message.response.status = entry.status.try_into().unwrap_or_default();
            message.entry = entry.clone();
            let outcome = instance.end(number, CallStage::Log);
            let mut message = instance.take_back();
            std::mem::swap(&mut message.request, asked);
            outcome
        });
    }

    /// Ends the context of a request of which no more is known.
    pub(crate) fn end(&self, context: &mut Option<FilterContext>) {
        self.finish(context, |instance, number| instance.end(number, CallStage::Idle));
    }

    fn finish(
        &self,
        context: &mut Option<FilterContext>,
        end: impl FnOnce(&mut FilterInstance, u32) -> Result<(), ScriptFailure>,
    ) {
        // A filter that lost its context, or never had one, has nothing to end.
        let Some(known) = context.take() else { return };
        let mut slot = self.instance(known.core);
        let instance = slot.as_mut().filter(|instance| instance.number == known.instance);
        let Some(instance) = instance else { return };
        let outcome = end(instance, known.number);
        if outcome.is_err() {
            *slot = None;
        }
        drop(slot);
        self.base.note(outcome.err());
    }

    /// Bytes of memory and contexts of the instances that are there.
    #[cfg(test)]
    pub(crate) fn held(&self) -> Vec<(usize, usize)> {
        let all = (0..self.instances.len()).filter_map(|core| {
            let mut slot = self.instance(core);
            slot.as_mut().map(FilterInstance::held)
        });
        all.collect()
    }
}

/// A number of this thread: the first ones are unlike each other.
fn this_core() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static CORE: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    CORE.with(|core| *core)
}
