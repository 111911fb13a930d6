//! Shared by measurements (`bench`) and attacks (`torture`): the released program as a process of
//! its own, on a store that outlives it.

pub mod server;
