//! Shared by measurements (`bench`) and attacks (`torture`): the released program as a process of
//! its own, on a store that outlives it, a relay in place of the network, and a task.

pub mod relay;
pub mod server;
pub mod small_task;
