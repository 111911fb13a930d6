//! An address as people may see it: in errors, in logs, in help. It is made from any text, also
//! from one that is no address, because that is what ends up in an error. Invariant: nothing that
//! may be a password is left; in doubt more is hidden.

/// What stands for a password.
const HIDDEN: &str = "***";

/// The text without password and parameters.
pub fn shown(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    // The last @: one that a password holds should be written %40, but perhaps is not.
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

/// A host, and a port if it is a number: `user:password` without a host looks the same.
fn host(text: &str) -> String {
    match text.rsplit_once(':') {
        Some((name, port)) if !port.bytes().all(|byte| byte.is_ascii_digit() || byte == b']') => {
            // The colons of an address of IPv6 are inside of brackets.
            if text.starts_with('[') { text.to_owned() } else { format!("{name}:{HIDDEN}") }
        }
        _ => text.to_owned(),
    }
}
