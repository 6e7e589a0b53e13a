//! A request as a script sees it, and what it may do with it.
//!
//! The parts of the request are moved into the object for as long as a hook runs, and out again:
//! nothing is copied for a look at one field.

use crate::fields;
use crate::hook::ScriptHook;
use crate::variables::ScriptVariables;
use http::header::{HeaderMap, LOCATION};
use http::{Method, StatusCode, Uri};
use mlua::{
    BString, Error, Table, UserData, UserDataFields, UserDataMethods, UserDataRegistry, Value,
};
use std::cell::{RefCell, RefMut};
use std::net::IpAddr;
use std::rc::Rc;

/// A request as a script sees it, and may change: its fields and its path.
#[derive(Debug, Default)]
pub struct ScriptedRequest {
    /// The method.
    pub method: Method,
    /// Path and query, as servers get them; the whole URL at the proxy, and there host and port of
    /// a tunnel (`CONNECT`).
    pub uri: Uri,
    /// The header fields.
    pub headers: HeaderMap,
    /// The host asked for, lower-case and without a port; an address as it is written.
    pub host: String,
    /// `http` or `https`, by the client's connection.
    pub scheme: &'static str,
    /// The client.
    pub client: Option<IpAddr>,
    /// Variables that its hooks keep for each other.
    pub variables: ScriptVariables,
}

/// An answer that a script gives in place of the route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptAnswer {
    /// Status: 200 to 599.
    pub status: StatusCode,
    /// Fields; `Content-Type` is among them where there is a body.
    pub headers: HeaderMap,
    /// Body, of at most 1 MiB.
    pub body: Vec<u8>,
}

/// Decisions of a hook about a request, beside changes to its fields.
#[derive(Debug, Default)]
pub(crate) struct RequestChanges {
    pub(crate) is_moved: bool,
    pub(crate) answer: Option<Box<ScriptAnswer>>,
}

/// A request in the hands of a hook.
#[derive(Default)]
struct HeldRequest {
    /// The hook that holds it; none between hooks.
    hook: Option<ScriptHook>,
    request: ScriptedRequest,
    changes_made: u32,
    changes: RequestChanges,
}

/// The object `request` of all scripts of a core; empty between hooks.
#[derive(Clone, Default)]
pub(crate) struct RequestObject(Rc<RefCell<HeldRequest>>);

impl RequestObject {
    /// Lends a request to a hook.
    pub(crate) fn lend(&self, hook: ScriptHook, request: &mut ScriptedRequest) {
        let mut held = self.0.borrow_mut();
        held.hook = Some(hook);
        held.changes_made = 0;
        std::mem::swap(&mut held.request, request);
    }

    /// Takes it back, as the hook left it.
    pub(crate) fn take_back(&self, request: &mut ScriptedRequest) -> RequestChanges {
        let mut held = self.0.borrow_mut();
        held.hook = None;
        std::mem::swap(&mut held.request, request);
        std::mem::take(&mut held.changes)
    }

    fn held(&self) -> mlua::Result<(ScriptHook, RefMut<'_, HeldRequest>)> {
        let held = self.0.borrow_mut();
        let hook = held.hook.ok_or_else(|| Error::runtime("the request is over"))?;
        Ok((hook, held))
    }

