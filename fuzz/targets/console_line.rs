//! A line of the console: a command, a complaint, or talk that is not the console's. Whatever
//! begins like a request of HTTP is no command.
#![no_main]

use libfuzzer_sys::fuzz_target;
use line_console::{ConsoleCommand, ConsoleLine, read_line};

fuzz_target!(|data: &[u8]| {
    for line in data.split(|byte| *byte == b'\n') {
        let Ok(read) = read_line(line) else { continue };
        let text = std::str::from_utf8(line).expect("a line that was read is text");
        assert!(!text.trim_end().ends_with(" HTTP/1.1"), "{text}");
        assert!(!text.starts_with("POST /") && !text.starts_with("Host: "), "{text}");
        if let ConsoleLine::Words { verb, rest } = &read {
            assert!(!verb.is_empty() && !verb.contains([' ', '\t']));
            assert!(!rest.contains(['\r', '\t', '\0']));
        }
        match ConsoleCommand::parse(&read) {
            Ok(Some(ConsoleCommand::Set { target, value })) => {
                assert!(!target.is_empty() && !value.is_empty());
            }
            Ok(_) => {}
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
});
