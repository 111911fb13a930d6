//! The packed form of a batch: a head, then one column after the other. A column is a list of runs,
//! because neighbours are alike: the kinds of effects (resource, action and fields, each kind
//! written once), the ids (numbers as differences, a run of successors as its length), the indexes
//! of entries, and the values that effects have. A store compresses these bytes if they are many.
//! Invariants: each batch has one packed form; unpacking any bytes ends in a batch of at most
//! [`BATCH_CHANGES_MAX`] effects or in a fault, with memory in proportion to both.

use std::borrow::Cow;
use std::collections::HashMap;

use super::bytes::{BatchFault, Reader, signed, unsigned, write, write_text};
use super::{Author, Batch, ChangeAction, Effect, FieldNames, RecordId, Resource};
use crate::import::IMPORT_ENTRIES_MAX;
use crate::task::PAYLOAD_ENTRIES_MAX;
use crate::time::UnixMillis;

/// The most effects of a batch. A task has fewer entries, and an import fewer tasks.
pub const BATCH_CHANGES_MAX: usize = 1 << 16;
const _: () = assert!(PAYLOAD_ENTRIES_MAX < BATCH_CHANGES_MAX);
const _: () = assert!(IMPORT_ENTRIES_MAX as usize / PAYLOAD_ENTRIES_MAX < BATCH_CHANGES_MAX);
/// The first byte of every batch: the form of the others.
const FORM: u8 = 1;
/// Numbers from here on are packed as texts, so that a difference has room for two flags.
const NUMBERS_END: u64 = 1 << 61;
/// Flags of an id.
const IS_RUN: u64 = 1;
const IS_TEXT: u64 = 2;

/// The part that the effects of a kind share.
type Kind<'e> = (Resource, ChangeAction, &'e [Cow<'static, str>]);

impl Effect {
    fn kind(&self) -> Kind<'_> {
        (self.resource, self.action, &self.fields)
    }
}

impl Batch {
    /// # Panics
    ///
    /// If the batch has no effect, or more than [`BATCH_CHANGES_MAX`].
    pub fn pack(&self) -> Vec<u8> {
        let count = self.effects.len();
        assert!((1..=BATCH_CHANGES_MAX).contains(&count), "a batch of {count} changes");
        let mut out = vec![FORM];
        write(unsigned(self.at.0), &mut out);
        write_author(&self.by, &mut out);
        write_option(self.request_id.as_deref(), &mut out);
        write(count as u64, &mut out);
        write_kinds(&self.effects, &mut out);
        write_ids(&self.effects, &mut out);
        write_indexes(&self.effects, &mut out);
        write_values(&self.effects, &mut out);
        out
    }

    pub fn unpack(packed: &[u8]) -> Result<Self, BatchFault> {
        let Some((&FORM, packed)) = packed.split_first() else {
            return Err(BatchFault("its form is unknown"));
        };
        let mut reader = Reader(packed);
        let at = UnixMillis(signed(reader.number()?));
        let (by, request_id) = (read_author(&mut reader)?, read_option(&mut reader)?);
        let count = reader.up_to(BATCH_CHANGES_MAX)?;
        let mut effects = read_kinds(&mut reader, count)?;
        read_ids(&mut reader, &mut effects)?;
        read_indexes(&mut reader, &mut effects)?;
        read_values(&mut reader, &mut effects)?;
        if !reader.0.is_empty() {
            return Err(BatchFault("bytes are left over"));
        }
        Ok(Self { at, by, request_id, effects })
    }
}

fn write_author(by: &Author, out: &mut Vec<u8>) {
    let (code, texts): (u8, &[&String]) = match by {
        Author::Unknown => (0, &[]),
        Author::Key { id, name } => (1, &[id, name]),
        Author::Task { id } => (2, &[id]),
        Author::Command { line } => (3, &[line]),
    };
    out.push(code);
    for text in texts {
        write_text(text.as_bytes(), out);
    }
}

