//! dns-wire
