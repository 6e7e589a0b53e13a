//! The bypass radar: signs in the request log that a device goes around the filter.
//!
//! [`SignalKind`] says which signs there are, [`known_name`] which names belong to them, and
//! [`RadarSweep`] counts both by device. It calls nobody guilty: it tells what was asked, how often
//! and when. Rows are handed in, from the newest at most [`ROWS_MAX`] on; it reads no clock.
//! Called by the admin API.

mod known_names;
mod radar_table;
mod signal_kind;
mod sweep;

pub use known_names::known_name;
pub use radar_table::{BypassDevice, BypassName, BypassQuery, BypassSignal, BypassTable};
pub use signal_kind::SignalKind;
pub use sweep::{
    DeviceSignals, FoundName, FoundSignal, NAMES_MAX, ROWS_MAX, RadarReport, RadarSpan, RadarSweep,
    look_back,
};
