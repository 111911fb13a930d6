//! What only the embedded backend has.
