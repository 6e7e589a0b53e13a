//! Any line of a redirector: it is an answer, or none, and what it leads to can be sent on.
#![no_main]

use http::HeaderValue;
use libfuzzer_sys::fuzz_target;
use redirector::{HelperAnswer, HelperProtocol, read_answer};

fuzz_target!(|data: &[u8]| {
    let Ok(line) = std::str::from_utf8(data) else { return };
    for protocol in [HelperProtocol::Squid, HelperProtocol::Polipo] {
        for concurrency in [0, 8] {
            match read_answer(protocol, concurrency, line) {
                Some(HelperAnswer::Redirect(status, url)) => {
                    assert!(status.is_redirection() && is_url(&url), "{url}");
                }
                Some(HelperAnswer::Rewrite(url)) => assert!(is_url(&url), "{url}"),
                Some(HelperAnswer::Unchanged | HelperAnswer::Failed) | None => {}
            }
        }
    }
});

fn is_url(url: &str) -> bool {
    url.starts_with("http") && HeaderValue::from_str(url).is_ok()
}
