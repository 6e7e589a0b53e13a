//! Items of streams as the server sends them, in RESP2 and in RESP3.

use redis::{Value, from_redis_value};
use std::collections::HashMap;

/// Longest id that is one: two numbers.
const ID_BYTES_MAX: usize = 41;

/// Item of a stream.
pub(crate) struct StreamItem {
    pub(crate) id: String,
    /// Fields that are text; none of an item that has others.
    pub(crate) fields: HashMap<String, String>,
}

/// Answer to `XREAD`: the items of each stream; none of what is none.
pub(crate) fn pages(value: Value) -> Option<Vec<(String, Vec<StreamItem>)>> {
    let pairs: Vec<(Value, Value)> = match value {
        Value::Nil => return Some(Vec::new()),
        Value::Map(pairs) => pairs,
        Value::Array(streams) => {
            streams.into_iter().map(pair).collect::<Option<Vec<(Value, Value)>>>()?
        }
        _ => return None,
    };
    let page = |(key, value): (Value, Value)| Some((from_redis_value(key).ok()?, items(value)?));
    pairs.into_iter().map(page).collect()
}

/// Answer to `XRANGE`; none of what is none.
pub(crate) fn items(value: Value) -> Option<Vec<StreamItem>> {
    let Value::Array(items) = value else { return None };
    items.into_iter().map(item).collect()
}

fn item(value: Value) -> Option<StreamItem> {
    let (id, fields) = pair(value)?;
    let id: String = from_redis_value(id).ok()?;
    let is_id = |it: u8| it.is_ascii_digit() || it == b'-';
    if id.len() > ID_BYTES_MAX || !id.bytes().all(is_id) {
        return None;
    }
    Some(StreamItem { id, fields: from_redis_value(fields).unwrap_or_default() })
}

fn pair(value: Value) -> Option<(Value, Value)> {
    let Value::Array(two) = value else { return None };
    let [one, two]: [Value; 2] = two.try_into().ok()?;
    Some((one, two))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    fn one_item() -> Value {
        let fields = Value::Array(vec![text("k"), text("a"), text("v"), text("b")]);
        Value::Array(vec![Value::Array(vec![text("1-0"), fields])])
    }

    #[test]
    fn both_protocols_are_read() {
        for value in [
            Value::Map(vec![(text("s"), one_item())]),
            Value::Array(vec![Value::Array(vec![text("s"), one_item()])]),
        ] {
            let read = pages(value).unwrap();
            let (key, items) = &read[0];
            assert_eq!((key.as_str(), items[0].id.as_str()), ("s", "1-0"));
            assert_eq!(items[0].fields["v"], "b");
        }
        assert!(pages(Value::Nil).unwrap().is_empty());
    }

    #[test]
    fn an_item_whose_fields_are_no_text_is_read_with_none() {
        for fields in [
            Value::Array(vec![text("k")]),
            Value::Array(vec![text("k"), Value::BulkString(vec![0xff])]),
            Value::Nil,
        ] {
            let read = items(Value::Array(vec![Value::Array(vec![text("1-0"), fields])])).unwrap();
            assert!(read[0].fields.is_empty());
        }
    }

    #[test]
    fn what_is_no_page_is_none() {
        let odd = Value::Array(vec![Value::Array(vec![text("+"), Value::Array(vec![text("k")])])]);
        for value in [
            Value::Int(1),
            Value::Array(vec![text("s")]),
            Value::Map(vec![(text("s"), Value::Int(1))]),
            Value::Map(vec![(text("s"), odd)]),
        ] {
            assert!(pages(value).is_none());
        }
    }
}
