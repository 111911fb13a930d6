//! Writes the reference tables of `crates/model`: the countries of ISO 3166-1, and Kosovo, with the
//! names that iso-codes and CLDR English give them, and the languages of ISO 639-1.
//! It reads the JSON files that a developer has on disk and fetches nothing. Its output depends on
//! those files alone (everything is sorted), so running it twice changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// The three name fields of an iso-codes country, the usual one first.
const ISO_NAME_FIELDS: [&str; 3] = ["common_name", "name", "official_name"];

/// A country that the standard does not list.
struct Unlisted {
    alpha_2: &'static str,
    alpha_3: &'static str,
    names: &'static [&'static str],
}

/// Kosovo has no code of the standard. These two are of the range that the standard leaves to its
/// users; the European Union, CLDR and the banks use them.
const UNLISTED: [Unlisted; 1] =
    [Unlisted { alpha_2: "XK", alpha_3: "XKX", names: &["Kosovo", "Republic of Kosovo"] }];

/// The paths of the sources, and their versions.
#[derive(Default)]
struct Options {
    iso_codes: Option<String>,
    iso_639: Vec<String>,
    cldr: Option<String>,
    iso_codes_version: Option<String>,
    cldr_version: Option<String>,
}

/// Reads the sources named by `words` and writes both tables below `root`.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<()> {
    let options = parse(words)?;
    let iso_codes = read(options.iso_codes.as_deref(), "--iso-codes")?;
    let cldr = read(options.cldr.as_deref(), "--cldr")?;
    ensure!(!options.iso_639.is_empty(), "--iso-639 FILE is missing");
    let iso_639 = options
        .iso_639
        .iter()
        .map(|path| read(Some(path), "--iso-639"))
        .collect::<Result<Vec<_>>>()?;
    let iso_version = options.iso_codes_version.context("--iso-codes-version TEXT is missing")?;
    let cldr_version = options.cldr_version.context("--cldr-version TEXT is missing")?;

    let countries = country_table(&iso_codes, &cldr, &iso_version, &cldr_version)?;
    write(&root.join("crates/model/src/country/table.rs"), &countries)?;
    let languages = language_table(&iso_639, &iso_version)?;
    write(&root.join("crates/model/src/language/table.rs"), &languages)
}

fn parse(words: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(flag) = words.next() {
        let mut value = || words.next().cloned().with_context(|| format!("{flag} needs a value"));
        match flag.as_str() {
            "--iso-codes" => options.iso_codes = Some(value()?),
            "--iso-639" => options.iso_639.push(value()?),
            "--cldr" => options.cldr = Some(value()?),
            "--iso-codes-version" => options.iso_codes_version = Some(value()?),
            "--cldr-version" => options.cldr_version = Some(value()?),
            other => bail!("`tables` has no option `{other}`; `cargo xtask help` lists them"),
        }
    }
    Ok(options)
}

fn read(path: Option<&str>, flag: &str) -> Result<Value> {
    let path = path.with_context(|| format!("{flag} FILE is missing"))?;
    let bytes = std::fs::read(path).with_context(|| format!("{flag}: cannot read {path}"))?;
    serde_json::from_slice(&bytes).with_context(|| format!("{flag}: {path} is not JSON"))
}

/// Writes a table and lets rustfmt give it its final form, as for any other source file.
fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    let status = Command::new("rustfmt").args(["--edition", "2024"]).arg(path).status();
    ensure!(
        status.context("cannot start rustfmt")?.success(),
        "rustfmt refused {}",
        path.display()
    );
    println!("wrote {}", path.display());
    Ok(())
}

fn list<'a>(source: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    source[key].as_array().with_context(|| format!("the source has no list `{key}`"))
}

/// The spelling that names are compared in. `country::folded` is the other half of this pair; a
/// test of the model checks every row of the table against it.
fn folded(name: &str) -> String {
    let plain = name.replace('İ', "I").replace('\u{2019}', "'");
    plain.to_uppercase().to_lowercase()
}

