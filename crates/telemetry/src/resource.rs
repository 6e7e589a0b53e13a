//! The resource of all signals: this program, this process, and what its owner says of it.

use crate::attributes::text;
use crate::trace_context::TraceId;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use std::collections::BTreeMap;
use std::sync::OnceLock;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The resource with these attributes, which outrank ours.
pub(crate) fn resource(own: &BTreeMap<String, String>) -> Resource {
    static INSTANCE: OnceLock<String> = OnceLock::new();
    let instance = INSTANCE.get_or_init(|| uuid_text(TraceId::random()));
    let ours = [
        ("service.name", "tidegate"),
        ("service.version", VERSION),
        ("service.instance.id", instance),
    ];
    let ours = ours.into_iter().filter(|(name, _)| !own.contains_key(*name));
    let theirs = own.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let attributes = ours.chain(theirs).map(|(name, value)| text(name, value)).collect();
    Resource { attributes, ..Resource::default() }
}

/// The scope of everything that is exported.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "tidegate".into(),
        version: VERSION.into(),
        ..InstrumentationScope::default()
    }
}

/// A random UUID of version 4 (RFC 9562 §5.4).
fn uuid_text(random: TraceId) -> String {
    let bits = u128::from_be_bytes(random.bytes());
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let text = format!("{bits:032x}");
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_of_the_owner_outranks_ours() {
        let own = BTreeMap::from([("service.name".to_owned(), "edge".to_owned())]);
        let told = format!("{:?}", resource(&own));
        assert!(told.contains("edge") && !told.contains("\"tidegate\""), "{told}");
        let uuid = uuid_text(TraceId::random());
        assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"));
    }
}
