//! Items of streams as the server sends them, in RESP2 and in RESP3.

use redis::{Value, from_redis_value};
use std::collections::HashMap;

/// Item of a stream.
pub(super) struct StreamItem {
    pub(super) id: String,
    pub(super) fields: HashMap<String, String>,
}

/// Answer to `XREAD`: the items of each stream; none of what is none.
pub(super) fn pages(value: Value) -> Option<Vec<(String, Vec<StreamItem>)>> {
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
pub(super) fn items(value: Value) -> Option<Vec<StreamItem>> {
    let Value::Array(items) = value else { return None };
    items.into_iter().map(item).collect()
}

fn item(value: Value) -> Option<StreamItem> {
    let (id, fields) = pair(value)?;
    Some(StreamItem { id: from_redis_value(id).ok()?, fields: from_redis_value(fields).ok()? })
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
    fn what_is_no_page_is_none() {
        let odd =
            Value::Array(vec![Value::Array(vec![text("1-0"), Value::Array(vec![text("k")])])]);
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
