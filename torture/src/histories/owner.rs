//! One identity as its clients see it: the profile that it belongs to. Tasks create profiles with
//! it, update profiles so that they lose or gain it, and read profiles.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use todc_utils::specifications::Specification;

use super::checker::Operation;

/// The owner of an identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Nobody,
    /// The profile of this id.
    Profile(String),
    /// A profile whose id no client knows.
    Unknown,
}

#[derive(Debug, Clone)]
pub(super) enum OnIdentity {
    /// A profile was created with the identity: its id.
    Created(String),
    /// A profile took the identity in an update.
    Gained(String),
    /// A creation or update failed because the identity is taken.
    Refused,
    /// A creation whose result is unknown.
    PerhapsCreated,
    /// An update whose result is unknown.
    PerhapsGained(String),
    /// A profile was updated to have other identities.
    Lost(String),
    PerhapsLost(String),
    /// A read of a profile: whether it has the identity.
    Has(String, bool),
}

impl Operation for OnIdentity {
    fn is_read(&self) -> bool {
        matches!(self, Self::Has(..) | Self::Refused)
    }

    fn unanswered(&self) -> Self {
        match self.clone() {
            Self::Created(_) | Self::PerhapsCreated => Self::PerhapsCreated,
            Self::Gained(id) | Self::PerhapsGained(id) => Self::PerhapsGained(id),
            Self::Lost(id) | Self::PerhapsLost(id) => Self::PerhapsLost(id),
            read => read,
        }
    }
}

/// An identity that no profile has yet.
pub(super) struct OfIdentity;

impl Specification for OfIdentity {
    type State = Owner;
    type Operation = OnIdentity;

    fn init() -> Owner {
        Owner::Nobody
    }

    fn apply(operation: &OnIdentity, before: &Owner) -> (bool, Owner) {
        let is_free = *before == Owner::Nobody;
        // A profile whose id no client knows may turn out to be any.
        let may_be =
            |id: &String| *before == Owner::Profile(id.clone()) || *before == Owner::Unknown;
        match operation {
            OnIdentity::Created(id) => (is_free, Owner::Profile(id.clone())),
            OnIdentity::Gained(id) => (is_free || may_be(id), Owner::Profile(id.clone())),
            OnIdentity::Refused => (!is_free, before.clone()),
            OnIdentity::PerhapsCreated if is_free => (true, Owner::Unknown),
            OnIdentity::PerhapsGained(id) if is_free => (true, Owner::Profile(id.clone())),
            OnIdentity::Lost(id) => (may_be(id), Owner::Nobody),
            OnIdentity::PerhapsLost(id) if may_be(id) => (true, Owner::Nobody),
            OnIdentity::PerhapsCreated
            | OnIdentity::PerhapsGained(_)
            | OnIdentity::PerhapsLost(_) => (true, before.clone()),
            OnIdentity::Has(id, true) => (may_be(id), Owner::Profile(id.clone())),
            OnIdentity::Has(id, false) => (*before != Owner::Profile(id.clone()), before.clone()),
        }
    }
}

/// A task about identities, by their numbers.
#[derive(Debug, Clone)]
pub(super) enum Wish {
    Create {
        uid: usize,
    },
    /// The profile of this id has the identity `from` and wants `to` instead.
    Move {
        id: String,
        from: usize,
        to: usize,
    },
    Read {
        id: String,
    },
}

impl Wish {
    pub(super) const fn action(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create_core_profiles",
            Self::Move { .. } => "update_core_profiles",
            Self::Read { .. } => "get_core_profiles",
        }
    }

    pub(super) fn entry(&self, name: &impl Fn(usize) -> String) -> Value {
        match self {
            Self::Create { uid } => json!({ "identities": [{ "uid": name(*uid) }] }),
            Self::Move { id, to, .. } => {
                json!({ "core-profile-id": id, "identities": [{ "uid": name(*to) }] })
            }
            Self::Read { id } => json!({ "core-profile-id": id }),
        }
    }

    /// The effects on each identity, by the first record of the task; `None` if that is unknown.
    pub(super) fn effects(
        &self,
        record: Option<&Value>,
        uids: usize,
        name: &impl Fn(usize) -> String,
    ) -> BTreeMap<usize, OnIdentity> {
        let failed = record.is_some_and(|record| record["errors"].is_array());
        let mut effects = BTreeMap::new();
        match (self, record) {
            (Self::Create { uid }, None) => drop(effects.insert(*uid, OnIdentity::PerhapsCreated)),
            (Self::Create { uid }, Some(record)) => {
                let id = record["core-profile-id"].as_str().unwrap_or_default().to_owned();
                let effect = if failed { OnIdentity::Refused } else { OnIdentity::Created(id) };
                effects.insert(*uid, effect);
            }
            (Self::Move { id, from, to }, None) => {
                effects.insert(*from, OnIdentity::PerhapsLost(id.clone()));
                effects.insert(*to, OnIdentity::PerhapsGained(id.clone()));
            }
            (Self::Move { to, .. }, Some(_)) if failed => {
                effects.insert(*to, OnIdentity::Refused);
            }
            (Self::Move { id, from, to }, Some(_)) => {
                effects.insert(*from, OnIdentity::Lost(id.clone()));
                effects.insert(*to, OnIdentity::Gained(id.clone()));
            }
            (Self::Read { .. }, None) => {}
            (Self::Read { id }, Some(record)) => {
                let has = |uid: usize| {
                    let held = record["identities"].as_array().into_iter().flatten();
                    held.into_iter().any(|one| one["uid"] == name(uid).as_str())
                };
                effects.extend((0..uids).map(|uid| (uid, OnIdentity::Has(id.clone(), has(uid)))));
            }
        }
        effects
    }
}
