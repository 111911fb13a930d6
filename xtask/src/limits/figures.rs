//! The figures in the pages, each with the constant that it comes from.
//! A fragment of a page has a placeholder for its figure; the check fills in the value from the
//! code and looks for the result in the page. Every figure with a unit in these pages has to be
//! covered by a fragment, or be listed as one that does not come from the code.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::constants::{Constant, Value};

/// A sentence or a cell with figures.
pub(super) struct Figure {
    /// Below the repository.
    pub(super) page: &'static str,
    /// The text around the figures. `{MiB}`, `{KiB}`, `{bytes}`, `{ms}`, `{s}`, `{min}`, `{h}`,
    /// `{days}` and `{}` (a count) are the places of the values, in this order.
    pub(super) fragment: &'static str,
    /// One for each place: a constant, as `NAME` or `module::NAME`, or the default of a flag, as
    /// `--flag-name`.
    pub(super) sources: &'static [&'static str],
}

/// A figure that is not a constant of the code.
pub(super) struct Other {
    pub(super) page: &'static str,
    pub(super) fragment: &'static str,
    /// The origin of the figure.
    #[expect(dead_code, reason = "the table's readers need it; the check does not")]
    pub(super) reason: &'static str,
}

/// Pages whose figures are compared with the code.
pub(super) const PAGES: [&str; 4] =
    ["README.md", "docs/api.md", "docs/operating.md", "docs/program.md"];

/// Words after a number that make it a figure.
const UNITS: [&str; 13] = [
    "MiB",
    "KiB",
    "GiB",
    "MB",
    "ms",
    "s",
    "seconds",
    "minutes",
    "hours",
    "days",
    "entries",
    "characters",
    "levels",
];

/// The values that sentences may refer to.
pub(super) struct Values {
    pub(super) constants: Vec<Constant>,
    /// The flags of `serve` in its source text, where their defaults are.
    pub(super) serve: String,
}

impl Values {
    /// Reads the defaults of the flags; the constants are collected already.
    pub(super) fn new(root: &Path, constants: Vec<Constant>) -> Result<Self> {
        let path = "crates/cli/src/commands/serve.rs";
        let serve = std::fs::read_to_string(root.join(path))
            .with_context(|| format!("cannot read {path}"))?;
        Ok(Self { constants, serve })
    }

    /// The value of a constant or of a flag's default. Constants of one name need one value.
    fn get(&self, source: &str) -> Result<Value, String> {
        if let Some(flag) = source.strip_prefix("--") {
            return self.default_of(flag);
        }
        let mut values: Vec<Value> =
            self.constants.iter().filter(|c| c.is_named(source)).filter_map(|c| c.value).collect();
        values.dedup();
        match values.as_slice() {
            [value] => Ok(*value),
            [] => Err(format!("there is no constant `{source}`; name the one that replaced it")),
            _ => Err(format!("constants named `{source}` differ; write `module::{source}`")),
        }
    }

    /// The number in `default_value = "…"` of a flag, or the constant of `default_value_t`.
    fn default_of(&self, flag: &str) -> Result<Value, String> {
        let missing = || format!("`serve` has no flag `--{flag}` with a default");
        let env = format!("\"CASELOAD_{}\"", flag.to_uppercase().replace('-', "_"));
        let (_, rest) = self.serve.split_once(&env).ok_or_else(missing)?;
        let (_, default) = rest.split_once("default_value").ok_or_else(missing)?;
        let text = default.trim_start_matches("_t").trim_start_matches([' ', '=', '"']);
        let end = text.find(|char: char| !char.is_alphanumeric() && char != '_');
        let word = &text[..end.unwrap_or(text.len())];
        match word.parse() {
            Ok(number) => Ok(Value::Count(number)),
            Err(_) => self.get(word),
        }
    }
}

/// The fragment with its values, or the reason why it cannot be filled in.
fn filled(figure: &Figure, values: &Values) -> Result<String, String> {
    let mut text = String::new();
    let mut sources = figure.sources.iter();
    let mut rest = figure.fragment;
    while let Some((before, after)) = rest.split_once('{') {
        let (unit, after) = after.split_once('}').ok_or("a placeholder has no end")?;
        let source = sources.next().ok_or("there are more placeholders than sources")?;
        text.push_str(before);
        text.push_str(&in_unit(values.get(source)?, unit).ok_or_else(|| {
            format!(
                "`{source}` is {:?}, which is not a whole number in `{unit}`",
                values.get(source)
            )
        })?);
        rest = after;
    }
    match sources.next() {
        Some(source) => Err(format!("`{source}` has no placeholder")),
        None => Ok(text + rest),
    }
}

/// The value as a whole number of a unit. A count has the unit of its sentence.
fn in_unit(value: Value, unit: &str) -> Option<String> {
    let whole = |number: i128, scale: i128| (number % scale == 0).then(|| grouped(number / scale));
    let seconds = |scale: u128, time: std::time::Duration| {
        let scaled = scale * 1_000_000_000;
        whole(i128::try_from(time.as_nanos()).ok()?, i128::try_from(scaled).ok()?)
    };
    match (value, unit) {
        (Value::Count(number) | Value::Bytes(number), "plain") => Some(number.to_string()),
        (Value::Count(number), "" | "s" | "days") | (Value::Bytes(number), "bytes") => {
            Some(grouped(number))
        }
        (Value::Count(number) | Value::Bytes(number), "MiB") => whole(number, 1 << 20),
        (Value::Count(number) | Value::Bytes(number), "KiB") => whole(number, 1 << 10),
        (Value::Time(time), "ms") => whole(i128::try_from(time.as_nanos()).ok()?, 1_000_000),
        (Value::Time(time), "s") => seconds(1, time),
        (Value::Time(time), "min") => seconds(60, time),
        (Value::Time(time), "h") => seconds(3600, time),
        _ => None,
    }
}