fn country_table(
    iso: &Value,
    cldr: &Value,
    iso_version: &str,
    cldr_version: &str,
) -> Result<String> {
    let territories = cldr["main"]["en"]["localeDisplayNames"]["territories"]
        .as_object()
        .context("--cldr: no main.en.localeDisplayNames.territories in the file")?;
    let mut alpha_2 = BTreeSet::new();
    let mut alpha_3 = BTreeMap::new();
    // By folded name: the name as the source spells it, and the country.
    let mut names = BTreeMap::new();
    for row in list(iso, "3166-1")? {
        let code = row["alpha_2"].as_str().context("--iso-codes: a country without alpha_2")?;
        alpha_2.insert(code);
        alpha_3.insert(row["alpha_3"].as_str().context("--iso-codes: no alpha_3")?, code);
        for name in ISO_NAME_FIELDS.iter().filter_map(|field| row[*field].as_str()) {
            names.entry(folded(name)).or_insert((name, code));
        }
    }
    for country in &UNLISTED {
        alpha_2.insert(country.alpha_2);
        alpha_3.insert(country.alpha_3, country.alpha_2);
        for name in country.names {
            names.entry(folded(name)).or_insert((name, country.alpha_2));
        }
    }
    for (key, name) in territories {
        let code = key.split("-alt-").next().unwrap_or(key);
        if alpha_2.contains(code) {
            let name = name.as_str().context("--cldr: a name that is not a text")?;
            names.entry(folded(name)).or_insert((name, code));
        }
    }
    let mut text =
        header("The countries of ISO 3166-1 and Kosovo: codes, and the names by which they go.");
    writeln!(text, "//! Sources: iso-codes {iso_version} (`iso_3166-1.json`) and")?;
    writeln!(text, "//! cldr-localenames-full {cldr_version} (`main/en/territories.json`).\n")?;
    writeln!(text, "/// Alpha-2 codes, sorted.")?;
    writeln!(text, "pub(super) static ALPHA_2: [&str; {}] = [", alpha_2.len())?;
    for code in &alpha_2 {
        writeln!(text, "{code:?},")?;
    }
    writeln!(text, "];\n\n/// Alpha-3 codes, sorted, each with its alpha-2 code.")?;
    writeln!(text, "pub(super) static ALPHA_3: [[&str; 2]; {}] = [", alpha_3.len())?;
    for (code, country) in &alpha_3 {
        writeln!(text, "[{code:?}, {country:?}],")?;
    }
    writeln!(
        text,
        "];\n\n/// Names: as `folded` spells them, sorted by that, as the source does,"
    )?;
    writeln!(text, "/// and the alpha-2 code.")?;
    writeln!(text, "pub(super) static NAMES: [[&str; 3]; {}] = [", names.len())?;
    for (key, (name, country)) in &names {
        writeln!(text, "[{key:?}, {name:?}, {country:?}],")?;
    }
    text.push_str("];\n");
    Ok(text)
}

fn language_table(sources: &[Value], version: &str) -> Result<String> {
    let mut languages = BTreeMap::new();
    for source in sources {
        let rows = list(source, "639-2").or_else(|_| list(source, "639-3"))?;
        for row in rows {
            let Some(code) = row["alpha_2"].as_str() else { continue };
            let text = |field: &str| row[field].as_str().unwrap_or_default();
            let fields = [text("alpha_3"), text("bibliographic"), text("name")];
            languages.entry(code).or_insert(fields);
        }
    }
    let mut text =
        header("The languages of ISO 639-1, and what people write in place of the code.");
    writeln!(text, "//! Source: iso-codes {version} (`iso_639-2.json`, and `iso_639-3.json` for")?;
    writeln!(text, "//! codes that only it has).\n")?;
    writeln!(text, "/// ISO 639-1 code, ISO 639-2 code, its bibliographic twin or nothing, name.")?;
    writeln!(text, "pub(super) static LANGUAGES: [[&str; 4]; {}] = [", languages.len())?;
    for (code, [alpha_3, bibliographic, name]) in &languages {
        writeln!(text, "[{code:?}, {alpha_3:?}, {bibliographic:?}, {name:?}],")?;
    }
    text.push_str("];\n");
    Ok(text)
}

fn header(subject: &str) -> String {
    format!(
        "//! {subject}\n//! Written by `cargo xtask tables` and not by hand: \
         change the sources and run it again.\n"
    )
}

#[cfg(test)]
#[path = "tables_tests.rs"]
mod tests;
