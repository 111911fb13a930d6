//! What measurements (`bench`) and attacks (`torture`) share: the released program as a process of
//! its own, with a store that outlives it.

pub mod server;
