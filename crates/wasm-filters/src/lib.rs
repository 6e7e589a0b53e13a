//! Filters in WebAssembly that look at requests and answers: `wasm:` of a route, by the HTTP subset
//! of proxy-wasm 0.2.1.
//!
//! A [`FilterChain`] is read and compiled at `check` and at a reload. Each core has one instance of
//! a filter, in which every request has a context of its own, from its head to its end. A call has
//! a time limit and an instance a memory limit. One that traps is thrown away, and the next call
//! finds a new one: a faulty filter fails its own requests and nothing else. Behind a filter there
//! is nothing of the machine: no files, no environment, no sockets.
//!
//! The engine is there with the feature `engine`; without it, settings are read and refused. Used
//! by the doors through `http-front`. Bodies, calls to servers, queues and timers are not served.

#[cfg(feature = "engine")]
mod chain;
#[cfg(feature = "engine")]
mod compiled;
#[cfg(feature = "engine")]
mod engine;
#[cfg(feature = "engine")]
mod fault;
#[cfg(feature = "engine")]
mod filter;
#[cfg(feature = "engine")]
mod filter_base;
#[cfg(feature = "engine")]
mod filter_metrics;
pub mod guest_span;
#[cfg(feature = "engine")]
mod host;
#[cfg(feature = "engine")]
mod instance;
pub mod pairs;
mod settings;
#[cfg(feature = "engine")]
mod shared_data;
#[cfg(feature = "engine")]
mod state;
#[cfg(not(feature = "engine"))]
mod without_engine;

#[cfg(feature = "engine")]
pub use chain::{FilterChain, FilterVisit};
pub use settings::{FilterCourse, WasmFilterSettings};
#[cfg(not(feature = "engine"))]
pub use without_engine::{FilterChain, FilterVisit};

#[cfg(all(test, feature = "engine"))]
mod tests;
