//! A finished request as a script sees it in `on_log`: nothing of it can be changed.

use mlua::{Error, UserData, UserDataFields};
use std::cell::{Ref, RefCell};
use std::rc::Rc;

/// Outcome of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedLogEntry {
    /// Status of the answer; 499 where the client left before it.
    pub status: u16,
    /// Bytes of body that the client got.
    pub bytes: u64,
    /// Time until the answer began, in milliseconds.
    pub duration_ms: f64,
    /// Where the answer came from, as the request log names it: `cache`, `origin`, `file` and so
    /// on.
    pub source: &'static str,
}

/// The object `entry` of all scripts of a core; empty between hooks.
#[derive(Clone, Default)]
pub(crate) struct LogEntryObject(Rc<RefCell<Option<ScriptedLogEntry>>>);

impl LogEntryObject {
    /// Lends an entry to a hook.
    pub(crate) fn lend(&self, entry: ScriptedLogEntry) {
        *self.0.borrow_mut() = Some(entry);
    }

    /// Takes it back.
    pub(crate) fn take_back(&self) {
        *self.0.borrow_mut() = None;
    }

    fn entry(&self) -> mlua::Result<Ref<'_, ScriptedLogEntry>> {
        let held = self.0.borrow();
        Ref::filter_map(held, Option::as_ref).map_err(|_| Error::runtime("the entry is over"))
    }
}

impl UserData for LogEntryObject {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("status", |_, this| Ok(this.entry()?.status));
        fields.add_field_method_get("bytes", |_, this| Ok(this.entry()?.bytes));
        fields.add_field_method_get("duration_ms", |_, this| Ok(this.entry()?.duration_ms));
        fields.add_field_method_get("source", |_, this| Ok(this.entry()?.source));
    }
}
