//! Shared by measurements (`bench`) and attacks (`torture`): the released program as a process of
//! its own, on a store that outlives it, and a relay in place of the network.

pub mod relay;
pub mod server;
