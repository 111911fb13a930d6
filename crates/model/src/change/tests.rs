//! The laws of the packed form, with random batches and random bytes.

use proptest::prelude::*;

use super::*;

fn any_id() -> impl Strategy<Value = RecordId> {
    prop_oneof![
        4 => (1..40_u64).prop_map(RecordId::from),
        2 => any::<u64>().prop_map(RecordId::from),
        1 => (u64::MAX >> 4..u64::MAX >> 2).prop_map(RecordId::from),
        2 => "[0-9a-z+]{0,4}|\\PC{0,8}".prop_map(|text| RecordId::from(&*text)),
    ]
}

fn any_effect() -> impl Strategy<Value = Effect> {
    let names = prop_oneof![Just("tags".to_owned()), Just("age".to_owned()), "\\PC{0,4}"];
    (
        prop::sample::select(Resource::ALL),
        any_id(),
        prop::sample::select(ChangeAction::ALL),
        prop::collection::vec(names.prop_map(Cow::Owned), 0..3),
        prop::option::of(prop_oneof![0..9_u32, any::<u32>()]),
        prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(any::<u8>(), 0..20)],
    )
        .prop_map(|(resource, id, action, names, index, values)| Effect {
            index,
            values,
            ..Effect::new(resource, 0, action).of_fields(names).with_id(id)
        })
}

impl Effect {
    fn with_id(self, id: RecordId) -> Self {
        Self { id, ..self }
    }
}

fn any_author() -> impl Strategy<Value = Author> {
    let text = || "\\PC{0,12}";
    prop_oneof![
        Just(Author::Unknown),
        (text(), text()).prop_map(|(id, name)| Author::Key { id, name }),
        text().prop_map(|id| Author::Task { id }),
        text().prop_map(|line| Author::Command { line }),
    ]
}

fn any_batch() -> impl Strategy<Value = Batch> {
    // Runs: each effect is followed by some successors.
    let run = (any_effect(), 1..5_usize).prop_map(|(first, length)| {
        let next = |n: u64| Effect {
            id: first.id.number().map_or_else(|| first.id.clone(), |id| id.wrapping_add(n).into()),
            index: first.index.map(|index| index.wrapping_add(n as u32)),
            ..first.clone()
        };
        (0..length as u64).map(next).collect::<Vec<_>>()
    });
    (any::<i64>(), any_author(), prop::option::of("\\PC{0,12}"), prop::collection::vec(run, 1..12))
        .prop_map(|(at, by, request_id, runs)| Batch {
            at: UnixMillis(at),
            by,
            request_id,
            effects: runs.concat(),
        })
}

proptest! {
    #[test]
    fn a_batch_that_is_packed_and_unpacked_is_the_same(batch in any_batch()) {
        prop_assert_eq!(Batch::unpack(&batch.pack()), Ok(batch));
    }

    #[test]
    fn any_bytes_are_a_batch_or_a_fault(
        batch in any_batch(),
        noise in prop::collection::vec(any::<u8>(), 0..60),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 0..4),
    ) {
        let mut packed = batch.pack();
        for (at, bits) in flips {
            let at = at.index(packed.len());
            packed[at] ^= bits;
        }
        let head = of_task(vec![Effect::new(Resource::Task, 1, ChangeAction::Created); 5]).pack();
        // Columns of any bytes, after a head and one kind of effects.
        let columns = [&head[..head.len() - 7], &noise].concat();
        for bytes in [packed, [vec![1], noise].concat(), columns] {
            if let Ok(read) = Batch::unpack(&bytes) {
                prop_assert!(read.effects.len() <= BATCH_CHANGES_MAX);
            }
        }
    }

    #[test]
    fn a_packed_batch_that_is_cut_off_is_a_fault(
        batch in any_batch(),
        at in any::<prop::sample::Index>(),
    ) {
        let packed = batch.pack();
        prop_assert!(Batch::unpack(&packed[..at.index(packed.len())]).is_err());
        prop_assert!(Batch::unpack(&[packed, vec![0]].concat()).is_err());
    }
}

fn of_task(effects: Vec<Effect>) -> Batch {
    Batch::new(UnixMillis(1_790_000_000_000), Author::Task { id: "0".repeat(36) }, effects)
}

