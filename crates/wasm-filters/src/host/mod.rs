//! Functions that a filter may call: those of proxy-wasm and the few of WASI that compilers bring
//! in.
//!
//! All numbers that a filter gives are hostile: places are held against its memory, lengths against
//! limits. A place outside the memory ends the call; a wish that cannot be fulfilled is answered
//! with a status of the ABI.

mod data;
mod fields;
mod guest;
mod messages;
mod properties;
mod wasi;

use crate::filter_base::unserved;
use crate::state::HostState;
use guest::{ABI, HostStatus};
use std::fmt;
use wasmtime::{Engine, ExternType, Linker, Module, Val, ValType};

/// Functions of the ABI that are there and say that they are not served.
const UNSERVED: [&str; 17] = [
    "proxy_call_foreign_function",
    "proxy_close_stream",
    "proxy_dequeue_shared_queue",
    "proxy_enqueue_shared_queue",
    "proxy_get_buffer_status",
    "proxy_get_status",
    "proxy_grpc_call",
    "proxy_grpc_cancel",
    "proxy_grpc_close",
    "proxy_grpc_send",
    "proxy_grpc_stream",
    "proxy_http_call",
    "proxy_register_shared_queue",
    "proxy_resolve_shared_queue",
    "proxy_set_buffer_bytes",
    "proxy_set_property",
    "proxy_set_tick_period_milliseconds",
];

/// A module that cannot be linked.
#[derive(Debug)]
pub(crate) enum LinkTrouble {
    /// Arguments of an import that are not the function's.
    Shape { name: String },
    /// The engine's own words.
    Engine(wasmtime::Error),
}

impl fmt::Display for LinkTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { name } => write!(f, "imports {name} with arguments that it has not"),
            Self::Engine(why) => write!(f, "cannot be linked: {why:#}"),
        }
    }
}

/// The functions that a module imports.
pub(crate) fn linker(engine: &Engine, module: &Module) -> Result<Linker<HostState>, LinkTrouble> {
    let mut linker = Linker::new(engine);
    let defined = messages::define(&mut linker)
        .and_then(|()| fields::define(&mut linker))
        .and_then(|()| properties::define(&mut linker))
        .and_then(|()| data::define(&mut linker))
        .and_then(|()| wasi::define(&mut linker));
    defined.map_err(LinkTrouble::Engine)?;
    for import in module.imports() {
        let (place, name) = (import.module(), import.name());
        if place == ABI
            && UNSERVED.contains(&name)
            && let ExternType::Func(wanted) = import.ty()
        {
            let is_status = wanted.results().len() == 1
                && wanted.results().all(|result| matches!(result, ValType::I32));
            if !is_status {
                return Err(LinkTrouble::Shape { name: name.into() });
            }
            let words = unserved(name);
            let made = linker.func_new(place, name, wanted, move |caller, _, results| {
                caller.data().base.tell_once(words.clone());
                results[0] = Val::I32(HostStatus::Unimplemented as i32);
                Ok(())
            });
            made.map_err(LinkTrouble::Engine)?;
        }
    }
    Ok(linker)
}
