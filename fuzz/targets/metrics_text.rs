//! Any metrics page: it is read line by line, and what is no line of a page is left out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use telemetry::read_page;

fuzz_target!(|data: &[u8]| {
    let page = String::from_utf8_lossy(data);
    let families = read_page(&page);
    let samples: usize = families.iter().map(|it| it.samples.len()).sum();
    assert!(families.len() + samples <= page.lines().count());
});
