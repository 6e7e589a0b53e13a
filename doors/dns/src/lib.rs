//! door-dns
