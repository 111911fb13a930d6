//! How the records of a task are cut into blocks and compressed. A block is keyed by its first
//! entry, so that a reader goes from block to block in payload order without knowing how the task
//! was cut into chunks. Nothing here reads or writes a store. Invariant: the lines of the closed
//! blocks are those that were counted.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use caseload_model::record::ChunkRecords;
use parking_lot::Mutex;

use crate::pack::pack;
use crate::{RecordKind, StoreError};

/// Bytes of JSON lines from which on a block is closed.
const RECORD_BLOCK_BYTES: usize = 512 << 10;
/// Room for lines beyond that, so that most blocks never move while they fill.
const RECORD_BLOCK_ROOM: usize = RECORD_BLOCK_BYTES + (128 << 10);

/// Blocks that are in memory unpacked: one fills, one waits, one is packed.
const BLOCKS_UNPACKED: usize = 3;

/// The number that a kind of records is stored as.
pub const fn kind_code(kind: RecordKind) -> i64 {
    match kind {
        RecordKind::Results => 1,
        RecordKind::Errors => 2,
    }
}

/// The records of a chunk, packed as they come: full blocks on a thread of their own while the next
/// one fills.
#[derive(Debug, Default)]
pub struct Records {
    first_index: u32,
    next_index: u32,
    open: ChunkRecords,
    packer: Option<Packer>,
    packed: Vec<PackedRecords>,
    packed_bytes: usize,
    /// Of closed blocks.
    line_bytes: usize,
    succeeded: u32,
    failed: u32,
    warnings: u32,
}

/// The thread that packs blocks.
#[derive(Debug)]
struct Packer {
    blocks: SyncSender<OpenBlock>,
    /// Buffers of packed blocks, to be filled with results again.
    emptied: Arc<Mutex<Vec<Vec<u8>>>>,
    thread: JoinHandle<Result<Vec<PackedRecords>, StoreError>>,
}

/// A block's records before they are packed.
struct OpenBlock {
    records: ChunkRecords,
    first_index: u32,
    next_index: u32,
}

/// A compressed block.
#[derive(Debug)]
pub struct PackedRecords {
    pub kind: RecordKind,
    /// Index of the block's first entry.
    pub first_index: u32,
    /// Index after its last entry.
    pub next_index: u32,
    pub lines: u32,
    pub bytes: Vec<u8>,
}

impl OpenBlock {
    fn pack(&self) -> Result<Vec<PackedRecords>, StoreError> {
        let mut packed = Vec::new();
        for (kind, text, lines) in [
            (RecordKind::Results, &self.records.results, self.records.succeeded),
            (RecordKind::Errors, &self.records.errors, self.records.failed),
        ] {
            if lines > 0 {
                packed.push(PackedRecords {
                    kind,
                    first_index: self.first_index,
                    next_index: self.next_index,
                    lines,
                    bytes: pack(text)?,
                });
            }
        }
        Ok(packed)
    }
}

impl Packer {
    fn start() -> Self {
        let (blocks, full) = sync_channel::<OpenBlock>(1);
        let emptied = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let given_back = emptied.clone();
        let thread = std::thread::spawn(move || {
            let mut packed = Vec::new();
            for mut open in full {
                packed.extend(open.pack()?);
                open.records.results.clear();
                let mut emptied = given_back.lock();
                if emptied.len() < BLOCKS_UNPACKED {
                    emptied.push(open.records.results);
                }
            }
            Ok(packed)
        });
        Self { blocks, emptied, thread }
    }

