//! Header fields as scripts read and change them.

use crate::field_rules::{FieldRefusal, changeable_field, checked_field_value};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use mlua::{Either, Error, Lua, LuaString, Table};

/// Counts a change, of which a hook may make so many.
pub(crate) fn count_change(made: &mut u32) -> mlua::Result<()> {
    FieldRefusal::count_change(made).map_err(refused)
}

/// The first value of a field.
pub(crate) fn first(
    lua: &Lua,
    headers: &HeaderMap,
    name: &[u8],
) -> mlua::Result<Option<Either<String, LuaString>>> {
    let Some(value) = as_name(name).and_then(|name| headers.get(name)) else { return Ok(None) };
    // Nearly all are ASCII, and cheaper to hand over as that.
    Ok(Some(match value.to_str() {
        Ok(text) => Either::Left(text.to_owned()),
        Err(_) => Either::Right(lua.create_string(value.as_bytes())?),
    }))
}

/// A name to look for; none where no field can be called so.
fn as_name(name: &[u8]) -> Option<&str> {
    std::str::from_utf8(name).ok()
}

/// All values of a field, in their order.
pub(crate) fn all(lua: &Lua, headers: &HeaderMap, name: &[u8]) -> mlua::Result<Table> {
    let values = as_name(name).into_iter().flat_map(|name| headers.get_all(name));
    let values = values.map(|value| lua.create_string(value.as_bytes()));
    lua.create_sequence_from(values.collect::<mlua::Result<Vec<_>>>()?)
}

/// Sets a field to one value.
pub(crate) fn set(headers: &mut HeaderMap, name: &[u8], value: &[u8]) -> mlua::Result<()> {
    let (name, value) = (changeable(name)?, checked_value(value)?);
    headers.try_insert(name, value).map(drop).map_err(|_| refused(FieldRefusal::ManyFields))
}

/// Adds a value to a field.
pub(crate) fn add(headers: &mut HeaderMap, name: &[u8], value: &[u8]) -> mlua::Result<()> {
    let (name, value) = (changeable(name)?, checked_value(value)?);
    headers.try_append(name, value).map(drop).map_err(|_| refused(FieldRefusal::ManyFields))
}

/// Takes a field out.
pub(crate) fn remove(headers: &mut HeaderMap, name: &[u8]) -> mlua::Result<()> {
    headers.remove(changeable(name)?);
    Ok(())
}

/// The name of a field that a script may change.
fn changeable(name: &[u8]) -> mlua::Result<HeaderName> {
    changeable_field(name).map_err(refused)
}

/// The value that a script wrote, if a field may have it.
pub(crate) fn checked_value(value: &[u8]) -> mlua::Result<HeaderValue> {
    checked_field_value(value).map_err(refused)
}

fn refused(why: FieldRefusal) -> Error {
    Error::runtime(why)
}
