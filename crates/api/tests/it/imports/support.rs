//! Forms of imports for the tests of their calls: options in their order, then a file of JSON
//! lines. Each line is a new profile with an identity of its own.

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::Value;

use crate::server::Server;

pub(crate) const PATH: &str = "/v2/acme/identity/imports";
/// The type of a body that begins with [`HEAD`].
pub(crate) const TYPE: &str = "multipart/form-data; boundary=b";
/// A form up to the first byte of its file.
pub(crate) const HEAD: &str = "--b\r\nContent-Disposition: form-data; name=\"action\"\r\n\r\n\
    create_core_profiles\r\n--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n";

/// A form of options and a file.
pub(crate) fn form(options: &[(&str, &str)], file: impl Into<Vec<u8>>) -> Form {
    let options = options.iter().fold(Form::new(), |form, (name, value)| {
        form.text((*name).to_owned(), (*value).to_owned())
    });
    options.part("file", Part::bytes(file.into()).file_name("/home/ada/people.jsonl"))
}

/// JSON lines of new profiles.
pub(crate) fn lines(count: usize) -> String {
    let line = |n| format!("{{\"identities\":[{{\"uid\":\"u{n}\"}}]}}\n");
    (0..count).map(line).collect::<Vec<_>>().concat()
}

impl Server {
    /// Imports a file; status and answer.
    pub(crate) async fn import(&self, options: &[(&str, &str)], file: String) -> (u16, Value) {
        let request = self.request(Method::POST, PATH).multipart(form(options, file));
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }
}
