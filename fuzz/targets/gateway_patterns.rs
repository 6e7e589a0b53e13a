//! Lines of a pattern list and URLs of any bytes: nothing panics, and a plain pattern that compiles
//! is found in itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use route_matching::PatternSet;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    // The first line is a URL, the rest are patterns.
    let Some((url, lines)) = text.split_once('\n') else { return };
    let Ok(patterns) = PatternSet::compile(lines.lines()) else { return };
    if let Some(line) = patterns.hit(url) {
        assert!(patterns.text(line).is_some());
    }
    for line in lines.lines().map(str::trim) {
        let plain = !line.is_empty() && !line.starts_with(['#', '!', '~', '|']);
        if plain && !line.ends_with('|') && !line.contains('*') {
            assert!(patterns.hit(line).is_some(), "{line:?}");
        }
    }
});
