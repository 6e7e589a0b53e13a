//! Functions about maps of fields. What stands in the head's first line is in them too, by names
//! with a colon before: `:path`, `:status`.

use super::guest::{ABI, GuestCall, GuestText, HostStatus, ReturnPlaces};
use super::messages::MAP_BYTES_MAX;
use crate::filter_base::refused;
use crate::pairs::{self, Pair};
use crate::state::{FieldMap, HostState};
use http::{HeaderMap, HeaderValue};
use scripting::{ChangeRefusal, FieldRefusal, changeable_field, checked_field_value};
use std::borrow::Cow;
use std::fmt;
use wasmtime::{Caller, Linker, Result};

/// A change to a map.
#[derive(Clone, Copy)]
enum FieldWrite {
    Add,
    Replace,
}

/// A change that is refused, and why.
enum WriteRefusal {
    Field(FieldRefusal),
    Message(ChangeRefusal),
    /// The first line has no such part that could be changed.
    FirstLine,
}

pub(super) fn define(linker: &mut Linker<HostState>) -> Result<()> {
    linker
        .func_wrap(ABI, "proxy_get_header_map_size", map_size)?
        .func_wrap(ABI, "proxy_get_header_map_pairs", map_pairs)?
        .func_wrap(ABI, "proxy_set_header_map_pairs", set_pairs)?
        .func_wrap(ABI, "proxy_get_header_map_value", value)?
        .func_wrap(ABI, "proxy_add_header_map_value", add)?
        .func_wrap(ABI, "proxy_replace_header_map_value", replace)?
        .func_wrap(ABI, "proxy_remove_header_map_value", remove)?;
    Ok(())
}

/// A value of a map: of a field, or of the first line.
enum MapValue {
    Field(HeaderValue),
    FirstLine(Cow<'static, str>),
}

impl MapValue {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Field(value) => value.as_bytes(),
            Self::FirstLine(text) => text.as_bytes(),
        }
    }
}

/// A part of the first line.
fn first_line(state: &HostState, map: FieldMap, name: &[u8]) -> Option<Cow<'static, str>> {
    let request = &state.message.request;
    let text: Cow<'static, str> = match (map, name) {
        (FieldMap::Request, b":path") => {
            let target = request.uri.path_and_query();
            target.map_or_else(|| "/".to_owned(), ToString::to_string).into()
        }
        (FieldMap::Request, b":method") => request.method.to_string().into(),
        (FieldMap::Request, b":authority") => request.host.clone().into(),
        (FieldMap::Request, b":scheme") => request.scheme.into(),
        (FieldMap::Response, b":status") => {
            state.message.response.status.as_u16().to_string().into()
        }
        (FieldMap::Request | FieldMap::Response, _) => return None,
    };
    Some(text)
}

const REQUEST_LINE: [&[u8]; 4] = [b":authority", b":method", b":path", b":scheme"];
const STATUS_LINE: [&[u8]; 1] = [b":status"];

fn find(state: &HostState, map: FieldMap, name: &[u8]) -> Option<MapValue> {
    if name.first() == Some(&b':') {
        return first_line(state, map, name).map(MapValue::FirstLine);
    }
    let name = std::str::from_utf8(name).ok()?;
    state.fields(map).get(name).cloned().map(MapValue::Field)
}

