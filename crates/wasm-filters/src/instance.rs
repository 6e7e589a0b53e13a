//! One instance of a filter: its exports, called with contexts of requests.

use crate::compiled::CompiledModule;
use crate::engine::{self, FilterEngine};
use crate::fault::{FilterFault, failure};
use crate::filter_base::FilterBase;

use crate::state::{CallStage, HostState, LentMessage};
use scripting::ScriptFailure;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::{Instance, Store, TypedFunc, WasmParams, WasmResults};

/// The context of the filter itself.
const ROOT: u32 = 1;
/// Time for the calls by which an instance starts, once a core and reload.
const START_TIME_MAX: Duration = Duration::from_millis(100);
/// The action by which a request goes on; all others hold it back.
const CONTINUE: u32 = 0;

/// A live instance.
pub(crate) struct FilterInstance {
    store: Store<HostState>,
    exports: FilterExports,
    /// Unlike any other's of this filter.
    pub(crate) number: u64,
    last_context: u32,
}

/// Functions of a filter; it has those that it wants.
struct FilterExports {
    context_create: Option<TypedFunc<(u32, u32), ()>>,
    request_headers: Option<TypedFunc<(u32, u32, u32), u32>>,
    response_headers: Option<TypedFunc<(u32, u32, u32), u32>>,
    done: Option<TypedFunc<u32, u32>>,
    log: Option<TypedFunc<u32, ()>>,
    delete: Option<TypedFunc<u32, ()>>,
}

const ON_CONTEXT_CREATE: &str = "proxy_on_context_create";
const ON_REQUEST_HEADERS: &str = "proxy_on_request_headers";
const ON_RESPONSE_HEADERS: &str = "proxy_on_response_headers";
const ON_DONE: &str = "proxy_on_done";
const ON_LOG: &str = "proxy_on_log";
const ON_DELETE: &str = "proxy_on_delete";

/// A function of `instance`; none where it has no such, an error where that takes something else.
fn typed<P: WasmParams, R: WasmResults>(
    store: &mut Store<HostState>,
    instance: &Instance,
    name: &str,
) -> Result<Option<TypedFunc<P, R>>, ScriptFailure> {
    match instance.get_func(&mut *store, name) {
        None => Ok(None),
        Some(function) => function.typed(&*store).map(Some).map_err(|why| failure(name, &why)),
    }
}

impl FilterExports {
    fn of(store: &mut Store<HostState>, instance: &Instance) -> Result<Self, ScriptFailure> {
        Ok(Self {
            context_create: typed(store, instance, ON_CONTEXT_CREATE)?,
            request_headers: typed(store, instance, ON_REQUEST_HEADERS)?,
            response_headers: typed(store, instance, ON_RESPONSE_HEADERS)?,
            done: typed(store, instance, ON_DONE)?,
            log: typed(store, instance, ON_LOG)?,
            delete: typed(store, instance, ON_DELETE)?,
        })
    }
}

/// A call: of which function, for which context, for how long at most.
#[derive(Clone, Copy)]
struct CallPlace {
    name: &'static str,
    context: u32,
    limit: Duration,
}

impl CallPlace {
    const fn of(name: &'static str, context: u32, limit: Duration) -> Self {
        Self { name, context, limit }
    }
}

/// Calls one function, if it is there, under its limits.
fn call<P: WasmParams, R: WasmResults>(
    store: &mut Store<HostState>,
    function: Option<&TypedFunc<P, R>>,
    place: CallPlace,
    arguments: P,
) -> Result<Option<R>, ScriptFailure> {
    let Some(function) = function else { return Ok(None) };
    let CallPlace { name, context, limit } = place;
    store.data_mut().begin(context, limit.as_millis() as u32);
    store.set_epoch_deadline(1);
    if let Ok(engine) = FilterEngine::get() {
        engine.note_call();
    }
    function.call(&mut *store, arguments).map(Some).map_err(|why| failure(name, &why))
}

impl FilterInstance {
    /// Makes an instance and has it start: its own beginning, the root context, and what it is
    /// configured with.
    pub(crate) fn start(
        module: &CompiledModule,
        base: &Arc<FilterBase>,
        number: u64,
    ) -> Result<Self, ScriptFailure> {
        let pre = &module.instances;
        let mut store = Store::new(pre.module().engine(), HostState::new(Arc::clone(base)));
        store.limiter(|state| state);
        engine::watch(&mut store);
        store.data_mut().begin(0, START_TIME_MAX.as_millis() as u32);
        store.set_epoch_deadline(1);
        let made = pre.instantiate(&mut store);
        let instance = made.map_err(|why| failure("its instance", &why))?;
        store.data_mut().memory = instance.get_memory(&mut store, "memory");
        let mut allocate = typed(&mut store, &instance, "proxy_on_memory_allocate")?;
        if allocate.is_none() {
            allocate = typed(&mut store, &instance, "malloc")?;
        }
        store.data_mut().allocate = allocate;
        let exports = FilterExports::of(&mut store, &instance)?;
        let mut started = Self { store, exports, number, last_context: ROOT };
        started.configure(&instance)?;
        Ok(started)
    }

