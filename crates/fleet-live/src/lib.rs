//! State that a fleet shares while it runs, in Valkey or Redis.

mod settings;

pub use settings::LiveSettings;