/// All fields of a map, written down.
fn written(state: &HostState, map: FieldMap) -> Vec<u8> {
    let names = match map {
        FieldMap::Request => &REQUEST_LINE[..],
        FieldMap::Response => &STATUS_LINE[..],
    };
    let line: Vec<(&[u8], Cow<'_, str>)> = names
        .iter()
        .filter_map(|name| first_line(state, map, name).map(|text| (*name, text)))
        .collect();
    let fields = state.fields(map).iter();
    let fields = fields.map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
    let line = line.iter().map(|(name, text)| (*name, text.as_bytes()));
    pairs::serialise(&line.chain(fields).collect::<Vec<Pair<'_>>>())
}

fn map_size(mut caller: Caller<'_, HostState>, map: u32, size: u32) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "proxy_get_header_map_size");
    let Some(map) = call.state().map(map) else { return Ok(HostStatus::NotFound as u32) };
    let length = written(call.state(), map).len() as u32;
    call.put_number(size, length)?;
    Ok(HostStatus::Ok as u32)
}

fn map_pairs(mut caller: Caller<'_, HostState>, map: u32, data: u32, size: u32) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "proxy_get_header_map_pairs");
    let Some(map) = call.state().map(map) else { return Ok(HostStatus::NotFound as u32) };
    let bytes = written(call.state(), map);
    Ok(call.give(&bytes, ReturnPlaces { data, size })? as u32)
}

fn value(
    mut caller: Caller<'_, HostState>,
    map: u32,
    name: u32,
    name_size: u32,
    data: u32,
    size: u32,
) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "proxy_get_header_map_value");
    let (name, state) = call.text(GuestText::at(name, name_size))?;
    let found = state.map(map).and_then(|map| find(state, map, name));
    match found {
        Some(value) => Ok(call.give(value.as_bytes(), ReturnPlaces { data, size })? as u32),
        None => Ok(HostStatus::NotFound as u32),
    }
}

fn add(
    mut caller: Caller<'_, HostState>,
    map: u32,
    name: u32,
    name_size: u32,
    value: u32,
    value_size: u32,
) -> Result<u32> {
    let texts = [GuestText::at(name, name_size), GuestText::at(value, value_size)];
    write(
        &mut GuestCall::new(&mut caller, "proxy_add_header_map_value"),
        map,
        texts,
        FieldWrite::Add,
    )
}

fn replace(
    mut caller: Caller<'_, HostState>,
    map: u32,
    name: u32,
    name_size: u32,
    value: u32,
    value_size: u32,
) -> Result<u32> {
    let texts = [GuestText::at(name, name_size), GuestText::at(value, value_size)];
    let mut call = GuestCall::new(&mut caller, "proxy_replace_header_map_value");
    write(&mut call, map, texts, FieldWrite::Replace)
}

fn write(
    call: &mut GuestCall<'_, '_>,
    map: u32,
    texts: [GuestText; 2],
    how: FieldWrite,
) -> Result<u32> {
    let ([name, value], state) = call.texts(texts)?;
    let Some(map) = state.map(map).filter(|map| state.is_open(*map)) else {
        return Ok(HostStatus::BadArgument as u32);
    };
    let outcome = change(state, map, (name, value), how);
    Ok(settled(state, "a change of a field", outcome) as u32)
}

fn remove(mut caller: Caller<'_, HostState>, map: u32, name: u32, size: u32) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "proxy_remove_header_map_value");
    let (name, state) = call.text(GuestText::at(name, size))?;
    let Some(map) = state.map(map).filter(|map| state.is_open(*map)) else {
        return Ok(HostStatus::BadArgument as u32);
    };
    let removed = changeable_field(name).and_then(|name| {
        state.fields_to_change(map)?.remove(name);
        Ok(())
    });
    Ok(settled(state, "a change of a field", removed.map_err(WriteRefusal::Field)) as u32)
}

/// Replaces the fields of a map that may be changed; the others stay as they are.
fn set_pairs(mut caller: Caller<'_, HostState>, map: u32, data: u32, size: u32) -> Result<u32> {
    const FUNCTION: &str = "proxy_set_header_map_pairs";
    let mut call = GuestCall::new(&mut caller, FUNCTION);
    let (bytes, state) = call.text(GuestText::at(data, size))?;
    let Some(map) = state.map(map).filter(|map| state.is_open(*map)) else {
        return Ok(HostStatus::BadArgument as u32);
    };
    if size > MAP_BYTES_MAX {
        state.base.tell_once(refused(FUNCTION, &"the map is too long"));
        return Ok(HostStatus::BadArgument as u32);
    }
    let pairs = match pairs::parse(bytes) {
        Ok(pairs) => pairs,
        Err(why) => {
            state.base.tell_once(refused(FUNCTION, &why));
            return Ok(HostStatus::ParseFailure as u32);
        }
    };
    let outcome = set_all(state, map, &pairs);
    Ok(settled(state, FUNCTION, outcome) as u32)
}

