//! Payload and record blocks as they are kept: zstd at its fastest useful level. Both backends
//! store the same bytes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use caseload_model::payload::Block;
use zstd::bulk::Compressor;

use crate::StoreError;

/// Compression level: measured as the cheapest that still shrinks support data to a third.
const ZSTD_LEVEL: i32 = 1;
/// Bytes of a block's beginning that tell its unpacked size: the longest header of a zstd frame.
pub const HEADER_BYTES_MAX: usize = 18;
/// Compressors that are kept, and bytes of room for a packed block that each keeps.
const PACKERS_MAX: usize = 16;
const ROOM_BYTES_MAX: usize = 1 << 20;
/// Unpacked bytes that one stored block may have; more is damage.
const BLOCK_BYTES_MAX: usize = 1 << 28;

/// A compressed payload block with the indexes of its first and last entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedBlock {
    pub first_index: u32,
    pub last_index: u32,
    pub bytes: Vec<u8>,
}

/// Compresses an encoded payload block.
pub fn pack_block(block: &Block) -> Result<PackedBlock, StoreError> {
    let (Some(first), Some(last)) = (block.entries.first(), block.entries.last()) else {
        return Err(StoreError::Corrupt("a payload block without entries".to_owned()));
    };
    Ok(PackedBlock {
        first_index: first.index,
        last_index: last.index,
        bytes: pack(&block.encode())?,
    })
}

/// The encoded payload block again.
pub fn unpack_block(bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    zstd::bulk::decompress(bytes, BLOCK_BYTES_MAX.min(bound(bytes)))
        .map_err(|e| StoreError::Corrupt(format!("a compressed block cannot be read: {e}")))
}

/// A compressor and the room that it packs into.
type Packer = (Compressor<'static>, Vec<u8>);

/// What threads compress with, one after the other: setting it up costs as much as a small block,
/// and many of them do not live long.
static PACKERS: Mutex<Vec<Packer>> = Mutex::new(Vec::new());

/// Compresses any bytes; [`unpack_block`] gives them back.
pub(crate) fn pack(bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    let failed = |e: std::io::Error| StoreError::Unavailable(format!("compression failed: {e}"));
    let (mut compressor, mut room) = match packers().pop() {
        Some(packer) => packer,
        None => (Compressor::new(ZSTD_LEVEL).map_err(failed)?, Vec::new()),
    };
    room.clear();
    room.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
    compressor.compress_to_buffer(bytes, &mut room).map_err(failed)?;
    // Exactly as long as it is: packed blocks are what uploads hold in memory.
    let packed = room.as_slice().to_vec();
    if room.capacity() <= ROOM_BYTES_MAX {
        let mut packers = packers();
        if packers.len() < PACKERS_MAX {
            packers.push((compressor, room));
        }
    }
    Ok(packed)
}

fn packers() -> MutexGuard<'static, Vec<Packer>> {
    PACKERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The unpacked size of a block, from its first [`HEADER_BYTES_MAX`] bytes.
pub fn unpacked_size(header: &[u8]) -> Result<u64, StoreError> {
    match zstd::zstd_safe::get_frame_content_size(header) {
        Ok(Some(size)) => Ok(size),
        _ => Err(StoreError::Corrupt("a compressed block does not tell its size".to_owned())),
    }
}

/// The unpacked size that the frame announces, where it does.
fn bound(bytes: &[u8]) -> usize {
    match zstd::zstd_safe::get_frame_content_size(bytes) {
        Ok(Some(size)) => usize::try_from(size).unwrap_or(BLOCK_BYTES_MAX),
        _ => BLOCK_BYTES_MAX,
    }
}