#[test]
fn created_records_with_consecutive_ids_take_one_run() {
    let created = |n: u32| Effect {
        index: Some(n),
        ..Effect::new(
            Resource::CoreProfile,
            212_000_000_000_001 + u64::from(n),
            ChangeAction::Created,
        )
    };
    let packed = of_task((0..10_000).map(created).collect()).pack();
    assert!(packed.len() < 100, "{} bytes", packed.len());
}

#[test]
fn the_same_fields_of_many_records_are_written_once() {
    // Ids in no order, whose differences have up to three bytes.
    let id = |n: u64| 212_000_000_000_001 + n * 7919 % 10_007;
    let updated = |n: u32| {
        let names = ["tags", "custom_fields"].map(Cow::Borrowed);
        let effect = Effect::new(Resource::CoreProfile, id(n.into()), ChangeAction::Updated);
        Effect { index: Some(n), ..effect.of_fields(names) }
    };
    let effects: Vec<_> = (0..10_000).map(updated).collect();
    let same =
        |effect: &Effect| Effect::new(Resource::CoreProfile, effect.id.clone(), effect.action);
    let ids_alone = of_task(effects.iter().map(same).collect()).pack();
    let packed = of_task(effects).pack();
    assert!(packed.len() - ids_alone.len() < 100, "{} and {}", packed.len(), ids_alone.len());
    assert!(packed.len() < 31_000, "{} bytes", packed.len());
}

#[test]
fn a_number_of_effects_beyond_the_limit_reserves_no_memory() {
    let mut packed = of_task(vec![Effect::new(Resource::Task, "t", ChangeAction::Created)]).pack();
    let head = 1 + 6 + 1 + 1 + 36 + 1;
    assert_eq!(packed[head], 1);
    packed.splice(head..=head, [0xff, 0xff, 0xff, 0xff, 0x0f]);
    assert_eq!(Batch::unpack(&packed), Err(BatchFault("a number is beyond its limit")));
}

#[test]
fn words_are_read_as_they_are_written() {
    for resource in Resource::ALL {
        assert_eq!(Resource::from_code(resource.code()), Some(*resource));
        assert_eq!(Resource::from_text(resource.as_str()), Some(*resource));
    }
    for action in ChangeAction::ALL {
        assert_eq!(ChangeAction::from_code(action.code()), Some(*action));
        assert_eq!(ChangeAction::from_text(action.as_str()), Some(*action));
    }
    assert_eq!(RecordId::from("12"), RecordId::from(12));
    for text in ["012", "+12", "", "18446744073709551616", "f\u{fc}nf"] {
        assert_eq!(RecordId::from(text).number(), None);
        assert_eq!(RecordId::from(text).to_string(), text);
    }
}

#[test]
fn a_change_is_shown_with_its_author() {
    let names = ["state".into(), "tags".into()];
    let effect = Effect {
        values: br#""state":["new","resolved"]"#.to_vec(),
        ..Effect::new(Resource::Issue, 7, ChangeAction::Updated).of_fields(names)
    };
    let by = Author::Key { id: "k1".to_owned(), name: "de\"sk".to_owned() };
    let request_id = Some("r-1".to_owned());
    let batch = Batch { request_id, ..Batch::new(UnixMillis(5), by, vec![effect]) };
    let shown = |batch: Batch| {
        let mut out = Vec::new();
        batch.into_changes(41).for_each(|change| change.write_json(&mut out));
        String::from_utf8(out).expect("JSON is text")
    };
    assert_eq!(
        shown(batch),
        concat!(
            r#"{"position":"41","at":5,"resource":"issue","id":"7","action":"updated","#,
            r#""fields":["state","tags"],"by":{"key_id":"k1","key_name":"de\"sk"},"#,
            r#""request_id":"r-1","changes":{"state":["new","resolved"]}}"#
        )
    );
    let effect =
        Effect { index: Some(3), ..Effect::new(Resource::AppProfile, "p", ChangeAction::Deleted) };
    let by = Author::Task { id: "t".to_owned() };
    assert_eq!(
        shown(Batch::new(UnixMillis(5), by, vec![effect])),
        concat!(
            r#"{"position":"41","at":5,"resource":"app_profile","id":"p","action":"deleted","#,
            r#""fields":[],"by":{"task_id":"t","index":3}}"#
        )
    );
}
