//! door-proxy
