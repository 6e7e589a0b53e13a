//! A module: read, compiled, and known to want nothing that is not served.

use crate::engine::FilterEngine;
use crate::host;
use crate::state::HostState;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use vocab::Complaint;
use wasmtime::{ExternType, InstancePre, Module, UnknownImportError};

/// Bytes of the longest module.
const MODULE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Modules that are kept compiled though nothing uses them: `check` and then the door read each.
const KEPT_MAX: usize = 8;
/// Versions of the ABI, by the function that says it.
const VERSIONS: [&str; 2] = ["proxy_abi_version_0_2_1", "proxy_abi_version_0_2_0"];

/// A compiled module.
pub(crate) struct CompiledModule {
    bytes: Vec<u8>,
    pub(crate) instances: InstancePre<HostState>,
}

static KEPT: Mutex<Vec<Arc<CompiledModule>>> = Mutex::new(Vec::new());

impl CompiledModule {
    /// Reads and compiles a file, or takes what was compiled of the same bytes. Complaints have no
    /// path.
    pub(crate) fn open(name: &str, path: &Path) -> Result<Arc<Self>, Complaint> {
        let cannot = |why: &dyn std::fmt::Display| {
            Complaint::new("", format!("{} cannot be read: {why}", path.display())).remedy(
                "name a file of WebAssembly below the configuration's folder, or by its full path",
            )
        };
        let length = fs::metadata(path).map_err(|why| cannot(&why))?.len();
        if length > MODULE_BYTES_MAX {
            return Err(cannot(&format!("it has {length} bytes, and at most 16 MiB is read")));
        }
        let bytes = fs::read(path).map_err(|why| cannot(&why))?;
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = kept.iter().position(|module| module.bytes == bytes) {
            let module = kept.remove(index);
            kept.push(Arc::clone(&module));
            return Ok(module);
        }
        let module = Arc::new(Self::compile(name, bytes)?);
        if kept.len() == KEPT_MAX {
            kept.remove(0);
        }
        kept.push(Arc::clone(&module));
        Ok(module)
    }

    fn compile(name: &str, bytes: Vec<u8>) -> Result<Self, Complaint> {
        let engine = &FilterEngine::get()?.engine;
        let refused = |why: String| Complaint::new("", format!("{name} {why}"));
        let module = Module::from_binary(engine, &bytes)
            .map_err(|why| refused(format!("is no module that runs here: {why:#}")))?;
        let has = |wanted: &str| module.exports().any(|export| export.name() == wanted);
        if !VERSIONS.into_iter().any(has) {
            return Err(refused("is no filter of proxy-wasm 0.2".to_owned()).remedy(
                "take a filter that exports proxy_abi_version_0_2_1 or proxy_abi_version_0_2_0",
            ));
        }
        if !matches!(module.get_export("memory"), Some(ExternType::Memory(_))) {
            return Err(refused("exports no memory".to_owned()));
        }
        let linker = host::linker(engine, &module).map_err(|why| refused(why.to_string()))?;
        let instances = linker.instantiate_pre(&module).map_err(|why| {
            refused(match why.downcast_ref::<UnknownImportError>() {
                Some(import) => format!(
                    "imports {} of {}, which is not served here",
                    import.name(),
                    import.module()
                ),
                None => format!("cannot be linked: {why:#}"),
            })
        })?;
        Ok(Self { bytes, instances })
    }
}
