//! Writes the reference tables of `crates/model`: the countries of ISO 3166-1, and Kosovo, with the
//! names that iso-codes and CLDR give them, and the languages of ISO 639-1 with their English
//! names. It reads the JSON files that a developer has on disk and fetches nothing. Its output
//! depends on those files alone (everything is sorted), so running it twice changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value};

/// What people write for a country although no source lists it: abbreviations, shorter and former
/// names, the parts of the United Kingdom, and the European Union's code for Greece.
const SHORT_FORMS: [(&str, &[&str]); 27] = [
    ("AE", &["UAE", "Emirates"]),
    ("AG", &["Antigua"]),
    ("CD", &["DR Congo", "DRC", "Congo DR", "Zaire"]),
    ("CN", &["PRC", "PR China", "Mainland China"]),
    ("FK", &["Falklands"]),
    ("FO", &["Faroes"]),
    ("GB", &["Great Britain", "Britain", "England", "Scotland", "Wales", "Northern Ireland"]),
    ("GR", &["EL", "Hellas"]),
    ("HK", &["Hong Kong SAR", "Hong Kong, China"]),
    ("IE", &["Republic of Ireland", "Eire"]),
    ("KP", &["DPRK", "DPR Korea"]),
    ("KR", &["Korea", "ROK"]),
    ("LA", &["Lao PDR"]),
    ("MK", &["Macedonia", "FYROM"]),
    ("MM", &["Burma"]),
    ("MO", &["Macau", "Macau SAR", "Macau SAR China", "Macao SAR", "Macao, China"]),
    ("NL", &["Holland"]),
    ("RU", &["Russian Fed."]),
    ("SA", &["KSA"]),
    ("ST", &["Sao Tome"]),
    ("TT", &["Trinidad"]),
    ("US", &["U.S. of America"]),
    ("VA", &["Vatican"]),
    ("VC", &["St. Vincent"]),
    ("VI", &["American Virgin Islands"]),
    ("WS", &["Western Samoa"]),
    ("ZA", &["RSA"]),
];

/// English names of languages that no source lists.
const SHORT_FORMS_OF_LANGUAGES: [(&str, &str); 3] =
    [("fa", "Farsi"), ("sl", "Slovene"), ("zh", "Mandarin")];

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
    official_languages: Option<String>,
    iso_codes_version: Option<String>,
    cldr_version: Option<String>,
}

/// Reads the sources named by `words` and writes both tables below `root`.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<()> {
    let options = parse(words)?;
    let iso_codes = read(options.iso_codes.as_deref(), "--iso-codes")?;
    ensure!(!options.iso_639.is_empty(), "--iso-639 FILE is missing");
    let iso_639 = options
        .iso_639
        .iter()
        .map(|path| read(Some(path), "--iso-639"))
        .collect::<Result<Vec<_>>>()?;
    let official = read(options.official_languages.as_deref(), "--official-languages")?;
    let cldr = options.cldr.context("--cldr FOLDER is missing")?;
    let cldr = Path::new(&cldr);
    let iso_version = options.iso_codes_version.context("--iso-codes-version TEXT is missing")?;
    let cldr_version = options.cldr_version.context("--cldr-version TEXT is missing")?;

    let english = names_in(cldr, "en", "territories")?;
    let own = own_names(&official, |language| {
        let is_known = cldr.join(language).join("territories.json").is_file();
        is_known.then(|| names_in(cldr, language, "territories")).transpose()
    })?;
    let sources = format!(
        "//! Sources: iso-codes {iso_version} (`iso_3166-1.json`), cldr-localenames-full \
         {cldr_version}\n//! (`territories.json`), cldr-core {cldr_version} (`territoryInfo.json`) \
         and a list of short forms.\n\n"
    );
    let countries = sources + &country_table(&iso_codes, &english, &own)?;
    let subject = "The countries of ISO 3166-1 and Kosovo: codes, and the names by which they go.";
    write(&root.join("crates/model/src/country/table.rs"), &(header(subject) + &countries))?;
    let sources = format!(
        "//! Sources: iso-codes {iso_version} (`iso_639-2.json`, and `iso_639-3.json` for codes \
         that\n//! only it has) and cldr-localenames-full {cldr_version} \
         (`en/languages.json`).\n\n"
    );
    let languages = sources + &language_table(&iso_639, &names_in(cldr, "en", "languages")?)?;
    let subject = "The languages of ISO 639-1, and what people write in place of the code.";
    write(&root.join("crates/model/src/language/table.rs"), &(header(subject) + &languages))
}

