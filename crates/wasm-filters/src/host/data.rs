//! Shared data and metrics.

use super::guest::{ABI, GuestCall, GuestText, HostStatus, ReturnPlaces};
use crate::filter_base::refused;
use crate::filter_metrics::{MetricRefusal, NAME_BYTES_MAX};
use crate::shared_data::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::state::HostState;
use wasmtime::{Caller, Linker, Result};

pub(super) fn define(linker: &mut Linker<HostState>) -> Result<()> {
    linker
        .func_wrap(ABI, "proxy_get_shared_data", get)?
        .func_wrap(ABI, "proxy_set_shared_data", set)?
        .func_wrap(ABI, "proxy_define_metric", define_metric)?
        .func_wrap(ABI, "proxy_get_metric", metric)?
        .func_wrap(ABI, "proxy_record_metric", record)?
        .func_wrap(ABI, "proxy_increment_metric", increment)?;
    Ok(())
}

fn get(
    mut caller: Caller<'_, HostState>,
    key: u32,
    key_size: u32,
    data: u32,
    size: u32,
    cas: u32,
) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "proxy_get_shared_data");
    let (key, state) = call.text(GuestText::at(key, key_size))?;
    let found = if key_size > KEY_BYTES_MAX { None } else { state.base.shared.get(key) };
    let Some(value) = found else { return Ok(HostStatus::NotFound as u32) };
    call.put_number(cas, value.number)?;
    Ok(call.give(&value.bytes, ReturnPlaces { data, size })? as u32)
}

fn set(
    mut caller: Caller<'_, HostState>,
    key: u32,
    key_size: u32,
    value: u32,
    value_size: u32,
    cas: u32,
) -> Result<u32> {
    const FUNCTION: &str = "proxy_set_shared_data";
    let mut call = GuestCall::new(&mut caller, FUNCTION);
    let ([key, value], state) =
        call.texts([GuestText::at(key, key_size), GuestText::at(value, value_size)])?;
    if key_size > KEY_BYTES_MAX || value_size > VALUE_BYTES_MAX {
        let why = format!("a key has at most {KEY_BYTES_MAX} bytes, and a value {VALUE_BYTES_MAX}");
        state.base.tell_once(refused(FUNCTION, &why));
        return Ok(HostStatus::BadArgument as u32);
    }
    let is_set = state.base.shared.set(key, value, cas);
    Ok(if is_set { HostStatus::Ok } else { HostStatus::CasMismatch } as u32)
}

fn status(refusal: &MetricRefusal) -> HostStatus {
    match refusal {
        MetricRefusal::Unknown => HostStatus::NotFound,
        MetricRefusal::Kind => HostStatus::BadArgument,
        MetricRefusal::Many => HostStatus::InternalFailure,
    }
}

fn define_metric(
    mut caller: Caller<'_, HostState>,
    kind: u32,
    name: u32,
    name_size: u32,
    number: u32,
) -> Result<u32> {
    const FUNCTION: &str = "proxy_define_metric";
    let mut call = GuestCall::new(&mut caller, FUNCTION);
    let (name, state) = call.text(GuestText::at(name, name_size))?;
    if name_size > NAME_BYTES_MAX {
        return Ok(HostStatus::BadArgument as u32);
    }
    match state.base.metrics.define(kind, name) {
        Ok(defined) => {
            call.put_number(number, defined)?;
            Ok(HostStatus::Ok as u32)
        }
        Err(why) => {
            if matches!(why, MetricRefusal::Many) {
                state.base.tell_once(refused(FUNCTION, &"there are as many as there may be"));
            }
            Ok(status(&why) as u32)
        }
    }
}

fn metric(mut caller: Caller<'_, HostState>, number: u32, value: u32) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "proxy_get_metric");
    match call.state().base.metrics.get(number) {
        Ok(found) => {
            call.put(value, &found.to_le_bytes())?;
            Ok(HostStatus::Ok as u32)
        }
        Err(why) => Ok(status(&why) as u32),
    }
}

fn record(mut caller: Caller<'_, HostState>, number: u32, value: u64) -> u32 {
    let done = caller.data_mut().base.metrics.record(number, value);
    done.map_or_else(|why| status(&why), |()| HostStatus::Ok) as u32
}

fn increment(mut caller: Caller<'_, HostState>, number: u32, by: i64) -> u32 {
    let done = caller.data_mut().base.metrics.increment(number, by);
    done.map_or_else(|why| status(&why), |()| HostStatus::Ok) as u32
}
