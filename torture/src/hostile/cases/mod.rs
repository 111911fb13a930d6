//! The attacks by name. Each is a function of the arena: it attacks, fails if it reaches further
//! than it may, and otherwise says how it was held.

mod browsers;
mod connections;
mod files;
mod keys;
mod limits;
mod memory;
mod packed;
mod quotas;
mod reads;
mod rows;
mod tasks;
mod writes;

use std::pin::Pin;

use anyhow::Result;
use caseload_teststore::Backend;

use super::arena::Arena;

/// A running attack.
pub(super) type Attacking<'a> = Pin<Box<dyn Future<Output = Result<String>> + Send + 'a>>;

/// An attack.
pub(crate) struct Case {
    /// Cases of one group make one test.
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    /// The reach that it must not exceed.
    pub(crate) reach: &'static str,
    /// The backend that it is about, if it is not about both.
    pub(crate) only: Option<Backend>,
    /// Whether there is no calm tenant, because the server is killed or its rows are damaged.
    pub(crate) alone: bool,
    /// Whether it takes minutes.
    pub(crate) long: bool,
    /// Further arguments of the server.
    pub(crate) arguments: &'static [&'static str],
    pub(crate) attack: fn(&mut Arena) -> Attacking<'_>,
}

impl Case {
    pub(crate) fn is_for(&self, backend: Backend) -> bool {
        self.only.is_none_or(|only| only == backend)
    }

    /// A case of few seconds, for both backends.
    const fn new(
        group: &'static str,
        name: &'static str,
        reach: &'static str,
        attack: fn(&mut Arena) -> Attacking<'_>,
    ) -> Self {
        let (only, arguments) = (None, &[] as &[_]);
        Self { group, name, reach, only, alone: false, long: false, arguments, attack }
    }

    const fn of_file(self) -> Self {
        Self { only: Some(Backend::Sqlite), ..self }
    }

    const fn of_database(self) -> Self {
        Self { only: Some(Backend::Postgres), ..self }
    }

    const fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    const fn long(self) -> Self {
        Self { long: true, ..self }
    }

    const fn with(self, arguments: &'static [&'static str]) -> Self {
        Self { arguments, ..self }
    }
}

/// Makes an attack of an `async` function.
macro_rules! attack {
    ($function:path) => {
        |arena| Box::pin($function(arena))
    };
}