    fn configure(&mut self, instance: &Instance) -> Result<(), ScriptFailure> {
        let store = &mut self.store;
        let begun = typed::<(), ()>(store, instance, "_initialize")?;
        let begun = match begun {
            Some(function) => Some(("_initialize", function)),
            None => typed(store, instance, "_start")?.map(|function| ("_start", function)),
        };
        if let Some((name, function)) = begun {
            call(store, Some(&function), CallPlace::of(name, 0, START_TIME_MAX), ())?;
        }
        let place = CallPlace::of(ON_CONTEXT_CREATE, ROOT, START_TIME_MAX);
        let create = self.exports.context_create.as_ref();
        call(store, create, place, (ROOT, 0))?;
        store.data_mut().contexts.insert(ROOT);
        let length = store.data().base.configuration().len() as u32;
        for (name, length) in [("proxy_on_vm_start", 0), ("proxy_on_configure", length)] {
            let function = typed::<(u32, u32), u32>(store, instance, name)?;
            let place = CallPlace::of(name, ROOT, START_TIME_MAX);
            let is_willing = call(store, function.as_ref(), place, (ROOT, length))?;
            if is_willing == Some(0) {
                return Err(failure(name, &FilterFault::Refused.into()));
            }
        }
        Ok(())
    }

    fn limit(&self) -> Duration {
        self.store.data().base.time_limit()
    }

    /// Makes a context for a request.
    pub(crate) fn create_context(&mut self) -> Result<u32, ScriptFailure> {
        let mut context = self.last_context.checked_add(1).unwrap_or(ROOT + 1);
        while self.store.data().contexts.contains(&context) {
            context = context.checked_add(1).unwrap_or(ROOT + 1);
        }
        self.last_context = context;
        let (create, limit) = (self.exports.context_create.as_ref(), self.limit());
        let place = CallPlace::of(ON_CONTEXT_CREATE, context, limit);
        call(&mut self.store, create, place, (context, ROOT))?;
        self.store.data_mut().contexts.insert(context);
        Ok(context)
    }

    /// True if the filter looks at requests.
    pub(crate) const fn wants_requests(&self) -> bool {
        self.exports.request_headers.is_some()
    }

    /// True if the filter looks at answers.
    pub(crate) const fn wants_responses(&self) -> bool {
        self.exports.response_headers.is_some()
    }

    /// Calls `proxy_on_request_headers` or `proxy_on_response_headers`. The state has the message
    /// until [`FilterInstance::take_back`].
    pub(crate) fn on_headers(
        &mut self,
        context: u32,
        stage: CallStage,
    ) -> Result<(), ScriptFailure> {
        let limit = self.limit();
        let (name, function, fields) = if stage == CallStage::Response {
            let fields = self.store.data().message.response.headers.len() + 1;
            (ON_RESPONSE_HEADERS, &self.exports.response_headers, fields)
        } else {
            let fields = self.store.data().message.request.headers.len() + 4;
            (ON_REQUEST_HEADERS, &self.exports.request_headers, fields)
        };
        self.store.data_mut().stage = stage;
        // As if there were no body: no filter waits for one that it is not shown.
        let arguments = (context, fields as u32, 1);
        let action = call(
            &mut self.store,
            function.as_ref(),
            CallPlace::of(name, context, limit),
            arguments,
        )?;
        if action.is_some_and(|action| action != CONTINUE) && self.store.data().answer.is_none() {
            return Err(failure(name, &FilterFault::Paused.into()));
        }
        Ok(())
    }

    /// Calls `proxy_on_done`, `proxy_on_log` and `proxy_on_delete`: the context is gone then. `log`
    /// is the stage of the second, where the end of the request is known.
    pub(crate) fn end(&mut self, context: u32, log: CallStage) -> Result<(), ScriptFailure> {
        let (limit, store) = (self.limit(), &mut self.store);
        store.data_mut().stage = log;
        call(store, self.exports.done.as_ref(), CallPlace::of(ON_DONE, context, limit), context)?;
        call(store, self.exports.log.as_ref(), CallPlace::of(ON_LOG, context, limit), context)?;
        store.data_mut().stage = CallStage::Idle;
        call(
            store,
            self.exports.delete.as_ref(),
            CallPlace::of(ON_DELETE, context, limit),
            context,
        )?;
        store.data_mut().contexts.remove(&context);
        Ok(())
    }

    /// The state, to lend it a message.
    pub(crate) fn state(&mut self) -> &mut HostState {
        self.store.data_mut()
    }

    /// The message as the call left it; nothing is lent any more.
    pub(crate) fn take_back(&mut self) -> LentMessage {
        let state = self.store.data_mut();
        state.stage = CallStage::Idle;
        state.changes_made = 0;
        std::mem::take(&mut state.message)
    }

    /// Bytes of its memory, and contexts beside the root.
    #[cfg(test)]
    pub(crate) fn held(&mut self) -> (usize, usize) {
        let memory = self.store.data().memory.expect("a module exports its memory");
        (memory.data_size(&self.store), self.store.data().contexts.len() - 1)
    }
}