/// The names that one language has for `kind`: "territories" or "languages".
fn names_in(cldr: &Path, language: &str, kind: &str) -> Result<Map<String, Value>> {
    let path = cldr.join(language).join(kind).with_extension("json");
    let source = read(path.to_str(), "--cldr")?;
    let names = &source["main"][language]["localeDisplayNames"][kind];
    let names = names.as_object().cloned();
    names.with_context(|| format!("--cldr: no localeDisplayNames.{kind} in {}", path.display()))
}

/// The name of each country in its official languages, as far as CLDR has these.
fn own_names(
    official: &Value,
    mut names_in: impl FnMut(&str) -> Result<Option<Map<String, Value>>>,
) -> Result<Vec<(String, String)>> {
    let territories = official["supplemental"]["territoryInfo"]
        .as_object()
        .context("--official-languages: no supplemental.territoryInfo in the file")?;
    let mut languages: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (country, info) in territories {
        for (language, info) in info["languagePopulation"].as_object().into_iter().flatten() {
            if matches!(info["_officialStatus"].as_str(), Some("official" | "de_facto_official")) {
                languages.entry(language.replace('_', "-")).or_default().insert(country);
            }
        }
    }
    let mut own = Vec::new();
    for (language, countries) in languages {
        let Some(names) = names_in(&language)? else { continue };
        own.extend(countries.into_iter().filter_map(|country| {
            let name = names.get(country)?.as_str()?;
            Some((country.to_owned(), name.to_owned()))
        }));
    }
    Ok(own)
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
            "--official-languages" => options.official_languages = Some(value()?),
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

/// Names without regard to case, each as its source spells it and with its country.
#[derive(Default)]
struct Names<'a>(BTreeMap<String, (&'a str, &'a str)>);

impl<'a> Names<'a> {
    fn add(&mut self, name: &'a str, country: &'a str) {
        self.0.entry(name.to_lowercase()).or_insert((name, country));
    }
}

fn country_table(
    iso: &Value,
    english: &Map<String, Value>,
    own: &[(String, String)],
) -> Result<String> {
    let mut alpha_2 = BTreeSet::new();
    let mut alpha_3 = BTreeMap::new();
    let mut names = Names::default();
    for row in list(iso, "3166-1")? {
        let code = row["alpha_2"].as_str().context("--iso-codes: a country without alpha_2")?;
        alpha_2.insert(code);
        alpha_3.insert(row["alpha_3"].as_str().context("--iso-codes: no alpha_3")?, code);
        for name in ISO_NAME_FIELDS.iter().filter_map(|field| row[*field].as_str()) {
            names.add(name, code);
        }
    }
    for country in &UNLISTED {
        alpha_2.insert(country.alpha_2);
        alpha_3.insert(country.alpha_3, country.alpha_2);
        for name in country.names {
            names.add(name, country.alpha_2);
        }
    }
    for (key, name) in english {
        let code = key.split("-alt-").next().unwrap_or(key);
        if alpha_2.contains(code) {
            names.add(name.as_str().context("--cldr: a name that is not a text")?, code);
        }
    }
    let own = own.iter().map(|(code, name)| (code.as_str(), name.as_str()));
    let short =
        SHORT_FORMS.iter().flat_map(|(code, names)| names.iter().map(|name| (*code, *name)));
    // A country whose own name is its code, as CLDR writes if it has no name, has none.
    for (code, name) in own.chain(short).filter(|(code, name)| code != name) {
        if alpha_2.contains(code) {
            names.add(name, code);
        }
    }
    let mut text = format!(
        "/// Alpha-2 codes, sorted.\npub(super) static ALPHA_2: [&str; {}] = [\n",
        alpha_2.len()
    );
    for code in &alpha_2 {
        writeln!(text, "{code:?},")?;
    }
    writeln!(text, "];\n\n/// Alpha-3 codes, sorted, each with its alpha-2 code.")?;
    writeln!(text, "pub(super) static ALPHA_3: [[&str; 2]; {}] = [", alpha_3.len())?;
    for (code, country) in &alpha_3 {
        writeln!(text, "[{code:?}, {country:?}],")?;
    }
    writeln!(text, "];\n\n/// Names, and the alpha-2 code.")?;
    writeln!(text, "pub(super) static NAMES: [[&str; 2]; {}] = [", names.0.len())?;
    for (name, country) in names.0.values() {
        writeln!(text, "[{name:?}, {country:?}],")?;
    }
    text.push_str("];\n");
    Ok(text)
}

fn language_table(sources: &[Value], english: &Map<String, Value>) -> Result<String> {
    let mut languages = BTreeMap::new();
    // By name in lower case: the name as the source spells it, and the languages that have it.
    let mut names: BTreeMap<String, (String, BTreeSet<&str>)> = BTreeMap::new();
    let mut add = |name: &str, code| {
        let (_, codes) =
            names.entry(name.to_lowercase()).or_insert((name.to_owned(), BTreeSet::new()));
        codes.insert(code);
    };
    for source in sources {
        let rows = list(source, "639-2").or_else(|_| list(source, "639-3"))?;
        for row in rows {
            let Some(code) = row["alpha_2"].as_str() else { continue };
            let text = |field: &str| row[field].as_str().unwrap_or_default();
            languages.entry(code).or_insert([text("alpha_3"), text("bibliographic")]);
            for name in text("name").split(';').flat_map(spellings) {
                add(&name, code);
            }
        }
    }
    for (tag, name) in english {
        let name = name.as_str().context("--cldr: a name that is not a text")?;
        let language = tag.split('-').next().unwrap_or(tag);
        if let Some((code, _)) = languages.get_key_value(language) {
            for name in spellings(name) {
                add(&name, code);
            }
        }
    }
    for (code, name) in SHORT_FORMS_OF_LANGUAGES {
        if languages.contains_key(code) {
            add(name, code);
        }
    }
    names.retain(|_, (_, codes)| codes.len() == 1);
    let mut text =
        "/// ISO 639-1 code, ISO 639-2 code, its bibliographic twin or nothing.\n".to_owned();
    writeln!(text, "pub(super) static LANGUAGES: [[&str; 3]; {}] = [", languages.len())?;
    for (code, [alpha_3, bibliographic]) in &languages {
        writeln!(text, "[{code:?}, {alpha_3:?}, {bibliographic:?}],")?;
    }
    writeln!(text, "];\n\n/// English names that one language has, and its ISO 639-1 code.")?;
    writeln!(text, "pub(super) static NAMES: [[&str; 2]; {}] = [", names.len())?;
    for (name, codes) in names.values() {
        for code in codes {
            writeln!(text, "[{name:?}, {code:?}],")?;
        }
    }
    text.push_str("];\n");
    Ok(text)
}

/// "Greek, Modern (1453-)" is "Greek, Modern", "Modern Greek" and "Greek".
fn spellings(name: &str) -> Vec<String> {
    let name = name.split('(').next().unwrap_or(name).trim();
    match name.split_once(", ") {
        Some((noun, kind)) => vec![name.to_owned(), format!("{kind} {noun}"), noun.to_owned()],
        None => vec![name.to_owned()],
    }
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
