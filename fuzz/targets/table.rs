//! Tables of any bytes, in pieces:
//! inputs that coverage suggests are held against the law of that name in `fuzz/laws`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| laws::check("table", data));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = if seed.is_multiple_of(4) {
        laws::put_word("table", data, size, seed)
    } else {
        size
    };
    libfuzzer_sys::fuzzer_mutate(data, size, max_size)
});
