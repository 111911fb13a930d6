//! The words of the log: kinds of records, and actions on them. Stores keep the numbers, so a
//! number is never given to another word.

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($word:ident = $code:literal $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($word,)+
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$word,)+];

            /// The number under which stores keep the word.
            pub const fn code(self) -> u64 {
                match self { $(Self::$word => $code,)+ }
            }

            pub const fn from_code(code: u64) -> Option<Self> {
                match code { $($code => Some(Self::$word),)+ _ => None }
            }

            /// The word as callers read and write it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$word => $text,)+ }
            }

            pub fn from_text(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text)
            }
        }
    };
}

words! {
    /// A kind of records.
    Resource {
        Issue = 1 "issue",
        CoreProfile = 2 "core_profile",
        AppProfile = 3 "app_profile",
        Task = 4 "task",
        App = 5 "app",
        Agent = 6 "agent",
        Queue = 7 "queue",
        Key = 8 "key",
        Domain = 9 "domain",
        Webhook = 10 "webhook",
    }
}

words! {
    /// An action on a record.
    ChangeAction {
        Created = 1 "created",
        Updated = 2 "updated",
        Deleted = 3 "deleted",
        Completed = 4 "completed",
        Revoked = 5 "revoked",
        Redacted = 6 "redacted",
        Erased = 7 "erased",
    }
}