/// All cases.
pub(crate) const CASES: &[Case] = &[
    Case::new(
        "limits",
        "tags-import",
        "an imported issue has at most 1,000 tags",
        attack!(limits::tags_of_an_import),
    ),
    Case::new(
        "limits",
        "tags-edit",
        "an edit sets at most 1,000 tags",
        attack!(limits::tags_of_an_edit),
    ),
    Case::new(
        "limits",
        "meta-keys",
        "an issue has at most 1,000 keys of meta",
        attack!(limits::keys_of_meta),
    ),
    Case::new(
        "limits",
        "custom-fields",
        "an issue has at most 1,000 custom fields",
        attack!(limits::custom_fields),
    ),
    Case::new(
        "limits",
        "messages",
        "an issue has 10,000 messages, a message 100 attachments",
        attack!(limits::messages),
    ),
    Case::new(
        "limits",
        "edit-times-issues",
        "a bulk edit writes at most 8 MiB",
        attack!(limits::an_edit_times_its_issues),
    ),
    Case::new(
        "limits",
        "parameters",
        "a query has 100 parameters, an answer 100 faults",
        attack!(limits::parameters),
    ),
    Case::new(
        "limits",
        "faults",
        "an entry has at most 100 faults",
        attack!(limits::faults_of_an_entry),
    ),
    Case::new(
        "limits",
        "last-id",
        "imported ids leave ids for new issues",
        attack!(limits::the_last_id),
    ),
    Case::new(
        "limits",
        "cancel",
        "a task is cancelled while the writer is busy",
        attack!(limits::cancel_at_work),
    ),
    Case::new(
        "memory",
        "unread-pages",
        "pages that are not read draw from one budget",
        attack!(memory::unread_pages),
    ),
    Case::new(
        "memory",
        "unread-streams",
        "streams that are not read draw from one budget",
        attack!(memory::unread_streams),
    ),
    Case::new(
        "memory",
        "unread-results",
        "downloads that are not read draw from one budget",
        attack!(memory::unread_results),
    ),
    Case::new(
        "memory",
        "half-bodies",
        "bodies that never end draw from one budget",
        attack!(memory::half_bodies),
    ),
    Case::new(
        "memory",
        "forty",
        "forty hostile clients at once do not exceed the budget",
        attack!(memory::forty_clients),
    ),
    Case::new(
        "memory",
        "seven-megabytes",
        "large issues do not exceed the budget either",
        attack!(memory::seven_megabytes),
    ),
    Case::new(
        "memory",
        "two-tenants",
        "two tenants leave a third one its share of the budget",
        attack!(memory::two_tenants),
    ),
    Case::new(
        "memory",
        "queued-reads",
        "a read takes memory when its turn comes",
        attack!(memory::queued_reads),
    )
    .long(),
    Case::new(
        "packed",
        "packed-forms",
        "a body unpacks to 1,000 times its bytes",
        attack!(packed::forms),
    ),
    Case::new(
        "packed",
        "part-headers",
        "the head of a part has at most 16 KiB",
        attack!(packed::part_headers),
    ),
    Case::new(
        "packed",
        "gzip-members",
        "a body has at most 1,000 gzip members",
        attack!(packed::gzip_members),
    ),
    Case::new(
        "connections",
        "never-read",
        "strangers leave a place for others",
        attack!(connections::never_read),
    )
    .with(&["--connections", "120"]),
    Case::new(
        "connections",
        "many-addresses",
        "strangers of many addresses leave a tenth",
        attack!(connections::many_addresses),
    )
    .with(&["--connections", "120"]),
    Case::new(
        "connections",
        "one-key",
        "a key has a quarter of the connections",
        attack!(connections::one_key),
    )
    .with(&["--connections", "120"]),
    Case::new(
        "connections",
        "over-the-limit",
        "a key over its limit takes no connection from others",
        attack!(connections::over_the_limit),
    )
    .with(&["--connections", "120"]),
    Case::new(
        "connections",
        "slow-sign-in",
        "the body of a sign-in comes with at least 1 KiB/s",
        attack!(connections::slow_sign_in),
    )
    .long(),
    Case::new(
        "connections",
        "slow-head",
        "a head takes at most 10 s",
        attack!(connections::slow_head),
    )
    .long(),
    Case::new(
        "connections",
        "slow-body",
        "a body comes with at least 1 KiB/s",
        attack!(connections::slow_body),
    )
    .long(),
    Case::new(
        "connections",
        "slow-answer",
        "an answer is read with at least 1 KiB/s",
        attack!(connections::slow_answer),
    )
    .long(),
    Case::new(
        "connections",
        "idle",
        "an idle connection ends after 75 s",
        attack!(connections::idle),
    )
    .long(),
    Case::new(
        "keys",
        "revoked-upload",
        "a revoked key ends an upload",
        attack!(keys::revoked_upload),
    ),
    Case::new("keys", "revoked-form", "a revoked key ends a form", attack!(keys::revoked_form)),
    Case::new(
        "keys",
        "strangers-are-logged",
        "failed authentications are logged, one a second",
        attack!(keys::strangers_are_logged),
    ),
    Case::new(
        "keys",
        "refused-access-is-logged",
        "calls for which a key lacks the access are logged, one a second",
        attack!(keys::refused_access_is_logged),
    ),
    Case::new(
        "keys",
        "two-cookies",
        "of two cookies of a session none counts",
        attack!(keys::two_cookies),
    ),
    Case::new(
        "keys",
        "sign-ins",
        "sign-ins are limited, and a key has 20 sessions",
        attack!(keys::sign_ins),
    ),
    Case::new(
        "browsers",
        "cross-site",
        "a foreign page cannot write",
        attack!(browsers::cross_site),
    ),
    Case::new(
        "browsers",
        "two-hosts",
        "a request has one valid Host",
        attack!(browsers::two_hosts),
    ),
    Case::new(
        "browsers",
        "double-slash",
        "a path has no empty part",
        attack!(browsers::double_slash),
    ),
    Case::new(
        "browsers",
        "transfer-codings",
        "an unknown transfer coding is a 501 or a 400",
        attack!(browsers::transfer_codings),
    ),
    Case::new(
        "browsers",
        "script-urls",
        "an imported attachment has a harmless URL and name",
        attack!(browsers::script_urls),
    ),
    Case::new(
        "browsers",
        "caches",
        "no cache stores a tenant's answers",
        attack!(browsers::caches),
    ),
    Case::new(
        "browsers",
        "metrics",
        "metrics have an address of their own",
        attack!(browsers::metrics),
    )
    .with(&["--admin-listen", "127.0.0.1:0"]),
    Case::new(
        "browsers",
        "metrics-rebinding",
        "a page whose name leads to this machine does not see the metrics",
        attack!(browsers::metrics_rebinding),
    ),
    Case::new(
        "files",
        "hard-link",
        "a file has one server, under any name",
        attack!(files::hard_link),
    )
    .of_file(),
    Case::new(
        "files",
        "symbolic-link",
        "a link to a served file does not help",
        attack!(files::symbolic_link),
    )
    .of_file(),
    Case::new(
        "files",
        "other-path-command",
        "a command uses a store under the server's path",
        attack!(files::other_path_command),
    )
    .of_file()
    .alone(),
    Case::new(
        "files",
        "killed-backup",
        "a killed backup leaves no data for long",
        attack!(files::killed_backup),
    )
    .of_file(),
    Case::new("files", "modes", "only the owner reads the files of a store", attack!(files::modes))
        .of_file(),
    Case::new(
        "files",
        "foreign-file",
        "an empty or foreign file is not a store",
        attack!(files::foreign_file),
    )
    .of_file(),
    Case::new(
        "files",
        "deleted-domain",
        "a deleted domain leaves no bytes",
        attack!(files::deleted_domain),
    )
    .of_file(),
    Case::new(
        "files",
        "bit-flips",
        "a flipped bit is found or harmless",
        attack!(files::bit_flips),
    )
    .of_file(),
    Case::new("quotas", "quota-bytes", "a domain stores at most its quota", attack!(quotas::bytes)),
    Case::new(
        "quotas",
        "quota-log",
        "a task that waits for its quota is one line of the log",
        attack!(quotas::log),
    ),
    Case::new(
        "quotas",
        "quota-tasks",
        "a domain has at most its quota of tasks",
        attack!(quotas::tasks),
    ),
    Case::new(
        "quotas",
        "quota-rate",
        "a domain makes at most its quota of requests",
        attack!(quotas::rate),
    ),
    Case::new(
        "reads",
        "text-filters",
        "text filters take turns with other domains",
        attack!(reads::text_filters),
    )
    .long(),
    Case::new(
        "reads",
        "fair-reads",
        "a reader does not wait for 200 clients of another domain",
        attack!(reads::fair_reads),
    )
    .long(),
    Case::new(
        "writes",
        "wide-edits",
        "a write waits for few edits of another domain, and each writes at most 8 MiB",
        attack!(writes::wide_edits),
    ),
    Case::new(
        "tasks",
        "deaths",
        "a task with which servers die ends, and loses nothing",
        attack!(tasks::deaths),
    )
    .with(&["--lease", "5"])
    .alone()
    .long(),
    Case::new(
        "tasks",
        "poison-entry",
        "an entry that does not commit fails, and the others go on",
        attack!(tasks::poison_entry),
    )
    .of_database()
    .long(),
    Case::new("rows", "row-flips", "a flipped bit of a row is found", attack!(rows::row_flips))
        .of_database()
        .alone()
        .long(),
];
