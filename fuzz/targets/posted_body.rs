//! Any posted body: redaction ends, and no secret under a key that is known for one is left.
#![no_main]

use door_pixel::RedactedKeys;
use libfuzzer_sys::fuzz_target;

const SECRET: &str = "hunter2hunter2";

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let keys = RedactedKeys::default();
    keys.redact(text);
    keys.redact_url(text);
    // Whatever follows the secret within its value, or breaks off.
    for posted in [
        format!("{{\"password\":\"{SECRET}{text}"),
        format!("{{\"password\": {{\"a\": [\"{SECRET}\", {text}"),
        format!("password={SECRET}{text}"),
        format!("--b\r\nContent-Disposition: form-data; name=\"pwd\"\r\n\r\n{SECRET}{text}"),
    ] {
        let kept = keys.redact(&posted);
        assert!(!kept.contains(SECRET) || text.contains(SECRET), "{kept}");
    }
});
