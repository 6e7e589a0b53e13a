//! JSONP: the name of the function that an address asks to be called.
//!
//! What stands in an address becomes part of a script that runs in somebody's page, so a name is
//! letters, digits, `_`, `$` and dots, and all else is no name. Never decodes. Called by `null`.

/// Longest name that is called, in bytes.
const CALLBACK_BYTES_MAX: usize = 128;
/// Parameters in which callbacks are named.
const CALLBACK_PARAMETERS: [&str; 7] =
    ["callback", "jsonp", "jsoncallback", "json_callback", "jsonpcallback", "_callback", "cb"];

/// What stands around the name. One that does not exist, or that throws, is no error on the page;
/// the comment in front keeps the body from being read as anything but a script.
pub(crate) const CALLBACK_WRAPPING: [&str; 2] = ["/**/try{", "({})}catch(e){}"];

/// The callback that a query names, if it is the name of a function and nothing else.
pub(crate) fn named(query: &str) -> Option<&str> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(word, _)| CALLBACK_PARAMETERS.iter().any(|known| known.eq_ignore_ascii_case(word)))
        .map(|(_, name)| name)
        .filter(|name| is_function_name(name))
}

/// Identifiers joined by dots: nothing that could be more than a name.
fn is_function_name(name: &str) -> bool {
    let is_identifier = |part: &str| {
        let mut bytes = part.bytes();
        let starts = bytes.next().is_some_and(|it| it.is_ascii_alphabetic() || b"_$".contains(&it));
        starts && bytes.all(|it| it.is_ascii_alphanumeric() || b"_$".contains(&it))
    };
    name.len() <= CALLBACK_BYTES_MAX && name.split('.').all(is_identifier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_a_name_and_nothing_else() {
        assert_eq!(named("a=1&callback=jQuery1_2&b"), Some("jQuery1_2"));
        assert_eq!(named("CB=a.b.$c"), Some("a.b.$c"));
        for hostile in [
            "callback=alert(1)",
            "callback=a;b",
            "callback=",
            "callback=a..b",
            "callback=1a",
            "callback=%61",
            "callback=a'b",
            "cb=5829301",
            "callbacks=a",
            "",
        ] {
            assert_eq!(named(hostile), None, "{hostile}");
        }
        assert_eq!(named(&format!("cb={}", "a".repeat(CALLBACK_BYTES_MAX + 1))), None);
    }
}
