//! How the DNS door answers for what is blocked: a word of the settings, for all clients or for
//! some.
//!
//! It writes no answer: the door does. Read as a part of the sections `dns` and `policy`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tells how blocked names are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BlockStyle {
    /// `pixel` where the pixel door has addresses, else `nodata`.
    #[default]
    Auto,
    /// The pixel door's addresses; a family without one gets an empty answer.
    Pixel,
    /// An empty answer.
    Nodata,
    /// No such name.
    Nxdomain,
    /// The addresses `0.0.0.0` and `::`, to which nothing connects.
    Null,
    /// The response code REFUSED. Some clients then ask another resolver.
    Refused,
}
