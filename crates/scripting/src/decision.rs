//! A request as `on_decide` sees it, and the verdict that the hook may give.

use crate::deadline;
use mlua::{Error, Lua, UserData, UserDataFields, UserDataMethods, UserDataRegistry};
use policy::{Ask, Verdict};
use std::cell::{RefCell, RefMut};
use std::net::IpAddr;
use std::rc::Rc;
use vocab::{Action, Door, MacAddress, RequestKind};

/// Characters of a reason; what is longer is cut.
const REASON_CHARS_MAX: usize = 200;

/// A verdict that a script gives in place of that of the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GivenVerdict {
    pub(crate) action: Action,
    /// The line that gave it.
    pub(crate) line: u32,
    pub(crate) reason: String,
}

/// A request in the hands of a hook.
#[derive(Default)]
struct HeldDecision {
    is_lent: bool,
    door: Option<Door>,
    client: Option<IpAddr>,
    kind: Option<RequestKind>,
    verdict: Option<Action>,
    host: String,
    /// Empty where there is none, as are those below.
    url: String,
    page: String,
    user: String,
    id: String,
    interface: String,
    mac: Option<MacAddress>,
    given: Option<GivenVerdict>,
}

/// The object `question` of all scripts of a core; empty between hooks.
#[derive(Clone, Default)]
pub(crate) struct DecisionObject(Rc<RefCell<HeldDecision>>);

impl DecisionObject {
    /// Lends a request to a hook.
    pub(crate) fn lend(&self, ask: &Ask<'_>, verdict: Verdict) {
        let mut held = self.0.borrow_mut();
        let held = &mut *held;
        let who = ask.identity.copied().unwrap_or_default();
        let texts = [
            (&mut held.host, Some(ask.host.as_str())),
            (&mut held.url, ask.url),
            (&mut held.page, ask.page.as_ref().map(|page| page.as_str())),
            (&mut held.user, who.user),
            (&mut held.id, who.id),
            (&mut held.interface, who.interface),
        ];
        // The buffers stay, so that a question costs no allocation.
        for (buffer, text) in texts {
            buffer.clear();
            buffer.push_str(text.unwrap_or_default());
        }
        held.door = Some(ask.door);
        held.client = Some(ask.client);
        held.kind = Some(ask.kind);
        held.verdict = Some(verdict.action);
        held.mac = who.mac;
        held.given = None;
        held.is_lent = true;
    }

    /// Takes it back, with the verdict that the hook gave.
    pub(crate) fn take_back(&self) -> Option<GivenVerdict> {
        let mut held = self.0.borrow_mut();
        held.is_lent = false;
        held.given.take()
    }

    fn held(&self) -> mlua::Result<RefMut<'_, HeldDecision>> {
        let held = self.0.borrow_mut();
        if held.is_lent { Ok(held) } else { Err(Error::runtime("the question is over")) }
    }
}

impl UserData for DecisionObject {
    fn register(registry: &mut UserDataRegistry<Self>) {
        registry.enable_namecall();
        Self::add_fields(registry);
        Self::add_methods(registry);
    }

    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("door", |_, this| Ok(this.held()?.door.map(Door::as_str)));
        fields.add_field_method_get("host", |_, this| Ok(this.held()?.host.clone()));
        fields.add_field_method_get("url", |_, this| Ok(filled(&this.held()?.url)));
        fields.add_field_method_get("page", |_, this| Ok(filled(&this.held()?.page)));
        fields.add_field_method_get("kind", |_, this| {
            Ok(this.held()?.kind.map(|kind| kind.to_string()))
        });
        fields.add_field_method_get("client", |_, this| {
            Ok(this.held()?.client.map(|client| client.to_string()))
        });
        fields.add_field_method_get("user", |_, this| Ok(filled(&this.held()?.user)));
        fields.add_field_method_get("id", |_, this| Ok(filled(&this.held()?.id)));
        fields.add_field_method_get("interface", |_, this| Ok(filled(&this.held()?.interface)));
        fields
            .add_field_method_get("mac", |_, this| Ok(this.held()?.mac.map(|mac| mac.to_string())));
        fields.add_field_method_get("verdict", |_, this| {
            Ok(this.held()?.verdict.map(Action::as_str))
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("block", |lua, this, reason: String| {
            this.give(lua, Action::Block, &reason)
        });
        methods
            .add_method("pass", |lua, this, reason: String| this.give(lua, Action::Pass, &reason));
    }
}

impl DecisionObject {
    fn give(&self, lua: &Lua, action: Action, reason: &str) -> mlua::Result<()> {
        let (_, line) = deadline::running_line(lua).unwrap_or_default();
        let reason: String = reason
            .chars()
            .take(REASON_CHARS_MAX)
            .map(|character| if character.is_control() { ' ' } else { character })
            .collect();
        self.held()?.given = Some(GivenVerdict { action, line, reason });
        Ok(())
    }
}

fn filled(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
