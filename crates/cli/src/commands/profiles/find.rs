//! `caseload profiles find`: the profiles of a person, by an identity or by a part of the name, one
//! per row.

use caseload_client::Params;
use caseload_model::profile::IdentityType;
use caseload_model::time::UnixMillis;
use clap::Args;
use serde_json::Value;

use super::kind::KindArg;
use crate::args::{ListArgs, ServerArgs};
use crate::clock::readable;
use crate::commands::wire::{FilterArgs, line_of};
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, note};

#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// An e-mail address, an identity such as uid:42, or a part of a name. Several words are one
    /// name, with a blank between them
    #[arg(required = true, value_name = "WHO")]
    who: Vec<String>,
    #[command(flatten)]
    kind: KindArg,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(args: FindArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let mut params = Params::default();
    let (name, value) = filter(&args.who.join(" "));
    params.push(name, value);
    params.extend(args.filters.params);
    let page = client.profiles(args.kind.kind(), &params).await?;
    if args.list.json {
        for profile in &page.profiles {
            printer.data(&line_of(profile))?;
        }
        printer.flush()?;
    } else {
        let rows = page.profiles.iter().map(|profile| {
            serde_json::from_str(profile.get())
                .map(|profile| if args.kind.app { app_row(&profile) } else { core_row(&profile) })
                .map_err(|error| Failure::server(format!("a profile is not readable: {error}")))
        });
        let header = if args.kind.app {
            ["PID", "NAME", "E-MAIL", "SEGMENT", "UPDATED"]
        } else {
            ["ID", "NAME", "IDENTITIES", "TAGS", "UPDATED"]
        };
        printer.table(&header, &rows.collect::<Result<Vec<_>, _>>()?)?;
    }
    let (one, many) = args.kind.nouns();
    let total = page.total_hits.unwrap_or_default();
    let more = if total > page.profiles.len() as u64 {
        format!("; these are the newest {}", page.profiles.len())
    } else {
        String::new()
    };
    note(format_args!("{} found{more}", counted(total, one, many)));
    Ok(Done::Good)
}

/// The filter of the API for a text that names a person.
fn filter(who: &str) -> (&'static str, String) {
    let typed = who.split_once(':').and_then(|(kind, _)| IdentityType::parse(kind));
    if typed.is_some() {
        ("identity", who.to_owned())
    } else if who.contains('@') && !who.contains(char::is_whitespace) {
        ("identity", format!("email:{who}"))
    } else {
        ("name", who.to_owned())
    }
}

fn core_row(profile: &Value) -> Vec<String> {
    let names = &profile["names"];
    let parts: Vec<String> =
        ["first_name", "last_name"].iter().map(|name| text(&names[*name])).collect();
    let name = ["full_name", "display_name"]
        .iter()
        .map(|name| text(&names[*name]))
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| parts.join(" ").trim().to_owned());
    let identities = list(&profile["identities"], |identity| {
        let members = identity.as_object().into_iter().flatten();
        let mut typed = members.filter(|(kind, _)| IdentityType::parse(kind).is_some());
        typed.next().map_or(String::new(), |(kind, value)| format!("{kind}:{}", text(value)))
    });
    let tags = list(&profile["tags"], text);
    vec![text(&profile["core-profile-id"]), name, identities, tags, updated(profile)]
}

fn app_row(profile: &Value) -> Vec<String> {
    let emails = list(&profile["emails"], text);
    let [pid, name, segment] =
        ["pid", "name", "user_vip_segment"].map(|member| text(&profile[member]));
    vec![pid, name, emails, segment, updated(profile)]
}

fn updated(profile: &Value) -> String {
    profile["updated_at"].as_i64().map_or(String::new(), |at| readable(UnixMillis(at)))
}

fn list(value: &Value, text: impl Fn(&Value) -> String) -> String {
    value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(", ")
}

/// A value as a cell: texts without quotes, nothing for null.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_and_an_identity_are_looked_up_and_other_texts_are_names() {
        for (who, name, value) in [
            ("ada@example.org", "identity", "email:ada@example.org"),
            ("uid:42", "identity", "uid:42"),
            ("email:a b@c", "identity", "email:a b@c"),
            ("Ada Lovelace", "name", "Ada Lovelace"),
            ("ada @ home", "name", "ada @ home"),
            ("note:x", "name", "note:x"),
        ] {
            assert_eq!(filter(who), (name, value.to_owned()));
        }
    }
}
