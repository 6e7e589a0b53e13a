//! door-gateway
