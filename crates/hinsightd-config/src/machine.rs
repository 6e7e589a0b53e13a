//! The virtual machine in which a configuration of hinsightd runs once, and is asked what it does.
//!
//! It has hinsightd's function names, and no way to the machine but the files that
//! [`HinsightdDisk`] hands out.

use crate::{HINSIGHTD_LUAU, HinsightdDisk, HinsightdFailure, SURVEY_LUAU};
use mlua::{Error, Function, Lua, LuaOptions, LuaString, StdLib, Table, Value, VmState};
use serde_json::{Map, Value as Json};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Bytes that the configuration may hold while it is read.
const MEMORY_MAX: usize = 64 << 20;
/// Time that all of it may take.
const TIME_MAX: Duration = Duration::from_secs(5);
/// Files that it may include.
const FILES_MAX: usize = 256;
/// Depth of tables that are read from it.
const DEPTH_MAX: usize = 16;
/// Numbers up to this have no gaps.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
/// Notes that are kept.
const NOTES_MAX: usize = 100;

/// Deeds of a configuration, and what it read.
#[derive(Default)]
pub(crate) struct ConfigSurvey {
    /// Texts of the files that it included, by the names that it used.
    pub(crate) files: BTreeMap<String, String>,
    /// Names in the folders that it listed, by the names that it used.
    pub(crate) folders: BTreeMap<String, Vec<String>>,
    /// Remarks from the way, each once.
    pub(crate) notes: Vec<String>,
    /// Sites, as `survey.luau` tells of them.
    pub(crate) told: Json,
}

/// Runs the file `main`, and asks it about paths of all kinds.
pub(crate) fn survey(
    main: &str,
    disk: &Rc<dyn HinsightdDisk>,
) -> Result<ConfigSurvey, HinsightdFailure> {
    let failed = |why: Error| HinsightdFailure::Script(first_line(&why));
    let lua = machine().map_err(failed)?;
    let seen = Rc::new(RefCell::new(ConfigSurvey::default()));
    let told = run(&lua, main, disk, &seen).map_err(failed)?;
    drop(lua);
    let mut survey = seen.take();
    survey.told = told;
    Ok(survey)
}

fn machine() -> mlua::Result<Lua> {
    let libraries =
        StdLib::TABLE | StdLib::STRING | StdLib::UTF8 | StdLib::BIT | StdLib::MATH | StdLib::OS;
    let lua = Lua::new_with(libraries, LuaOptions::new())?;
    lua.set_memory_limit(MEMORY_MAX)?;
    let end = Instant::now() + TIME_MAX;
    lua.set_interrupt(move |_| {
        if Instant::now() < end {
            return Ok(VmState::Continue);
        }
        Err(Error::runtime(format!("the configuration runs for over {} s", TIME_MAX.as_secs())))
    });
    for name in ["loadstring", "getfenv", "setfenv"] {
        lua.globals().raw_set(name, Value::Nil)?;
    }
    lua.globals().raw_set("log", lua.create_function(|_, ()| Ok(()))?)?;
    Ok(lua)
}

fn run(
    lua: &Lua,
    main: &str,
    disk: &Rc<dyn HinsightdDisk>,
    seen: &Rc<RefCell<ConfigSurvey>>,
) -> mlua::Result<Json> {
    lua.load(HINSIGHTD_LUAU).set_name("=hinsightd.luau").exec()?;
    let state: Table = lua.globals().raw_get("__hinsightd")?;
    let (files, kept) = (Rc::clone(disk), Rc::clone(seen));
    let load = lua.create_function(move |lua, path: String| load(lua, &*files, &kept, &path))?;
    state.raw_set("load", &load)?;
    let (folders, kept) = (Rc::clone(disk), Rc::clone(seen));
    let list = lua.create_function(move |lua, path: String| {
        let Ok(names) = folders.list(&path) else { return Ok(None) };
        let table = lua.create_sequence_from(names.iter().map(String::as_str))?;
        kept.borrow_mut().folders.insert(path, names);
        Ok(Some(table))
    })?;
    state.raw_set("list", list)?;
    let (kept, count) = (Rc::clone(seen), Cell::new(0));
    let note = lua.create_function(move |_, text: String| {
        let notes = &mut kept.borrow_mut().notes;
        if count.get() < NOTES_MAX && !notes.contains(&text) {
            count.set(count.get() + 1);
            notes.push(text);
        }
        Ok(())
    })?;
    state.raw_set("note", note)?;
    let Some(file) = load.call::<Option<Function>>(main)? else {
        return Err(Error::runtime(format!("{main} cannot be read")));
    };
    file.call::<()>(())?;
    let told: Value = lua.load(SURVEY_LUAU).set_name("=survey.luau").eval()?;
    json_of(&told, 0)
}

/// The function that a file is; nil where it cannot be read.
fn load(
    lua: &Lua,
    disk: &dyn HinsightdDisk,
    seen: &RefCell<ConfigSurvey>,
    path: &str,
) -> mlua::Result<Option<Function>> {
    let Ok(text) = disk.read(path) else { return Ok(None) };
    let function = lua.load(&text).set_name(format!("={path}")).into_function()?;
    let files = &mut seen.borrow_mut().files;
    if files.len() == FILES_MAX {
        return Err(Error::runtime(format!("more than {FILES_MAX} files are included")));
    }
    files.insert(path.to_owned(), text);
    Ok(Some(function))
}

/// A value as JSON: tables with a first element are arrays.
fn json_of(value: &Value, depth: usize) -> mlua::Result<Json> {
    Ok(match value {
        Value::Boolean(flag) => Json::Bool(*flag),
        Value::Integer(number) => Json::from(*number),
        // Whole numbers are told as such, as they were written.
        Value::Number(number) if number.fract() == 0.0 && number.abs() < WHOLE_MAX => {
            Json::from(*number as i64)
        }
        Value::Number(number) => Json::from(*number),
        Value::String(text) => Json::String(text_of(text)),
        Value::Table(table) if depth < DEPTH_MAX => table_of(table, depth)?,
        _ => Json::Null,
    })
}

fn table_of(table: &Table, depth: usize) -> mlua::Result<Json> {
    if table.raw_len() > 0 {
        let values = table.sequence_values::<Value>();
        return values.map(|value| json_of(&value?, depth + 1)).collect();
    }
    let mut object = Map::new();
    for pair in table.pairs::<LuaString, Value>() {
        let (name, value) = pair?;
        object.insert(text_of(&name), json_of(&value, depth + 1)?);
    }
    Ok(Json::Object(object))
}

fn text_of(text: &LuaString) -> String {
    String::from_utf8_lossy(&text.as_bytes()).into_owned()
}

/// The message of an error without the trace of calls.
fn first_line(why: &Error) -> String {
    let text = match why {
        Error::CallbackError { cause, .. } => first_line(cause),
        Error::SyntaxError { message, .. } | Error::RuntimeError(message) => message.clone(),
        other => other.to_string(),
    };
    text.lines().next().unwrap_or_default().to_owned()
}
