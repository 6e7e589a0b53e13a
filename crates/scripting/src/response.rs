//! An answer as a script sees it on its way to the client.

use crate::fields;
use http::StatusCode;
use http::header::HeaderMap;
use mlua::{BString, Error, UserData, UserDataFields, UserDataMethods, UserDataRegistry};
use std::cell::{RefCell, RefMut};
use std::rc::Rc;

/// An answer as a script sees it, and may change.
#[derive(Debug, Default)]
pub struct ScriptedResponse {
    /// The status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
}

/// An answer in the hands of a hook.
#[derive(Default)]
struct HeldResponse {
    is_lent: bool,
    response: ScriptedResponse,
    changes_made: u32,
}

/// The object `response` of all scripts of a core; empty between hooks.
#[derive(Clone, Default)]
pub(crate) struct ResponseObject(Rc<RefCell<HeldResponse>>);

impl ResponseObject {
    /// Lends an answer to a hook.
    pub(crate) fn lend(&self, response: &mut ScriptedResponse) {
        let mut held = self.0.borrow_mut();
        held.is_lent = true;
        held.changes_made = 0;
        std::mem::swap(&mut held.response, response);
    }

    /// Takes it back, as the hook left it.
    pub(crate) fn take_back(&self, response: &mut ScriptedResponse) {
        let mut held = self.0.borrow_mut();
        held.is_lent = false;
        std::mem::swap(&mut held.response, response);
    }

    fn response(&self) -> mlua::Result<RefMut<'_, ScriptedResponse>> {
        let held = self.0.borrow_mut();
        if !held.is_lent {
            return Err(Error::runtime("the response is over"));
        }
        Ok(RefMut::map(held, |held| &mut held.response))
    }

    /// The same, to change a field of it.
    fn to_change(&self) -> mlua::Result<RefMut<'_, ScriptedResponse>> {
        fields::count_change(&mut self.0.borrow_mut().changes_made)?;
        self.response()
    }
}

impl UserData for ResponseObject {
    fn register(registry: &mut UserDataRegistry<Self>) {
        registry.enable_namecall();
        Self::add_fields(registry);
        Self::add_methods(registry);
    }

    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("status", |_, this| Ok(this.response()?.status.as_u16()));
        fields.add_field_method_set("status", |_, this, status: u16| {
            this.response()?.set_status(status).map_err(Error::runtime)
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("header", |lua, this, name: BString| {
            fields::first(lua, &this.response()?.headers, &name)
        });
        methods.add_method("headers", |lua, this, name: BString| {
            fields::all(lua, &this.response()?.headers, &name)
        });
        methods.add_method("set_header", |_, this, (name, value): (BString, BString)| {
            fields::set(&mut this.to_change()?.headers, &name, &value)
        });
        methods.add_method("add_header", |_, this, (name, value): (BString, BString)| {
            fields::add(&mut this.to_change()?.headers, &name, &value)
        });
        methods.add_method("remove_header", |_, this, name: BString| {
            fields::remove(&mut this.to_change()?.headers, &name)
        });
    }
}
