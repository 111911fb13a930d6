//! Skips JSON by grammar alone, without building a value. The payload reader finds the elements of
//! an array with it; the JSON reader and writer share its handling of numbers, white space and
//! plain string runs.

/// Bytes that end a plain run inside a string: quote, backslash, control characters.
const fn ends_run(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// The first position from `at` on that is not white space.
pub(super) fn space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// The end of the run of ordinary string bytes that begins at `at`.
pub(super) fn plain(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = bytes[at..].first_chunk::<8>() {
        let ends = ends_run_of_eight(u64::from_le_bytes(*eight));
        if ends != 0 {
            return at + ends.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    bytes[at..].iter().position(|&b| ends_run(b)).map_or(bytes.len(), |n| at + n)
}

/// [`ends_run`] for eight bytes at once: the lowest set bit is in the first byte that ends the run.
/// Higher bits may be wrong, because a subtraction borrows from the byte above.
const fn ends_run_of_eight(eight: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let quote = eight ^ (ONES * b'"' as u64);
    let backslash = eight ^ (ONES * b'\\' as u64);
    let below_space = eight.wrapping_sub(ONES * 0x20) & !eight;
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_backslash = backslash.wrapping_sub(ONES) & !backslash;
    (below_space | is_quote | is_backslash) & HIGH
}

/// The end of the number that begins at `at`.
pub(super) fn number(bytes: &[u8], mut at: usize) -> Result<usize, (usize, &'static str)> {
    let digits = |mut at: usize| {
        let start = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at == start { Err((at, "a digit was expected")) } else { Ok(at) }
    };
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if bytes.get(at).is_some_and(u8::is_ascii_digit) {
        return Err((at, "a number begins with a superfluous zero"));
    }
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        at = digits(at)?;
    }
    Ok(at)
}

/// The end of the string whose opening quote is at `at`.
fn string(bytes: &[u8], at: usize) -> Result<usize, (usize, &'static str)> {
    let mut at = at + 1;
    loop {
        at = plain(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape(bytes, at)?,
            Some(_) => return Err((at, "a string contains a control character")),
            None => return Err((at, "the text ends inside a string")),
        }
    }
}

fn escape(bytes: &[u8], at: usize) -> Result<usize, (usize, &'static str)> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'n' | b'r' | b't' | b'b' | b'f') => Ok(at + 2),
        Some(b'u') => match bytes.get(at + 2..at + 6) {
            Some(hex) if hex.iter().all(u8::is_ascii_hexdigit) => Ok(at + 6),
            _ => Err((at, "four hexadecimal digits were expected after \\u")),
        },
        _ => Err((at, "a string contains an unknown escape")),
    }
}

/// The end of the value that begins at the start of `bytes`; see [`super::skip_value`].
pub(super) fn value(bytes: &[u8], depth_max: usize) -> Result<usize, (usize, &'static str)> {
    let mut at = 0;
    let mut open: Vec<u8> = Vec::new();
    loop {
        at = space(bytes, at);
        at = match bytes.get(at) {
            Some(&opening @ (b'{' | b'[')) => {
                if open.len() >= depth_max {
                    return Err((at, "values nest too deep"));
                }
                let closing = if opening == b'{' { b'}' } else { b']' };
                open.push(closing);
                at = space(bytes, at + 1);
                if bytes.get(at) == Some(&closing) {
                    at
                } else {
                    if closing == b'}' {
                        at = key(bytes, at)?;
                    }
                    continue;
                }
            }
            Some(b'"') => string(bytes, at)?,
            Some(b'-' | b'0'..=b'9') => number(bytes, at)?,
            Some(b't' | b'f' | b'n') => word(bytes, at)?,
            Some(_) => return Err((at, "a JSON value was expected")),
            None => return Err((at, "the text ends where a JSON value was expected")),
        };
        // A value has ended: close the maps and arrays that end with it, then go to the next value.
        loop {
            let Some(&closing) = open.last() else { return Ok(at) };
            at = space(bytes, at);
            match bytes.get(at) {
                Some(&byte) if byte == closing => {
                    open.pop();
                    at += 1;
                }
                Some(b',') => {
                    at = space(bytes, at + 1);
                    if closing == b'}' {
                        at = key(bytes, at)?;
                    }
                    break;
                }
                _ => return Err((at, "a comma or a closing bracket was expected")),
            }
        }
    }
}

/// The position after a key and its colon.
fn key(bytes: &[u8], at: usize) -> Result<usize, (usize, &'static str)> {
    if bytes.get(at) != Some(&b'"') {
        return Err((at, "a key in double quotes was expected"));
    }
    let at = space(bytes, string(bytes, at)?);
    if bytes.get(at) != Some(&b':') {
        return Err((at, "a colon was expected after the key"));
    }
    Ok(at + 1)
}

fn word(bytes: &[u8], at: usize) -> Result<usize, (usize, &'static str)> {
    ["true", "false", "null"]
        .iter()
        .find(|word| bytes[at..].starts_with(word.as_bytes()))
        .map(|word| at + word.len())
        .ok_or((at, "a JSON value was expected"))
}
