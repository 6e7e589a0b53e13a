//! http-engine
