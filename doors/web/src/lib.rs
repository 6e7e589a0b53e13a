//! door-web
