//! tidegate-tests
