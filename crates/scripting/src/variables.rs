//! Variables of one request: what one hook sets, those after it read.
//!
//! They are kept only where a script has more than one hook to share them.

use crate::hook::ScriptHook;
use crate::shared::SharedValue;
use mlua::{Error, Value};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Variables of a request at most.
const COUNT_MAX: usize = 32;
/// Bytes of all names and values of a request.
const BYTES_MAX: usize = 16 * 1024;

/// Variables that the hooks of a script keep for one request.
#[derive(Clone, Debug, Default)]
pub struct ScriptVariables(Option<Arc<Mutex<Vec<ScriptVariable>>>>);

/// A variable and its value.
#[derive(Debug)]
struct ScriptVariable {
    name: Box<[u8]>,
    value: SharedValue,
}

impl ScriptVariables {
    /// Variables for a request of a script with these hooks.
    pub(crate) fn for_hooks(hooks: &[ScriptHook]) -> Self {
        let has = |hook: &ScriptHook| hooks.contains(hook);
        let sets = [ScriptHook::Request, ScriptHook::Upstream].iter().any(has);
        let reads = [ScriptHook::Upstream, ScriptHook::Response, ScriptHook::Log].iter().any(has);
        Self((sets && reads).then(Arc::default))
    }

    fn lock(kept: &Mutex<Vec<ScriptVariable>>) -> MutexGuard<'_, Vec<ScriptVariable>> {
        kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of a name, if it was set.
    pub(crate) fn get(&self, name: &[u8]) -> Option<SharedValue> {
        let kept = Self::lock(self.0.as_ref()?);
        kept.iter().find(|it| *it.name == *name).map(|it| it.value.clone())
    }

    /// Sets a name to a text, a number or a boolean; nil forgets it.
    pub(crate) fn set(&mut self, name: &[u8], value: Value) -> mlua::Result<()> {
        let value = SharedValue::of(value)?;
        let mut kept = Self::lock(self.0.get_or_insert_default());
        kept.retain(|it| *it.name != *name);
        let Some(value) = value else { return Ok(()) };
        let bytes = kept.iter().map(ScriptVariable::bytes).sum::<usize>();
        let variable = ScriptVariable { name: name.into(), value };
        if kept.len() == COUNT_MAX || bytes + variable.bytes() > BYTES_MAX {
            return Err(Error::runtime(format!(
                "a request has at most {COUNT_MAX} variables, of {BYTES_MAX} bytes together"
            )));
        }
        kept.push(variable);
        Ok(())
    }
}

impl ScriptVariable {
    fn bytes(&self) -> usize {
        self.name.len() + self.value.bytes()
    }
}