    /// The request, to read it.
    fn request(&self) -> mlua::Result<RefMut<'_, ScriptedRequest>> {
        Ok(RefMut::map(self.held()?.1, |held| &mut held.request))
    }

    /// The request, to change a field of it.
    fn to_change(&self) -> mlua::Result<RefMut<'_, ScriptedRequest>> {
        let (hook, mut held) = self.held()?;
        match hook {
            ScriptHook::Request | ScriptHook::Upstream => {}
            ScriptHook::Decide | ScriptHook::Query | ScriptHook::Response | ScriptHook::Timer => {
                return Err(Error::runtime("the request was sent already; change the response"));
            }
            ScriptHook::Log => return Err(Error::runtime("the request is over")),
        }
        fields::count_change(&mut held.changes_made)?;
        Ok(RefMut::map(held, |held| &mut held.request))
    }

    /// The same with what is decided, to decide where it goes.
    fn to_decide(&self, what: &str) -> mlua::Result<RefMut<'_, HeldRequest>> {
        match self.held()? {
            (ScriptHook::Request, held) => Ok(held),
            (
                hook @ (ScriptHook::Decide
                | ScriptHook::Query
                | ScriptHook::Upstream
                | ScriptHook::Response
                | ScriptHook::Log
                | ScriptHook::Timer),
                _,
            ) => Err(Error::runtime(format!("{} cannot {what}; do it in on_request", hook.name()))),
        }
    }

    fn respond(
        &self,
        status: u16,
        body: Option<BString>,
        headers: Option<&Table>,
    ) -> mlua::Result<()> {
        let mut held = self.to_decide("respond")?;
        let mut fields = HeaderMap::new();
        for pair in headers.into_iter().flat_map(Table::pairs::<BString, BString>) {
            let (name, value) = pair?;
            fields::set(&mut fields, &name, &value)?;
        }
        let body = body.map(Vec::from).unwrap_or_default();
        let answer = ScriptAnswer::new(&held.request.method, status, fields, body);
        held.changes.answer = Some(Box::new(answer.map_err(Error::runtime)?));
        Ok(())
    }

    fn redirect(&self, to: &[u8], status: Option<u16>) -> mlua::Result<()> {
        let status = status.unwrap_or(302);
        let known = [301, 302, 303, 307, 308].contains(&status);
        let code = StatusCode::from_u16(status).ok().filter(|_| known);
        let status =
            code.ok_or_else(|| Error::runtime("a redirect has status 301, 302, 303, 307 or 308"))?;
        let headers = HeaderMap::from_iter([(LOCATION, fields::checked_value(to)?)]);
        let answer = ScriptAnswer { status, headers, body: Vec::new() };
        self.to_decide("redirect")?.changes.answer = Some(Box::new(answer));
        Ok(())
    }

    fn set_path(&self, path: &[u8]) -> mlua::Result<()> {
        let mut held = self.to_decide("set the path")?;
        held.request.set_path(path).map_err(Error::runtime)?;
        held.changes.is_moved = true;
        Ok(())
    }
}

impl UserData for RequestObject {
    fn register(registry: &mut UserDataRegistry<Self>) {
        // Methods are found by name at once, without a look-up of the field that holds them.
        registry.enable_namecall();
        Self::add_fields(registry);
        Self::add_methods(registry);
    }

    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("method", |_, this| Ok(this.request()?.method.to_string()));
        fields.add_field_method_get("path", |_, this| Ok(this.request()?.uri.path().to_owned()));
        fields.add_field_method_get("query", |_, this| {
            Ok(this.request()?.uri.query().map(str::to_owned))
        });
        fields.add_field_method_get("host", |_, this| Ok(this.request()?.host.clone()));
        fields.add_field_method_get("scheme", |_, this| Ok(this.request()?.scheme));
        fields.add_field_method_get("client", |_, this| {
            let client = this.request()?.client;
            Ok(client.map(|client| client.to_string()))
        });
        fields.add_field_method_get("url", |_, this| {
            let request = this.request()?;
            let ScriptedRequest { scheme, host, uri, .. } = &*request;
            Ok(match uri.authority() {
                Some(_) => uri.to_string(),
                None => format!("{scheme}://{host}{uri}"),
            })
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("header", |lua, this, name: BString| {
            fields::first(lua, &this.request()?.headers, &name)
        });
        methods.add_method("headers", |lua, this, name: BString| {
            fields::all(lua, &this.request()?.headers, &name)
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
        methods
            .add_method("var", |_, this, name: BString| Ok(this.request()?.variables.get(&name)));
        methods.add_method("set_var", |_, this, (name, value): (BString, Value)| {
            this.request()?.variables.set(&name, value)
        });
        methods.add_method("set_path", |_, this, path: BString| this.set_path(&path));
        methods.add_method(
            "respond",
            |_, this, (status, body, headers): (u16, Option<BString>, Option<Table>)| {
                this.respond(status, body, headers.as_ref())
            },
        );
        methods.add_method("redirect", |_, this, (to, status): (BString, Option<u16>)| {
            this.redirect(&to, status)
        });
    }
}
