//! Records of one's own: addresses by rules about names, records by zone files, and other names to
//! ask for.
//!
//! Texts are handed in, answers are kept as the bytes that go out, and giving one is a copy. It
//! opens no file, looks nothing up, and knows no policy. Filled by `mosdns-compat`, asked by the
//! machine.

mod generate;
mod hosts;
mod redirect;
mod scan;
mod values;
mod zone;

pub use generate::{GENERATED_MAX, GenerateFault};
pub use hosts::{BadEntry, HOST_ADDRESSES_MAX, HostsBuilder, HostsTable};
pub use redirect::{RedirectBuilder, RedirectTable};
pub use scan::{LINE_BYTES_MAX, ScanFault};
pub use values::BadValue;
pub use zone::{
    BadZone, INCLUDE_DEPTH_MAX, Include, RECORDS_MAX, TTL_DEFAULT_S, ZONE_BYTES_MAX, ZoneBuilder,
    ZoneFault, ZoneTable,
};

/// Tells whether an answer was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordsAnswered {
    /// Was, as a whole message.
    Yes,
    /// Was not: there is nothing here for that question.
    No,
}
