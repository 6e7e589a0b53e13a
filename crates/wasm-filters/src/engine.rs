//! The engine of all filters, and the clock that its time limits are counted by.
//!
//! Memory of instances comes from a pool that is reserved once, so that no number of filters and
//! cores takes more than that. The clock ticks while filters are called and rests otherwise: an
//! idle machine is not woken.

use crate::settings::MEMORY_BYTES_MAX;
use crate::state::HostState;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;
use vocab::Complaint;
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, UpdateDeadline,
    WasmFeatures,
};

/// Instances of all filters on all cores.
const INSTANCES_MAX: u32 = 1024;
/// Entries of an instance's table of functions.
const TABLE_ENTRIES_MAX: usize = 20_000;
/// Tables of one module.
const TABLES_MAX: u32 = 4;
/// Bytes of stack that a call may use, of the 2 MiB that a thread has.
const STACK_BYTES_MAX: usize = 256 * 1024;
/// Unit of time limits.
const TICK: Duration = Duration::from_millis(1);
/// Ticks without a call after which the clock rests; longer than any time limit.
const IDLE_TICKS: u64 = 1000;

/// The engine with its clock.
pub(crate) struct FilterEngine {
    pub(crate) engine: Engine,
    clock: Thread,
}

/// Ticks so far.
static TICKS: AtomicU64 = AtomicU64::new(0);
/// The tick of the last call.
static CALLED: AtomicU64 = AtomicU64::new(0);
static RESTS: AtomicBool = AtomicBool::new(false);

impl FilterEngine {
    /// The engine, made by whoever asks first.
    pub(crate) fn get() -> Result<&'static Self, Complaint> {
        static ENGINE: OnceLock<Result<FilterEngine, Complaint>> = OnceLock::new();
        let made = ENGINE.get_or_init(|| {
            Self::start()
                .map_err(|why| Complaint::new("", format!("WebAssembly cannot run here: {why:#}")))
        });
        made.as_ref().map_err(Complaint::clone)
    }

    fn start() -> wasmtime::Result<Self> {
        let mut pool = PoolingAllocationConfig::default();
        pool.total_core_instances(INSTANCES_MAX)
            .total_memories(INSTANCES_MAX)
            .total_tables(INSTANCES_MAX * TABLES_MAX)
            .max_tables_per_module(TABLES_MAX)
            .max_memories_per_module(1)
            .table_elements(TABLE_ENTRIES_MAX)
            .max_memory_size(MEMORY_BYTES_MAX as usize);
        let mut config = Config::new();
        // Bounds are checked by code, not by signals: those are the whole process's, and the
        // reservation is no larger than what may be used.
        config
            .signals_based_traps(false)
            .memory_reservation(MEMORY_BYTES_MAX)
            .memory_guard_size(0)
            .memory_init_cow(false)
            .max_wasm_stack(STACK_BYTES_MAX)
            .epoch_interruption(true)
            .wasm_features(WasmFeatures::MULTI_MEMORY | WasmFeatures::MEMORY64, false)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config)?;
        let ticking = engine.clone();
        let clock = thread::Builder::new().name("wasm-clock".to_owned()).spawn(move || {
            loop {
                tick(&ticking);
            }
        })?;
        Ok(Self { engine, clock: clock.thread().clone() })
    }

    /// Has the clock tick, for the call that begins now.
    pub(crate) fn note_call(&self) {
        let now = TICKS.load(Ordering::Relaxed);
        if CALLED.load(Ordering::Relaxed) != now {
            CALLED.store(now, Ordering::SeqCst);
        }
        if RESTS.load(Ordering::SeqCst) && RESTS.swap(false, Ordering::SeqCst) {
            self.clock.unpark();
        }
    }
}

/// One tick, or a rest until the next call. A call notes itself before it looks whether the clock
/// rests, and the clock says that it rests before it looks for calls: one of the two sees the
/// other.
fn tick(engine: &Engine) {
    let idle =
        || TICKS.load(Ordering::Relaxed).saturating_sub(CALLED.load(Ordering::SeqCst)) > IDLE_TICKS;
    if idle() {
        RESTS.store(true, Ordering::SeqCst);
        while idle() && RESTS.load(Ordering::SeqCst) {
            thread::park();
        }
        RESTS.store(false, Ordering::SeqCst);
        // Whoever called while it rested noted a tick of long ago.
        CALLED.store(TICKS.load(Ordering::Relaxed), Ordering::SeqCst);
    }
    thread::sleep(TICK);
    TICKS.fetch_add(1, Ordering::Relaxed);
    engine.increment_epoch();
}

/// Has calls in this store ended by their time: the state counts the ticks that a call saw. A core
/// that had other work sees one, however long that took.
pub(crate) fn watch(store: &mut Store<HostState>) {
    store.epoch_deadline_callback(|mut context| {
        context.data_mut().spend_tick()?;
        Ok(UpdateDeadline::Continue(1))
    });
}
