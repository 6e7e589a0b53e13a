//! The few functions of WASI that compilers bring into filters, with nothing of the machine behind
//! them: no files, no environment, no arguments. What goes to the outputs goes to the log.

use super::guest::{GuestCall, GuestText};
use super::messages::{LOG_BYTES_MAX, time_of_day};
use crate::fault::FilterFault;
use crate::state::HostState;
use wasmtime::{Caller, Linker, Result};

const WASI: &str = "wasi_snapshot_preview1";
const SUCCESS: u32 = 0;
/// There is no such file.
const BAD_FILE: u32 = 8;
const INVALID: u32 = 28;
/// Pieces of one output.
const PIECES_MAX: u32 = 64;
/// Random bytes at once.
const RANDOM_BYTES_MAX: u32 = 64 * 1024;
const CLOCK_OF_DAY: u32 = 0;
const CLOCK_MONOTONIC: u32 = 1;

pub(super) fn define(linker: &mut Linker<HostState>) -> Result<()> {
    linker
        .func_wrap(WASI, "fd_write", write)?
        .func_wrap(WASI, "fd_close", |_: u32| BAD_FILE)?
        .func_wrap(WASI, "fd_seek", |_: u32, _: u64, _: u32, _: u32| BAD_FILE)?
        .func_wrap(WASI, "fd_fdstat_get", |_: u32, _: u32| BAD_FILE)?
        .func_wrap(WASI, "fd_prestat_get", |_: u32, _: u32| BAD_FILE)?
        .func_wrap(WASI, "fd_prestat_dir_name", |_: u32, _: u32, _: u32| BAD_FILE)?
        .func_wrap(WASI, "environ_sizes_get", no_texts)?
        .func_wrap(WASI, "environ_get", |_: u32, _: u32| SUCCESS)?
        .func_wrap(WASI, "args_sizes_get", no_texts)?
        .func_wrap(WASI, "args_get", |_: u32, _: u32| SUCCESS)?
        .func_wrap(WASI, "clock_time_get", clock)?
        .func_wrap(WASI, "random_get", random)?
        .func_wrap(WASI, "sched_yield", || SUCCESS)?
        .func_wrap(WASI, "proc_exit", |code: i32| -> Result<()> {
            Err(FilterFault::Exit(code).into())
        })?;
    Ok(())
}

fn no_texts(mut caller: Caller<'_, HostState>, count: u32, size: u32) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "environ_sizes_get");
    call.put_number(count, 0)?;
    call.put_number(size, 0)?;
    Ok(SUCCESS)
}

fn write(
    mut caller: Caller<'_, HostState>,
    file: u32,
    pieces: u32,
    count: u32,
    written: u32,
) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "fd_write");
    if file != 1 && file != 2 {
        return Ok(BAD_FILE);
    }
    if count > PIECES_MAX {
        return Ok(INVALID);
    }
    let pieces = call.text(GuestText::at(pieces, count * 8))?.0.to_vec();
    let (mut line, mut total) = (Vec::new(), 0_u32);
    for piece in pieces.as_chunks::<8>().0 {
        let [place, size] = pair_of(*piece);
        let (bytes, _) = call.text(GuestText::at(place, size))?;
        let room = (LOG_BYTES_MAX as usize).saturating_sub(line.len());
        line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        total = total.saturating_add(size);
    }
    let line = String::from_utf8_lossy(&line);
    let words = line.trim_end();
    if !words.is_empty() {
        call.state().base.log.write(words);
    }
    call.put_number(written, total)?;
    Ok(SUCCESS)
}

/// The two numbers in eight bytes.
const fn pair_of(bytes: [u8; 8]) -> [u32; 2] {
    let both = u64::from_le_bytes(bytes);
    [both as u32, (both >> 32) as u32]
}

fn clock(mut caller: Caller<'_, HostState>, clock: u32, _: u64, time: u32) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "clock_time_get");
    let now = match clock {
        CLOCK_OF_DAY => time_of_day(),
        CLOCK_MONOTONIC => call.state().base.begun.elapsed(),
        _ => return Ok(INVALID),
    };
    call.put(time, &(now.as_nanos() as u64).to_le_bytes())?;
    Ok(SUCCESS)
}

fn random(mut caller: Caller<'_, HostState>, place: u32, size: u32) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "random_get");
    if size > RANDOM_BYTES_MAX {
        return Ok(INVALID);
    }
    let mut bytes = vec![0; size as usize];
    if getrandom::fill(&mut bytes).is_err() {
        return Ok(INVALID);
    }
    call.put(place, &bytes)?;
    Ok(SUCCESS)
}
