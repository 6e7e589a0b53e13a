//! Any text as the URL of a server: what is taken prints as a text that means the same, and stands
//! for a `Host` that a request can carry.
#![no_main]

use libfuzzer_sys::fuzz_target;
use origins::{OriginServer, SOCKET_PATH_BYTES_MAX};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(server) = text.parse::<OriginServer>() else { return };
    let printed = server.to_string();
    assert_eq!(
        printed.parse::<OriginServer>().as_ref(),
        Ok(&server),
        "{text:?} became {printed:?}"
    );
    let authority = server.authority();
    assert!(authority.bytes().all(|byte| byte.is_ascii_graphic()), "{authority:?}");
    assert!(!authority.contains(['/', '@', '?', '#']), "{authority:?}");
    // A host may be called `unix`, too.
    let socket = printed.strip_prefix("unix:").or_else(|| printed.strip_prefix("h2c+unix:"));
    if let Some(path) = socket {
        assert!(path.starts_with('/') && path.len() <= SOCKET_PATH_BYTES_MAX);
        assert!(!server.is_secure());
    }
});
