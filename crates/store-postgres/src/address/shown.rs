//! Hides the password of an address for errors, logs and help. It accepts any text, because errors
//! show invalid addresses too. Invariant: no part that may be a password remains; if in doubt, it
//! is hidden.

/// The replacement for a password.
const HIDDEN: &str = "***";

/// The text without password and parameters.
pub fn shown(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    // Split at the last @, because a password may contain one that should have been written as %40.
    let (user, place) = match rest.rfind('@') {
        Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
        None => (None, rest),
    };
    let place = place.split('?').next().unwrap_or_default();
    let (hosts, path) = match place.find('/') {
        Some(at) => place.split_at(at),
        None => (place, ""),
    };
    let hosts: Vec<String> = hosts.split(',').map(host).collect();
    let user = match user.map(|user| user.split_once(':')) {
        Some(Some((name, _))) => format!("{name}:{HIDDEN}@"),
        Some(None) => format!("{}@", user.unwrap_or_default()),
        None => String::new(),
    };
    format!("{scheme}://{user}{}{path}", hosts.join(","))
}

/// A host and its port. A port that is not a number is hidden, because `user:password` without a
/// host looks the same.
fn host(text: &str) -> String {
    match text.rsplit_once(':') {
        Some((name, port)) if !port.bytes().all(|byte| byte.is_ascii_digit() || byte == b']') => {
            // The colons of an IPv6 address are inside of brackets.
            if text.starts_with('[') { text.to_owned() } else { format!("{name}:{HIDDEN}") }
        }
        _ => text.to_owned(),
    }
}
