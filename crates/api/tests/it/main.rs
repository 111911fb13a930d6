//! Tests of the HTTP APIs through a real listener: one file per resource and call, and further
//! files for the rules that apply to every path. `scripted_store` is a store double, for states and
//! faults that a real store would reach only after a wait.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agents {
    mod list;
}
mod apps {
    mod list;
}
mod attachments {
    mod get;
}
mod base_url;
mod browsers;
mod budget;
mod bulk_actions {
    mod cancel;
    mod create;
    mod create_compressed;
    mod create_faults;
    mod create_json;
    mod create_repeated;
    mod create_staged;
    mod dry_run;
    mod entry_faults;
    mod expiry;
    mod follow;
    mod list;
    mod mend;
    mod other_domain;
    mod other_server;
    mod results;
    mod results_files;
    mod retry;
    mod round_trip;
    mod status;
    mod support;
    mod upsert_issues;
}
mod changes;
mod connections;
mod console;
mod deletions;
mod erasures;
mod everywhere;
mod followed;
mod front_page;
mod heads;
mod health {
    mod get;
}
mod histories;
mod imports {
    mod assignees;
    mod create;
    mod doubles;
    mod parts;
    mod preview;
    mod slow;
    mod support;
    mod tables_come_back;
    mod words;
}
mod issues {
    mod counts;
    mod create;
    mod durations;
    mod edit;
    mod etags;
    mod get;
    mod json_bodies;
    mod lifecycle;
    mod limits;
    mod list;
    mod list_by_cursor;
    mod list_filters;
    mod list_forms;
    pub(crate) mod list_stream;
    mod list_tables;
    mod members;
    mod message_lists;
    mod messages;
    mod private_notes;
    pub(crate) mod support;
    mod tags;
    mod write_faults;
}
mod keys;
mod library_defaults;
mod metrics;
mod openapi;
mod orders;
mod profiles {
    mod get;
    mod list;
    mod person;
}
mod queues {
    mod list;
}
mod quotas;
mod rates;
mod real_server;
mod redactions;
mod revoked;
mod scripted_imports;
mod scripted_store;
mod server;
mod shutdown;
mod still_clock;
mod tls;
mod views;
mod webhooks;
mod wire;