fn set_all(
    state: &mut HostState,
    map: FieldMap,
    pairs: &[Pair<'_>],
) -> std::result::Result<(), WriteRefusal> {
    let old = state.fields_to_change(map).map_err(WriteRefusal::Field)?;
    let is_protected =
        |name: &[u8]| matches!(changeable_field(name), Err(FieldRefusal::Protected(_)));
    let kept = old.iter().filter(|(name, _)| is_protected(name.as_str().as_bytes()));
    let mut fields: HeaderMap = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    let (line, others): (Vec<Pair<'_>>, Vec<Pair<'_>>) =
        pairs.iter().copied().partition(|(name, _)| name.first() == Some(&b':'));
    for (name, value) in others {
        match changeable_field(name) {
            Ok(name) => {
                let value = checked_field_value(value).map_err(WriteRefusal::Field)?;
                let added = fields.try_append(name, value);
                added.map_err(|_| WriteRefusal::Field(FieldRefusal::ManyFields))?;
            }
            Err(FieldRefusal::Protected(_)) => {}
            Err(why) => return Err(WriteRefusal::Field(why)),
        }
    }
    for (name, value) in line {
        // What is written back as it was is no change.
        let found = first_line(state, map, name);
        if found.is_none_or(|found| found.as_bytes() != value) {
            change_line(state, map, (name, value))?;
        }
    }
    *state.fields_to_change(map).map_err(WriteRefusal::Field)? = fields;
    Ok(())
}

fn change(
    state: &mut HostState,
    map: FieldMap,
    pair: Pair<'_>,
    how: FieldWrite,
) -> std::result::Result<(), WriteRefusal> {
    let (name, value) = pair;
    if name.first() == Some(&b':') {
        return change_line(state, map, pair);
    }
    let name = changeable_field(name).map_err(WriteRefusal::Field)?;
    let value = checked_field_value(value).map_err(WriteRefusal::Field)?;
    let fields = state.fields_to_change(map).map_err(WriteRefusal::Field)?;
    let made = match how {
        FieldWrite::Add => fields.try_append(name, value).map(drop),
        FieldWrite::Replace => fields.try_insert(name, value).map(drop),
    };
    made.map_err(|_| WriteRefusal::Field(FieldRefusal::ManyFields))
}

/// Changes the first line: the path of a request, the status of an answer.
fn change_line(
    state: &mut HostState,
    map: FieldMap,
    pair: Pair<'_>,
) -> std::result::Result<(), WriteRefusal> {
    let (name, value) = pair;
    match (map, name) {
        (FieldMap::Request, b":path") => {
            state.message.request.set_path(value).map_err(WriteRefusal::Message)?;
            state.is_moved = true;
            Ok(())
        }
        (FieldMap::Response, b":status") => {
            let status = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            let status = status.ok_or(WriteRefusal::FirstLine)?;
            state.message.response.set_status(status).map_err(WriteRefusal::Message)
        }
        (FieldMap::Request | FieldMap::Response, _) => Err(WriteRefusal::FirstLine),
    }
}

/// The status of a change; one that is refused is told of.
fn settled(
    state: &HostState,
    function: &str,
    outcome: std::result::Result<(), WriteRefusal>,
) -> HostStatus {
    match outcome {
        Ok(()) => HostStatus::Ok,
        Err(why) => {
            state.base.tell_once(refused(function, &why));
            HostStatus::BadArgument
        }
    }
}

impl fmt::Display for WriteRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(why) => why.fmt(f),
            Self::Message(why) => why.fmt(f),
            Self::FirstLine => f.write_str(
                "of the first line a filter may change :path of requests and :status of answers",
            ),
        }
    }
}
