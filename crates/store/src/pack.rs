//! Payload and record blocks as they are kept: zstd at its fastest useful level. Both backends
//! store the same bytes.

use std::cell::RefCell;

use caseload_model::payload::Block;
use zstd::bulk::Compressor;

use crate::StoreError;

/// Compression level: measured as the cheapest that still shrinks support data to a third.
const ZSTD_LEVEL: i32 = 1;
/// Bytes of a block's beginning that tell its unpacked size: the longest header of a zstd frame.
pub(crate) const HEADER_BYTES_MAX: usize = 18;
/// Bytes of room for a packed block that a thread keeps.
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

thread_local! {
    /// What one thread compresses with: setting it up costs as much as a small block.
    static PACKER: RefCell<Option<(Compressor<'static>, Vec<u8>)>> = const { RefCell::new(None) };
}

/// Compresses any bytes; [`unpack_block`] gives them back.
pub(crate) fn pack(bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    PACKER
        .with_borrow_mut(|packer| {
            let (compressor, room) = match packer {
                Some(packer) => packer,
                None => packer.insert((Compressor::new(ZSTD_LEVEL)?, Vec::new())),
            };
            room.clear();
            room.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
            compressor.compress_to_buffer(bytes, room)?;
            // Exactly as long as it is: packed blocks are what uploads hold in memory.
            let packed = room.as_slice().to_vec();
            if room.capacity() > ROOM_BYTES_MAX {
                *room = Vec::new();
            }
            Ok(packed)
        })
        .map_err(|e: std::io::Error| StoreError::Unavailable(format!("compression failed: {e}")))
}

/// The unpacked size of a block, from its first [`HEADER_BYTES_MAX`] bytes.
pub(crate) fn unpacked_size(header: &[u8]) -> Result<u64, StoreError> {
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
