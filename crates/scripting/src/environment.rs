//! The environment of one script on one core: its globals, and the hooks that it defined there.

use crate::code::ScriptCode;
use crate::fetching;
use crate::hook::ScriptHook;
use crate::shared::SharedObject;
use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, Table, Value, Variadic};
use std::sync::{Arc, Weak};

/// A script as it is loaded on one core.
pub(crate) struct ScriptEnvironment {
    /// None once the last route that used it is gone.
    code: Weak<ScriptCode>,
    hooks: [Option<Function>; ScriptHook::ALL.len()],
}

impl ScriptEnvironment {
    /// Runs the script's own lines, which define its hooks.
    pub(crate) fn load(lua: &Lua, code: &Arc<ScriptCode>) -> mlua::Result<Self> {
        let globals = globals(lua, code)?;
        let chunk = lua.load(code.bytecode.as_slice()).set_name(format!("={}", code.name));
        chunk.set_mode(ChunkMode::Binary).set_environment(globals.clone()).exec()?;
        let mut hooks = [const { None }; ScriptHook::ALL.len()];
        for hook in ScriptHook::ALL {
            if let Value::Function(function) = globals.raw_get(hook.name())? {
                hooks[hook as usize] = Some(function);
            }
        }
        Ok(Self { code: Arc::downgrade(code), hooks })
    }

    /// The function of a hook, if the script has it.
    pub(crate) const fn hook(&self, hook: ScriptHook) -> Option<&Function> {
        self.hooks[hook as usize].as_ref()
    }

    /// True if nothing uses the script any more.
    pub(crate) fn is_unused(&self) -> bool {
        self.code.strong_count() == 0
    }
}

/// The globals of one script: its own, over those of everybody, which nobody can change.
pub(crate) fn globals(lua: &Lua, code: &Arc<ScriptCode>) -> mlua::Result<Table> {
    let globals = lua.create_table()?;
    globals.raw_set("shared", SharedObject(Arc::clone(&code.shared)))?;
    let weak = Arc::downgrade(code);
    let log = lua.create_function(move |_, parts: Variadic<Value>| {
        let words: mlua::Result<Vec<String>> = parts.iter().map(Value::to_string).collect();
        if let Some(code) = weak.upgrade() {
            code.log(&words?.join(" "));
        }
        Ok(())
    })?;
    let fetch = lua.create_function(|lua, (url, options): (String, Option<Table>)| {
        fetching::fetch(lua, url, options.as_ref())
    })?;
    globals.raw_set("fetch", fetch)?;
    globals.raw_set("log", log.clone())?;
    globals.raw_set("print", log)?;
    let below = lua.create_table()?;
    below.raw_set("__index", lua.globals())?;
    below.raw_set("__metatable", false)?;
    globals.set_metatable(Some(below))?;
    // What everybody has is read-only, so that calls of built-in functions may be short.
    globals.set_safeenv(true);
    Ok(globals)
}
