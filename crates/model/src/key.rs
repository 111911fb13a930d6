//! The access levels of API keys. The text of a key is never stored, only its SHA-256.

use crate::task::words;

words! {
    /// The access of a key. `Write` includes `Read`, `Admin` includes `Write` and is for keys,
    /// apps, agents, queues and settings of the domain, too.
    Access {
        Read = 1 "read",
        Write = 2 "write",
        Admin = 3 "admin",
    }
}
