//! The first run: what a machine offers, and the settings that a choice becomes.
//!
//! [`MachineOffer`] looks at addresses, ports and resolvers; [`FirstRunChoice`] is what was chosen,
//! read once; [`settings_text`] writes it into a configuration's text, comments kept. It writes no
//! file, opens no door and judges no configuration: that is the program's. Called for the admin
//! API.

mod choice;
mod machine;
mod pixel_address;
mod settings_text;
mod upstreams;

pub use choice::{ChoiceError, FirstRunChoice, FirstRunPorts, confirm_within};
pub use machine::{MachineOffer, answers_this_machine_alone};
pub use pixel_address::{pixel_place, shown_at};
pub use settings_text::{STARTER, TextRefusal, settings_text};
pub use upstreams::upstream_choices;
