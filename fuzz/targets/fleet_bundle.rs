//! What comes from a place of bundles that is not trusted: envelopes, manifests, tokens, parts.
//! Nothing is believed that was not signed, and no path of a manifest leads out of its folder.
#![no_main]

use fleet_bundle::{
    BundleManifest, ContentDigest, EnrolmentToken, PayloadKind, SignedEnvelope, TrustedKeys,
    read_chunk,
};
use libfuzzer_sys::fuzz_target;
use std::path::Component;

fuzz_target!(|input: &[u8]| {
    if let Ok(envelope) = SignedEnvelope::read(input) {
        // A key that nobody has the private half of.
        let key = "ed25519:yxgUfdSxIKu59LcSvdf8uuVo93N6nDUWzNTn8jG0n+0=".parse().expect("a key");
        let trusted = TrustedKeys { keys: vec![key], signatures: 1 };
        assert!(envelope.open(PayloadKind::Manifest, &trusted).is_err());
    }
    if let Ok(manifest) = BundleManifest::read(input) {
        for file in &manifest.files {
            let parts = || file.path.as_path().components();
            assert!(parts().all(|part| matches!(part, Component::Normal(_))));
            assert!(parts().count() > 0);
            let sum: u64 = file.chunks.iter().map(|chunk| u64::from(chunk.size)).sum();
            assert_eq!(sum, file.size);
        }
        let again = BundleManifest::read(&manifest.to_json());
        assert_eq!(again.as_ref(), Ok(&manifest));
    }
    if let Ok(token) = EnrolmentToken::from_text(&String::from_utf8_lossy(input)) {
        let text = token.to_text();
        assert!(EnrolmentToken::from_text(&text).is_ok());
    }
    let (size, bytes) = input.split_at(input.len().min(4));
    let size = size.first_chunk().map_or(0, |it| u32::from_le_bytes(*it));
    if let Ok(content) = read_chunk(bytes, &ContentDigest::of(bytes), size) {
        assert_eq!(content.len(), size as usize);
    }
});
