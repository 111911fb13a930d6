//! What callers see, through a real listener: one file per resource and verb, and further files
//! for what holds everywhere. `scripted` is a store that answers as a test says, for states and
//! faults that a real one reaches only by waiting.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bulk_actions {
    mod elsewhere;
    mod files;
    mod follow;
    mod get;
    mod post;
    mod post_faults;
    mod post_packed;
    mod records;
    mod repeat;
    mod staged;
    mod steer;
    mod whole;
}
mod everywhere;
mod health {
    mod get;
}
mod issues {
    mod attachments;
    mod cursor;
    mod filters;
    mod get;
    mod stream;
    mod tags;
    mod write;
    mod write_faults;
}
mod keys;
mod metrics;
mod openapi;
mod rates;
mod real;
mod scripted;
mod server;
mod shutdown;
mod wire;