    /// All blocks that it packed.
    fn finish(self) -> Result<Vec<PackedRecords>, StoreError> {
        drop(self.blocks);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Records {
    /// For the records of entries from `first_index` on.
    pub fn new(first_index: u32) -> Self {
        Self { first_index, next_index: first_index, ..Self::default() }
    }

    /// Reserves room for so many bytes of results, or for a full block.
    pub fn expect(&mut self, bytes: usize) {
        let results = &mut self.open.results;
        results.reserve(bytes.min(RECORD_BLOCK_ROOM.saturating_sub(results.len())));
    }

    /// Adds the records of the entries before `next_index`.
    pub fn add(&mut self, records: ChunkRecords, next_index: u32) -> Result<(), StoreError> {
        if self.open == ChunkRecords::default() {
            self.open = records;
        } else {
            self.open.append(records);
        }
        self.added(next_index)
    }

    /// The open block, with room for further records.
    pub fn open(&mut self) -> &mut ChunkRecords {
        if self.open.results.capacity() == 0
            && let Some(packer) = &self.packer
        {
            let mut emptied = packer.emptied.lock();
            self.open.results = emptied.pop().unwrap_or_default();
            self.open.results.reserve(RECORD_BLOCK_ROOM);
        }
        &mut self.open
    }

    /// Notes that the open block has the records of the entries before `next_index`.
    pub fn added(&mut self, next_index: u32) -> Result<(), StoreError> {
        self.next_index = next_index;
        if self.open.results.len() + self.open.errors.len() >= RECORD_BLOCK_BYTES {
            let open = self.take_open();
            let packer = self.packer.get_or_insert_with(Packer::start);
            if packer.blocks.send(open).is_err() {
                // The thread ended early, with a fault that this returns.
                self.packed_before()?;
            }
        }
        Ok(())
    }

    /// Compresses the open block and waits for the thread that compresses the others.
    pub fn close_block(&mut self) -> Result<(), StoreError> {
        let last = self.take_open().pack()?;
        self.packed_before()?;
        self.add_packed(last);
        Ok(())
    }

    /// Adds records of the entries that follow. All blocks of both are closed.
    pub fn join(&mut self, other: Self) {
        self.next_index = other.next_index;
        self.first_index = other.next_index;
        self.line_bytes += other.line_bytes;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.warnings += other.warnings;
        self.add_packed(other.packed);
    }

    fn take_open(&mut self) -> OpenBlock {
        let (first_index, next_index) = (self.first_index, self.next_index);
        self.first_index = next_index;
        let records = std::mem::take(&mut self.open);
        self.line_bytes += records.results.len() + records.errors.len();
        self.succeeded += records.succeeded;
        self.failed += records.failed;
        self.warnings += records.warnings;
        OpenBlock { records, first_index, next_index }
    }

    fn packed_before(&mut self) -> Result<(), StoreError> {
        let Some(packer) = self.packer.take() else { return Ok(()) };
        let packed = packer.finish()?;
        self.add_packed(packed);
        Ok(())
    }

    fn add_packed(&mut self, packed: Vec<PackedRecords>) {
        self.packed_bytes += packed.iter().map(|block| block.bytes.len()).sum::<usize>();
        self.packed.extend(packed);
    }

    /// Records of closed blocks that succeeded and failed.
    pub const fn counts(&self) -> (u32, u32) {
        (self.succeeded, self.failed)
    }

    /// Warnings in records of closed blocks.
    pub const fn warnings(&self) -> u32 {
        self.warnings
    }

    /// Index after the last entry that has a record here.
    pub const fn next_index(&self) -> u32 {
        self.next_index
    }

    /// Bytes of lines so far, closed blocks included.
    pub const fn line_bytes(&self) -> usize {
        self.line_bytes + self.open.results.len() + self.open.errors.len()
    }

    /// Bytes of packed blocks. All blocks are closed.
    pub const fn packed_bytes(&self) -> usize {
        self.packed_bytes
    }

    /// The blocks to store. All blocks are closed.
    pub fn packed(&self) -> &[PackedRecords] {
        let lines: u32 = self.packed.iter().map(|block| block.lines).sum();
        assert_eq!(lines, self.succeeded + self.failed, "a chunk lost records");
        &self.packed
    }
}
