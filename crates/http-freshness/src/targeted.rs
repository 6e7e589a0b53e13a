//! `CDN-Cache-Control` (RFC 9213): directives for caches that stand before the origin.
//!
//! A dictionary of structured fields. One that does not parse, is empty, or has a directive of
//! another type than it must be counts as not there (§2.1), and `Cache-Control` speaks again. Pure.
//! Called by the reading of directives.

use super::response_control::{DirectiveSource, ResponseControl, ResponseFlag, names};
use super::rules::DELTA_SECS_MAX;
use http::header::HeaderMap;
use sfv::{BareItem, Dictionary, ListEntry, Parser};

/// The field that is addressed to caches of the origin's side.
const FIELD: &str = "cdn-cache-control";
/// Longest field that is read, in bytes over all lines; a longer one counts as malformed.
const BYTES_MAX: usize = 4096;

/// Returns what it says; `None` if it does not count.
pub(crate) fn control(fields: &HeaderMap) -> Option<ResponseControl> {
    let mut lines = fields.get_all(FIELD).iter().peekable();
    lines.peek()?;
    let mut text = Vec::new();
    for line in lines {
        if !text.is_empty() {
            text.extend_from_slice(b", ");
        }
        text.extend_from_slice(line.as_bytes());
        if text.len() > BYTES_MAX {
            return None;
        }
    }
    let members: Dictionary = Parser::new(&text).parse().ok()?;
    let mut control = ResponseControl::new(DirectiveSource::Targeted);
    for (name, member) in &members {
        let ListEntry::Item(item) = member else { return None };
        take(&mut control, name.as_str(), &item.bare_item)?;
    }
    (!members.is_empty()).then_some(control)
}

/// `None` if the directive is known and has a value of a wrong type.
fn take(control: &mut ResponseControl, name: &str, value: &BareItem) -> Option<()> {
    match name {
        "max-age" => control.max_age_secs = Some(secs(value)?),
        "s-maxage" => control.s_maxage_secs = Some(secs(value)?),
        "stale-while-revalidate" => control.stale_while_revalidate_secs = Some(secs(value)?),
        "stale-if-error" => control.stale_if_error_secs = Some(secs(value)?),
        "no-cache" => match value {
            BareItem::String(list) => {
                control.no_cache_fields = names(list.as_str().as_bytes())?;
            }
            value => raise(control, ResponseFlag::NoCache, value)?,
        },
        "private" => match value {
            BareItem::String(list) => {
                control.private_fields = names(list.as_str().as_bytes())?;
            }
            value => raise(control, ResponseFlag::Private, value)?,
        },
        other => {
            if let Some(flag) = ResponseFlag::named(other.as_bytes()) {
                raise(control, flag, value)?;
            }
        }
    }
    Some(())
}

/// Not negative; above the limit, the limit.
fn secs(value: &BareItem) -> Option<u32> {
    let BareItem::Integer(secs) = value else { return None };
    let secs = u64::try_from(i64::from(*secs)).ok()?;
    Some(u32::try_from(secs).map_or(DELTA_SECS_MAX, |secs| secs.min(DELTA_SECS_MAX)))
}

/// `no-store=?0` says nothing.
fn raise(control: &mut ResponseControl, flag: ResponseFlag, value: &BareItem) -> Option<()> {
    let BareItem::Boolean(says) = value else { return None };
    if *says {
        control.set(flag);
    }
    Some(())
}