fn read_author(reader: &mut Reader<'_>) -> Result<Author, BatchFault> {
    Ok(match reader.number()? {
        0 => Author::Unknown,
        1 => Author::Key { id: reader.text()?, name: reader.text()? },
        2 => Author::Task { id: reader.text()? },
        3 => Author::Command { line: reader.text()? },
        _ => return Err(BatchFault("its author is of no known kind")),
    })
}

fn write_option(text: Option<&str>, out: &mut Vec<u8>) {
    out.push(text.is_some().into());
    if let Some(text) = text {
        write_text(text.as_bytes(), out);
    }
}

fn read_option(reader: &mut Reader<'_>) -> Result<Option<String>, BatchFault> {
    if reader.up_to(1)? == 0 { Ok(None) } else { reader.text().map(Some) }
}

/// Calls `each` with every run of neighbours that are alike: its first effect and its length.
fn runs<'e>(
    effects: &'e [Effect],
    is_next: impl Fn(&Effect, &Effect) -> bool,
    mut each: impl FnMut(&'e Effect, usize),
) {
    for run in effects.chunk_by(is_next) {
        each(&run[0], run.len());
    }
}

fn write_kinds(effects: &[Effect], out: &mut Vec<u8>) {
    let mut numbers: HashMap<Kind<'_>, usize> = HashMap::new();
    let mut kinds = Vec::new();
    let mut column = Vec::new();
    runs(
        effects,
        |one, next| one.kind() == next.kind(),
        |first, length| {
            let number = *numbers.entry(first.kind()).or_insert_with(|| {
                kinds.push(first.kind());
                kinds.len() - 1
            });
            write(number as u64, &mut column);
            write(length as u64, &mut column);
        },
    );
    write(kinds.len() as u64, out);
    for (resource, action, fields) in kinds {
        write(resource.code(), out);
        write(action.code(), out);
        write(fields.len() as u64, out);
        for name in fields {
            write_text(name.as_bytes(), out);
        }
    }
    out.append(&mut column);
}

/// The effects without the other columns.
fn read_kinds(reader: &mut Reader<'_>, count: usize) -> Result<Vec<Effect>, BatchFault> {
    let kinds = (0..reader.up_to(count)?).map(|_| {
        let resource = Resource::from_code(reader.number()?);
        let action = ChangeAction::from_code(reader.number()?);
        let fields = (0..reader.up_to(reader.0.len())?).map(|_| Ok(Cow::Owned(reader.text()?)));
        let fields = fields.collect::<Result<FieldNames, BatchFault>>()?;
        let words = resource.zip(action).ok_or(BatchFault("a word is unknown"))?;
        Ok((words.0, words.1, fields))
    });
    let kinds = kinds.collect::<Result<Vec<_>, BatchFault>>()?;
    let mut effects = Vec::new();
    while effects.len() < count {
        let number = reader.up_to(kinds.len())?;
        let (resource, action, fields) =
            kinds.get(number).ok_or(BatchFault("a kind of effects is missing"))?;
        let length = run_length(reader, count - effects.len())?;
        let effect = Effect { fields: fields.clone(), ..Effect::new(*resource, 0, *action) };
        effects.extend(std::iter::repeat_n(effect, length));
    }
    Ok(effects)
}

/// The length of a run, which has at most so many effects.
fn run_length(reader: &mut Reader<'_>, most: usize) -> Result<usize, BatchFault> {
    match reader.up_to(most)? {
        0 => Err(BatchFault("a run is empty")),
        length => Ok(length),
    }
}

/// The number of an id that is packed as a number.
fn packed_number(id: &RecordId) -> Option<u64> {
    id.number().filter(|number| *number < NUMBERS_END)
}

