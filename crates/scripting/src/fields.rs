//! Header fields as scripts read and change them.
//!
//! Framing, the coding of the body, the connection's own fields and `Host` are not theirs to set:
//! two readers would disagree about where a message ends, what it says, or whom it is for.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use mlua::{Either, Error, Lua, LuaString, Table};

/// Changes that one hook may make to fields.
const CHANGES_MAX: u32 = 128;
/// Bytes of the longest value that may be set.
const VALUE_BYTES_MAX: usize = 16 * 1024;

/// Fields that no script changes, in requests and answers.
static FRAMING: [HeaderName; 11] = [
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::HOST,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Counts a change, of which a hook may make so many.
pub(crate) fn count_change(made: &mut u32) -> mlua::Result<()> {
    *made += 1;
    if *made > CHANGES_MAX {
        return Err(Error::runtime(format!(
            "more than {CHANGES_MAX} changes to fields in one call"
        )));
    }
    Ok(())
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
    headers.try_insert(name, value).map(drop).map_err(|_| too_many())
}

/// Adds a value to a field.
pub(crate) fn add(headers: &mut HeaderMap, name: &[u8], value: &[u8]) -> mlua::Result<()> {
    let (name, value) = (changeable(name)?, checked_value(value)?);
    headers.try_append(name, value).map(drop).map_err(|_| too_many())
}

/// Takes a field out.
pub(crate) fn remove(headers: &mut HeaderMap, name: &[u8]) -> mlua::Result<()> {
    headers.remove(changeable(name)?);
    Ok(())
}

/// The name of a field that a script may change.
fn changeable(name: &[u8]) -> mlua::Result<HeaderName> {
    let name = HeaderName::from_bytes(name).map_err(|_| {
        Error::runtime(format!("{:?} is no name of a header field", String::from_utf8_lossy(name)))
    })?;
    if FRAMING.contains(&name) {
        return Err(Error::runtime(format!("{name} cannot be changed by a script")));
    }
    Ok(name)
}

/// The value that a script wrote, if a field may have it.
pub(crate) fn checked_value(value: &[u8]) -> mlua::Result<HeaderValue> {
    if value.len() > VALUE_BYTES_MAX {
        return Err(Error::runtime(format!(
            "a value of {} bytes is longer than the {VALUE_BYTES_MAX} that a field may have",
            value.len()
        )));
    }
    HeaderValue::from_bytes(value)
        .map_err(|_| Error::runtime("a field cannot have line breaks or control characters"))
}

fn too_many() -> Error {
    Error::runtime("there are too many header fields")
}
