//! door-pixel