fn write_ids(effects: &[Effect], out: &mut Vec<u8>) {
    let is_next = |one: &Effect, next: &Effect| match (packed_number(&one.id), next.id.number()) {
        (Some(one), Some(next)) => next < NUMBERS_END && next == one + 1,
        _ => false,
    };
    let mut last = 0;
    runs(effects, is_next, |first, length| {
        let Some(number) = packed_number(&first.id) else {
            let text = first.id.to_string();
            write((text.len() as u64) << 2 | IS_TEXT, out);
            out.extend_from_slice(text.as_bytes());
            return;
        };
        let difference = unsigned(number.cast_signed() - last);
        last = number.cast_signed() + length as i64 - 1;
        if length == 1 {
            write(difference << 2, out);
        } else {
            write(difference << 2 | IS_RUN, out);
            write(length as u64, out);
        }
    });
}

fn read_ids(reader: &mut Reader<'_>, effects: &mut [Effect]) -> Result<(), BatchFault> {
    let (mut done, mut last) = (0, 0_i64);
    while done < effects.len() {
        let value = reader.number()?;
        if value & IS_TEXT != 0 {
            let text = reader.take(value >> 2)?;
            let id = str::from_utf8(text).map_err(|_| BatchFault("an id is not UTF-8"))?;
            effects[done].id = id.into();
            done += 1;
            continue;
        }
        let left = effects.len() - done;
        let length = if value & IS_RUN == 0 { 1 } else { run_length(reader, left)? };
        // Each is less than 2^62, so nothing overflows.
        let first = last + signed(value >> 2);
        last = first + length as i64 - 1;
        if first < 0 || last.cast_unsigned() >= NUMBERS_END {
            return Err(BatchFault("an id is out of range"));
        }
        for (effect, number) in effects[done..done + length].iter_mut().zip(first..) {
            effect.id = number.cast_unsigned().into();
        }
        done += length;
    }
    Ok(())
}

fn write_indexes(effects: &[Effect], out: &mut Vec<u8>) {
    let is_next = |one: &Effect, next: &Effect| match (one.index, next.index) {
        (Some(one), Some(next)) => one.checked_add(1) == Some(next),
        (one, next) => one == next,
    };
    let mut next = 0;
    runs(effects, is_next, |first, length| {
        write((length as u64) << 1 | u64::from(first.index.is_some()), out);
        if let Some(index) = first.index {
            write(unsigned(i64::from(index) - next), out);
            next = i64::from(index) + length as i64;
        }
    });
}

fn read_indexes(reader: &mut Reader<'_>, effects: &mut [Effect]) -> Result<(), BatchFault> {
    let (mut done, mut next) = (0, 0_i64);
    while done < effects.len() {
        let value = reader.number()?;
        let length = usize::try_from(value >> 1).unwrap_or(usize::MAX);
        if !(1..=effects.len() - done).contains(&length) {
            return Err(BatchFault("a run of indexes has a wrong length"));
        }
        if value & 1 == 1 {
            let first = next.checked_add(signed(reader.number()?));
            let first = first.and_then(|first| u32::try_from(first).ok());
            let end = first.and_then(|first| first.checked_add(length as u32 - 1));
            let (Some(first), Some(end)) = (first, end) else {
                return Err(BatchFault("an index is out of range"));
            };
            for (effect, index) in effects[done..done + length].iter_mut().zip(first..=end) {
                effect.index = Some(index);
            }
            next = i64::from(end) + 1;
        }
        done += length;
    }
    Ok(())
}

fn write_values(effects: &[Effect], out: &mut Vec<u8>) {
    let with = effects.iter().enumerate().filter(|(_, effect)| !effect.values.is_empty());
    write(with.clone().count() as u64, out);
    let mut next = 0;
    for (at, effect) in with {
        write((at - next) as u64, out);
        write_text(&effect.values, out);
        next = at + 1;
    }
}

fn read_values(reader: &mut Reader<'_>, effects: &mut [Effect]) -> Result<(), BatchFault> {
    let mut rest = effects.iter_mut();
    for _ in 0..reader.up_to(rest.len())? {
        let skipped = reader.up_to(BATCH_CHANGES_MAX)?;
        let effect = rest.nth(skipped).ok_or(BatchFault("a value has no effect"))?;
        effect.values = reader.bytes()?.to_vec();
    }
    Ok(())
}
