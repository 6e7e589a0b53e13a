//! A DNS question as a script sees it, and the answers that it may give.

use mlua::{
    Error, FromLua, Lua, UserData, UserDataFields, UserDataMethods, UserDataRegistry, Value,
};
use std::cell::{RefCell, RefMut};
use std::net::IpAddr;
use std::rc::Rc;

/// Addresses of one answer: what one of Tidegate's own has at most.
const ADDRESSES_MAX: usize = 8;
/// Seconds for which clients may keep an answer, where the script says nothing.
const TTL_S: u32 = 60;
/// Seconds for which clients may keep an answer at most: a day.
const TTL_S_MAX: u32 = 86_400;

/// A DNS question as a script sees it.
#[derive(Clone, Debug)]
pub struct ScriptedQuery<'q> {
    /// The name, lower-case and without the last dot.
    pub name: &'q str,
    /// The type, as `AAAA` or `TYPE65280`.
    pub kind: &'q str,
    /// The client.
    pub client: IpAddr,
}

/// An answer that a script gives to a question, which nobody is asked then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryAnswer {
    /// These addresses, at most 8, to be kept for so many seconds. Those of the other family are
    /// left out.
    Addresses(Vec<IpAddr>, u32),
    /// The name has nothing of this type, for so many seconds.
    NoData(u32),
    /// No such name, for so many seconds.
    NxDomain(u32),
    /// REFUSED.
    Refused,
}

/// A question in the hands of a hook.
#[derive(Default)]
struct HeldQuery {
    is_lent: bool,
    name: String,
    kind: String,
    client: Option<IpAddr>,
    answer: Option<QueryAnswer>,
}

/// The object `query` of all scripts of a core; empty between hooks.
#[derive(Clone, Default)]
pub(crate) struct QueryObject(Rc<RefCell<HeldQuery>>);

impl QueryObject {
    /// Lends a question to a hook.
    pub(crate) fn lend(&self, query: &ScriptedQuery<'_>) {
        let mut held = self.0.borrow_mut();
        let HeldQuery { is_lent, name, kind, client, answer } = &mut *held;
        // The buffers stay, so that a question costs no allocation.
        name.clear();
        name.push_str(query.name);
        kind.clear();
        kind.push_str(query.kind);
        *client = Some(query.client);
        *answer = None;
        *is_lent = true;
    }

    /// Takes it back, with the answer that the hook gave.
    pub(crate) fn take_back(&self) -> Option<QueryAnswer> {
        let mut held = self.0.borrow_mut();
        held.is_lent = false;
        held.answer.take()
    }

    fn query(&self) -> mlua::Result<RefMut<'_, HeldQuery>> {
        let held = self.0.borrow_mut();
        if held.is_lent { Ok(held) } else { Err(Error::runtime("the query is over")) }
    }

    fn answer(&self, answer: QueryAnswer) -> mlua::Result<()> {
        self.query()?.answer = Some(answer);
        Ok(())
    }
}

impl UserData for QueryObject {
    fn register(registry: &mut UserDataRegistry<Self>) {
        registry.enable_namecall();
        Self::add_fields(registry);
        Self::add_methods(registry);
    }

    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("name", |lua, this| lua.create_string(&this.query()?.name));
        fields.add_field_method_get("type", |lua, this| lua.create_string(&this.query()?.kind));
        fields.add_field_method_get("client", |_, this| {
            Ok(this.query()?.client.map(|client| client.to_string()))
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("respond", |lua, this, (to, ttl): (Value, Option<u32>)| {
            this.answer(QueryAnswer::Addresses(addresses(lua, to)?, checked_ttl(ttl)?))
        });
        methods.add_method("nodata", |_, this, ttl: Option<u32>| {
            this.answer(QueryAnswer::NoData(checked_ttl(ttl)?))
        });
        methods.add_method("nxdomain", |_, this, ttl: Option<u32>| {
            this.answer(QueryAnswer::NxDomain(checked_ttl(ttl)?))
        });
        methods.add_method("refuse", |_, this, ()| this.answer(QueryAnswer::Refused));
    }
}

/// The addresses of a text or of a table of texts.
fn addresses(lua: &Lua, value: Value) -> mlua::Result<Vec<IpAddr>> {
    let texts = match value {
        Value::Table(table) => {
            // A table may be of any length; what is too many is seen one behind the last.
            let texts = table.sequence_values::<String>().take(ADDRESSES_MAX + 1);
            texts.collect::<mlua::Result<Vec<_>>>()?
        }
        one => vec![String::from_lua(one, lua)?],
    };
    if texts.is_empty() || texts.len() > ADDRESSES_MAX {
        let why = format!("an answer has 1 to {ADDRESSES_MAX} addresses; for none, say nodata");
        return Err(Error::runtime(why));
    }
    let parse =
        |text: &String| text.parse().map_err(|_| Error::runtime(format!("{text:?} is no address")));
    texts.iter().map(parse).collect()
}

fn checked_ttl(ttl: Option<u32>) -> mlua::Result<u32> {
    let ttl = ttl.unwrap_or(TTL_S);
    if ttl > TTL_S_MAX {
        return Err(Error::runtime(format!("a TTL of {ttl} is longer than a day")));
    }
    Ok(ttl)
}
