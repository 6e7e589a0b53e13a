//! Rows of a fleet's requests in `PostgreSQL`.

mod settings;

pub use settings::RowSettings;
