//! Properties of a request and its answer, by paths of words.

use super::guest::{ABI, GuestCall, GuestText, HostStatus, ReturnPlaces};
use crate::guest_span::property_words;
use crate::state::{CallStage, FieldMap, HostState};
use std::str;
use std::time::Duration;
use wasmtime::{Caller, Linker, Result};

pub(super) fn define(linker: &mut Linker<HostState>) -> Result<()> {
    linker.func_wrap(ABI, "proxy_get_property", property)?;
    Ok(())
}

fn property(
    mut caller: Caller<'_, HostState>,
    path: u32,
    path_size: u32,
    data: u32,
    size: u32,
) -> Result<u32> {
    let mut call = GuestCall::new(&mut caller, "proxy_get_property");
    let (path, state) = call.text(GuestText::at(path, path_size))?;
    let found = find(state, &property_words(path));
    match found {
        Some(bytes) => Ok(call.give(&bytes, ReturnPlaces { data, size })? as u32),
        None => Ok(HostStatus::NotFound as u32),
    }
}

/// The bytes of a property: text, or a number of eight bytes, the least first.
fn find(state: &HostState, words: &[&[u8]]) -> Option<Vec<u8>> {
    let text = |text: &str| Some(text.as_bytes().to_vec());
    match words {
        [b"plugin_name"] => return text(state.base.name()),
        [b"plugin_root_id"] => return text(""),
        _ => {}
    }
    if state.effective != state.called || state.stage == CallStage::Idle {
        return None;
    }
    let (message, has_answer) = (&state.message, state.stage != CallStage::Request);
    let (request, entry) = (&message.request, &message.entry);
    let number = |number: u64| Some(number.to_le_bytes().to_vec());
    let field = |map: FieldMap, name: &[u8]| {
        let value = state.fields(map).get(str::from_utf8(name).ok()?)?;
        Some(value.as_bytes().to_vec())
    };
    let [place, name @ ..] = words else { return None };
    match (*place, name) {
        (b"request", [b"path"]) => {
            text(request.uri.path_and_query().map_or("/", |target| target.as_str()))
        }
        (b"request", [b"url_path"]) => text(request.uri.path()),
        (b"request", [b"query"]) => text(request.uri.query().unwrap_or_default()),
        (b"request", [b"host"]) => text(&request.host),
        (b"request", [b"scheme"]) => text(request.scheme),
        (b"request", [b"method"]) => text(request.method.as_str()),
        (b"request", [b"useragent"]) => field(FieldMap::Request, b"user-agent"),
        (b"request", [b"referer"]) => field(FieldMap::Request, b"referer"),
        (b"request", [b"headers", name]) => field(FieldMap::Request, name),
        (b"request", [b"duration"]) if state.stage == CallStage::Log => {
            number(Duration::from_secs_f64(entry.duration_ms.max(0.0) / 1000.0).as_nanos() as u64)
        }
        (b"source", [b"address"]) => text(&request.client?.to_string()),
        (b"response", [b"code"]) if has_answer => {
            number(u64::from(message.response.status.as_u16()))
        }
        (b"response", [b"headers", name]) if has_answer => field(FieldMap::Response, name),
        (b"response", [b"size"]) if state.stage == CallStage::Log => number(entry.bytes),
        _ => None,
    }
}
