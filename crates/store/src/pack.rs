//! Compression of payload and record blocks with zstd. Both backends store the same bytes.

use caseload_model::payload::Block;
use parking_lot::Mutex;
use zstd::bulk::{Compressor, Decompressor};

use crate::StoreError;

/// The compression level: the cheapest measured one that still shrinks support data to a third.
const ZSTD_LEVEL: i32 = 1;
/// The first bytes of a block that contain its unpacked size: the longest header of a zstd frame.
pub const HEADER_BYTES_MAX: usize = 18;
/// The most idle compressors, and as many decompressors, and the largest buffer that an idle
/// compressor retains.
const PACKERS_MAX: usize = 16;
const BUFFER_BYTES_MAX: usize = 1 << 20;
/// The most unpacked bytes of a stored block; a larger block is damaged.
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

/// Decompresses a stored block.
pub fn unpack_block(bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    let corrupt = |e| StoreError::Corrupt(format!("a compressed block cannot be read: {e}"));
    let idle = UNPACKERS.lock().pop();
    let mut unpacker = idle.map_or_else(Decompressor::new, Ok).map_err(corrupt)?;
    let unpacked =
        unpacker.decompress(bytes, BLOCK_BYTES_MAX.min(bound(bytes))).map_err(corrupt)?;
    let mut unpackers = UNPACKERS.lock();
    if unpackers.len() < PACKERS_MAX {
        unpackers.push(unpacker);
    }
    Ok(unpacked)
}

/// A compressor and its output buffer.
type Packer = (Compressor<'static>, Vec<u8>);

/// Idle compressors, shared by all threads. Creating one costs as much as compressing a small
/// block, and many threads are short-lived.
static PACKERS: Mutex<Vec<Packer>> = Mutex::new(Vec::new());
/// Idle decompressors.
static UNPACKERS: Mutex<Vec<Decompressor<'static>>> = Mutex::new(Vec::new());

/// Compresses any bytes; [`unpack_block`] reverses it.
pub(crate) fn pack(bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    let failed = |e: std::io::Error| StoreError::Unavailable(format!("compression failed: {e}"));
    let (mut compressor, mut buffer) = match PACKERS.lock().pop() {
        Some(packer) => packer,
        None => (Compressor::new(ZSTD_LEVEL).map_err(failed)?, Vec::new()),
    };
    buffer.clear();
    buffer.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
    compressor.compress_to_buffer(bytes, &mut buffer).map_err(failed)?;
    // A copy of the exact length, because uploads hold many packed blocks in memory.
    let packed = buffer.as_slice().to_vec();
    if buffer.capacity() <= BUFFER_BYTES_MAX {
        let mut packers = PACKERS.lock();
        if packers.len() < PACKERS_MAX {
            packers.push((compressor, buffer));
        }
    }
    Ok(packed)
}

/// The unpacked size of a block, from its first [`HEADER_BYTES_MAX`] bytes.
pub fn unpacked_size(header: &[u8]) -> Result<u64, StoreError> {
    match zstd::zstd_safe::get_frame_content_size(header) {
        Ok(Some(size)) => Ok(size),
        _ => Err(StoreError::Corrupt("a compressed block does not contain its size".to_owned())),
    }
}

/// The unpacked size that the frame declares, or else the limit.
fn bound(bytes: &[u8]) -> usize {
    match zstd::zstd_safe::get_frame_content_size(bytes) {
        Ok(Some(size)) => usize::try_from(size).unwrap_or(BLOCK_BYTES_MAX),
        _ => BLOCK_BYTES_MAX,
    }
}