/// A number with commas between its thousands.
fn grouped(number: i128) -> String {
    let digits = number.to_string();
    if number < 1000 {
        return digits;
    }
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Compares the pages with the code. Each problem is one line.
pub(super) fn check(
    pages: &[(&str, String)],
    values: &Values,
    figures: &[Figure],
    others: &[Other],
) -> Vec<String> {
    let mut problems = Vec::new();
    for (page, text) in pages {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut covered = Vec::new();
        for figure in figures.iter().filter(|figure| figure.page == *page) {
            match filled(figure, values) {
                Err(reason) => problems.push(format!("{page}: \"{}\": {reason}", figure.fragment)),
                Ok(filled) if text.contains(&filled) => covered.push(filled),
                Ok(filled) => problems.push(format!(
                    "{page} should say \"{filled}\" ({})",
                    figure.sources.join(", ")
                )),
            }
        }
        for Other { fragment, .. } in others.iter().filter(|other| other.page == *page) {
            if text.contains(fragment) {
                covered.push((*fragment).to_owned());
            } else {
                problems
                    .push(format!("{page} no longer says \"{fragment}\"; drop it from the list"));
            }
        }
        problems.extend(uncovered(&text, &covered).into_iter().map(|found| {
            format!("{page}: \"{found}\" is compared with no constant; add it to the figures")
        }));
    }
    problems
}

/// The figures of a page that no fragment covers, each with the words around it.
fn uncovered(text: &str, covered: &[String]) -> Vec<String> {
    let mut rest = text.to_owned();
    for fragment in covered {
        rest = rest.replace(fragment.as_str(), " ");
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    let is_number = |word: &str| {
        let bare = word.trim_matches(|char: char| !char.is_alphanumeric());
        !bare.is_empty()
            && bare.chars().all(|char| char.is_ascii_digit() || matches!(char, ',' | '.'))
    };
    let is_unit =
        |word: &str| UNITS.contains(&word.trim_matches(|char: char| !char.is_alphanumeric()));
    let mut found = Vec::new();
    for (at, pair) in words.windows(2).enumerate() {
        if is_number(pair[0]) && is_unit(pair[1]) {
            found.push(words[at.saturating_sub(4)..words.len().min(at + 5)].join(" "));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::constants::collect;
    use super::*;
    use crate::source::Source;

    const CODE: &str = "const A_BYTES_MAX: usize = 8 << 20;\nconst B: Duration = \
                        Duration::from_millis(3);\nconst C_MAX: usize = 10_000;\n";
    const SERVE: &str = "#[arg(env = \"CASELOAD_BODY_LIMIT\", default_value = \"134217728\")]\n\
                         #[arg(env = \"CASELOAD_LEASE\", default_value_t = C_MAX)]\n";

    fn problems(
        text: &str,
        fragment: &'static str,
        sources: &'static [&'static str],
    ) -> Vec<String> {
        let source = Source::new("crates/store/src/a.rs", CODE.to_owned());
        let values = Values { constants: collect(&[source]), serve: SERVE.to_owned() };
        let figure = Figure { page: "docs/a.md", fragment, sources };
        check(&[("docs/a.md", text.to_owned())], &values, &[figure], &[])
    }

    #[test]
    fn a_figure_agrees_with_its_constant_or_is_a_problem() {
        assert_eq!(problems("It ends after\n3 ms.", "after {ms} ms", &["B"]), [""; 0]);
        assert_eq!(
            problems("It ends after 10 ms.", "ends after {ms} ms", &["B"])[0],
            "docs/a.md should say \"ends after 3 ms\" (B)"
        );
        let two = "8 MiB or 10,000 entries";
        assert_eq!(problems(two, "{MiB} MiB or {} entries", &["A_BYTES_MAX", "C_MAX"]), [""; 0]);
        let flag = "| `--body-limit` | 134217728 |";
        assert_eq!(problems(flag, "`--body-limit` | {plain}", &["--body-limit"]), [""; 0]);
        assert_eq!(problems("128 MiB", "{MiB} MiB", &["--body-limit"]), [""; 0]);
        assert_eq!(problems("10,000", "{}", &["--lease"]), [""; 0]);
    }

    #[test]
    fn a_fragment_that_cannot_be_filled_in_says_why() {
        for (fragment, sources, reason) in [
            ("{ms} ms", &["D"] as &[&str], "there is no constant `D`"),
            ("{ms} ms", &[], "there are more placeholders than sources"),
            ("ms", &["B"], "`B` has no placeholder"),
            ("{s} s", &["B"], "which is not a whole number in `s`"),
            ("{} s", &["--other"], "`serve` has no flag `--other`"),
        ] {
            let found = problems("", fragment, sources);
            assert!(found[0].contains(reason), "{found:?} for {fragment}");
        }
    }

    #[test]
    fn a_number_has_commas_between_its_thousands() {
        let shown = [999, 50_000, 253_402_300_799_999].map(grouped);
        assert_eq!(shown, ["999", "50,000", "253,402,300,799,999"]);
    }

    #[test]
    fn a_figure_that_nothing_covers_is_a_problem() {
        let found = problems("It ends after 3 ms. Then 5 s pass, or 7 apples.", "{ms} ms", &["B"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("Then 5 s pass,"), "{found:?}");
    }
}
