//! Functions about a call itself: the log, the clock, the configuration, answers, contexts.

use super::guest::{ABI, GuestCall, GuestText, HostStatus, ReturnPlaces};
use crate::filter_base::{refused, unserved};
use crate::pairs;
use crate::state::{CallStage, HostState};
use http::HeaderMap;
use scripting::{FieldRefusal, ScriptAnswer, changeable_field, checked_field_value};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wasmtime::{Caller, Linker, Result};

/// The lowest level whose lines are written: `info`.
const LOG_LEVEL: u32 = 2;
/// Bytes of a line that are read.
pub(super) const LOG_BYTES_MAX: u32 = 4096;
/// Bytes of a body that are read: an answer may have fewer.
const BODY_BYTES_MAX: u32 = 2 * 1024 * 1024;
/// Bytes of a map of fields.
pub(super) const MAP_BYTES_MAX: u32 = 256 * 1024;
/// The buffer that has the configuration.
const CONFIGURATION: u32 = 7;
/// The buffer of the virtual machine's configuration, which nobody has.
const MACHINE_CONFIGURATION: u32 = 6;

pub(super) fn define(linker: &mut Linker<HostState>) -> Result<()> {
    linker
        .func_wrap(ABI, "proxy_log", log)?
        .func_wrap(ABI, "proxy_get_log_level", log_level)?
        .func_wrap(ABI, "proxy_get_current_time_nanoseconds", time)?
        .func_wrap(ABI, "proxy_get_buffer_bytes", buffer)?
        .func_wrap(ABI, "proxy_send_local_response", respond)?
        .func_wrap(ABI, "proxy_set_effective_context", speak_for)?
        .func_wrap(ABI, "proxy_continue_stream", |_: u32| HostStatus::Ok as u32)?
        .func_wrap(ABI, "proxy_done", || HostStatus::Ok as u32)?;
    Ok(())
}

fn log(mut caller: Caller<'_, HostState>, level: u32, text: u32, size: u32) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "proxy_log");
    call.text(GuestText::at(text, size))?;
    let (bytes, state) = call.text(GuestText::at(text, size.min(LOG_BYTES_MAX)))?;
    if level >= LOG_LEVEL {
        state.base.log.write(&String::from_utf8_lossy(bytes));
    }
    Ok(HostStatus::Ok as u32)
}

fn log_level(mut caller: Caller<'_, HostState>, level: u32) -> Result<u32> {
    GuestCall::new(&mut caller, "proxy_get_log_level").put_number(level, LOG_LEVEL)?;
    Ok(HostStatus::Ok as u32)
}

fn time(mut caller: Caller<'_, HostState>, time: u32) -> Result<u32> {
    let now = time_of_day();
    let mut call = GuestCall::new(&mut caller, "proxy_get_current_time_nanoseconds");
    call.put(time, &(now.as_nanos() as u64).to_le_bytes())?;
    Ok(HostStatus::Ok as u32)
}

/// Time since 1970. A filter asks when it likes, which is long after its request began.
#[expect(clippy::disallowed_methods, reason = "a filter asks for the clock itself")]
pub(super) fn time_of_day() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn buffer(
    mut caller: Caller<'_, HostState>,
    buffer: u32,
    start: u32,
    size: u32,
    data: u32,
    length: u32,
) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "proxy_get_buffer_bytes");
    let base = call.state().base.clone();
    let bytes = match buffer {
        CONFIGURATION => base.configuration().as_bytes(),
        MACHINE_CONFIGURATION => &[],
        _ => {
            base.tell_once(unserved("proxy_get_buffer_bytes of a body"));
            return Ok(HostStatus::Unimplemented as u32);
        }
    };
    let rest = bytes.get(start as usize..).unwrap_or_default();
    if rest.is_empty() {
        return Ok(HostStatus::NotFound as u32);
    }
    let part = &rest[..rest.len().min(size as usize)];
    Ok(call.give(part, ReturnPlaces { data, size: length })? as u32)
}

#[expect(clippy::too_many_arguments, reason = "the ABI has them")]
fn respond(
    mut caller: Caller<'_, HostState>,
    status: u32,
    _details: u32,
    _details_size: u32,
    body: u32,
    body_size: u32,
    fields: u32,
    fields_size: u32,
    _grpc: u32,
) -> Result<u32> {
    const FUNCTION: &str = "proxy_send_local_response";
    let mut call = GuestCall::new(&mut caller, FUNCTION);
    let ([body, fields], state) =
        call.texts([GuestText::at(body, body_size), GuestText::at(fields, fields_size)])?;
    if state.stage != CallStage::Request {
        state.base.tell_once(unserved("proxy_send_local_response after the request"));
        return Ok(HostStatus::Unimplemented as u32);
    }
    if body_size > BODY_BYTES_MAX || fields_size > MAP_BYTES_MAX {
        state.base.tell_once(refused(FUNCTION, &"body or fields are too long"));
        return Ok(HostStatus::BadArgument as u32);
    }
    let fields = match pairs::parse(fields) {
        Ok(fields) => fields,
        Err(why) => {
            state.base.tell_once(refused(FUNCTION, &why));
            return Ok(HostStatus::ParseFailure as u32);
        }
    };
    let status = u16::try_from(status).unwrap_or_default();
    let answer = read_fields(&fields).map_err(|why| refused(FUNCTION, &why)).and_then(|fields| {
        ScriptAnswer::new(&state.message.request.method, status, fields, body.to_vec())
            .map_err(|why| refused(FUNCTION, &why))
    });
    Ok(match answer {
        Ok(answer) => {
            state.answer = Some(Box::new(answer));
            HostStatus::Ok
        }
        Err(why) => {
            state.base.tell_once(why);
            HostStatus::BadArgument
        }
    } as u32)
}

/// The fields of an answer. Those of its framing are left out: the door has its own.
fn read_fields(pairs: &[pairs::Pair<'_>]) -> std::result::Result<HeaderMap, FieldRefusal> {
    let mut fields = HeaderMap::new();
    for (name, value) in pairs {
        match changeable_field(name) {
            Ok(name) => {
                let value = checked_field_value(value)?;
                fields.try_append(name, value).map_err(|_| FieldRefusal::ManyFields)?;
            }
            Err(FieldRefusal::Protected(_)) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(fields)
}

fn speak_for(mut caller: Caller<'_, HostState>, context: u32) -> u32 {
    let state = caller.data_mut();
    if !state.contexts.contains(&context) {
        return HostStatus::BadArgument as u32;
    }
    state.effective = context;
    HostStatus::Ok as u32
}
