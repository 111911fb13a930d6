//! The constants of the product and their values. It reads `const NAME: TYPE = EXPRESSION;` and
//! evaluates integer arithmetic, durations and other constants; a value that needs more than that
//! is unknown. Test code and generated tables are left out.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::source::{Kind, Source};

/// A named number of the product.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    /// Relative to the repository.
    pub(super) path: String,
    pub(super) name: String,
    expression: String,
    pub(super) value: Option<Value>,
}

/// A number with its unit as far as the name or the type says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Count(i128),
    Bytes(i128),
    Time(Duration),
}

impl Constant {
    /// The crate's folder: `model` of `crates/model/src/task.rs`.
    fn crate_folder(&self) -> &str {
        self.path.split('/').nth(1).unwrap_or_default()
    }

    /// Whether `name` is this constant: `NAME` or `module::NAME`, with a module or a crate.
    pub(super) fn is_named(&self, name: &str) -> bool {
        if self.name == name {
            return true;
        }
        let (scope, name) = name.rsplit_once("::").unwrap_or(("", name));
        let file = self.path.trim_end_matches(".rs").trim_end_matches("/mod");
        self.name == name
            && (scope.is_empty()
                || scope == self.crate_folder()
                || file.ends_with(&format!("/{}", scope.replace("::", "/"))))
    }
}

/// The constants of the product's code, in the order of files and lines.
pub(super) fn collect(sources: &[Source]) -> Vec<Constant> {
    let of_product =
        |source: &&Source| source.kind == Kind::Product && source.path.starts_with("crates/");
    let mut constants: Vec<Constant> =
        sources.iter().filter(of_product).flat_map(of_file).collect();
    // A constant may be defined by others; each round evaluates those whose parts are known.
    loop {
        let known = known(&constants);
        let mut found = false;
        for constant in constants.iter_mut().filter(|constant| constant.value.is_none()) {
            constant.value = evaluate(constant, &known);
            found |= constant.value.is_some();
        }
        if !found {
            return constants;
        }
    }
}

fn of_file(source: &Source) -> Vec<Constant> {
    let lines: Vec<&str> = source.scrubbed.code.lines().collect();
    let mut constants = Vec::new();
    let mut function = "";
    for (index, line) in lines.iter().enumerate().filter(|(index, _)| !source.is_test_line(*index))
    {
        if let Some(name) = crate::tidy::function_name(line) {
            function = name;
        }
        let found = declaration(&lines[index..])
            .or_else(|| number_of_a_field(line))
            .or_else(|| number_of_an_arm(line, function));
        let Some((name, expression)) = found else { continue };
        constants.push(Constant { path: source.path.clone(), name, expression, value: None });
    }
    constants
}

/// Name and expression of the `const` that begins in the first of these lines.
fn declaration(lines: &[&str]) -> Option<(String, String)> {
    let (_, declaration) = lines.first()?.split_once("const ")?;
    let (name, _) = declaration.split_once(": ")?;
    let is_name = |char: char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_';
    if !name.chars().all(is_name) || name == "_" {
        return None;
    }
    let statement: String = lines.iter().take(6).copied().collect::<Vec<_>>().join(" ");
    let (expression, _) = statement.split_once(" = ")?.1.split_once(';')?;
    Some((name.to_owned(), expression.trim().to_owned()))
}

/// The number that a field gets: `wait: Duration::from_secs(1),`.
fn number_of_a_field(line: &str) -> Option<(String, String)> {
    let (name, expression) = line.trim().strip_suffix(',')?.split_once(": ")?;
    number(name, expression).map(|expression| (name.to_owned(), expression))
}

/// The number that an arm of a match returns, under the names of the function and of the variant:
/// `entry_bytes_max::Issues` of `Self::Issues => 8 << 20,`.
fn number_of_an_arm(line: &str, function: &str) -> Option<(String, String)> {
    let arm = line.trim().strip_suffix(',')?.strip_prefix("Self::")?;
    let (variant, expression) = arm.split_once(" => ")?;
    number(variant, expression).map(|expression| (format!("{function}::{variant}"), expression))
}

fn number(name: &str, expression: &str) -> Option<String> {
    let is_number = expression.starts_with(|char: char| char.is_ascii_digit())
        || expression.starts_with("Duration::from_");
    let is_name = name.chars().all(|char| char.is_alphanumeric() || char == '_');
    (is_number && is_name).then(|| expression.to_owned())
}

/// The values that an expression may name, by file and name.
type Known = BTreeMap<(String, String), Value>;

fn known(constants: &[Constant]) -> Known {
    let known = constants.iter().filter_map(|constant| {
        Some(((constant.path.clone(), constant.name.clone()), constant.value?))
    });
    known.collect()
}

fn evaluate(constant: &Constant, known: &Known) -> Option<Value> {
    let units = [
        ("from_millis(", 1_000_000),
        ("from_micros(", 1_000),
        ("from_secs(", 1_000_000_000),
        ("from_mins(", 60_000_000_000),
        ("from_hours(", 3_600_000_000_000_i128),
    ];
    let expression = constant.expression.as_str();
    for (call, nanos) in units {
        if let Some((_, inside)) = expression.split_once(call) {
            let count = Reader::read(inside.strip_suffix(')')?, constant, known)?;
            return Some(Value::Time(Duration::from_nanos(u64::try_from(count * nanos).ok()?)));
        }
    }
    let number = Reader::read(expression, constant, known)?;
    let is = |word: &str| constant.name.split('_').any(|part| part.eq_ignore_ascii_case(word));
    let nanos =
        |scale: i128| Some(Value::Time(Duration::from_nanos(u64::try_from(number * scale).ok()?)));
    if is("SECONDS") {
        nanos(1_000_000_000)
    } else if is("MS") {
        // An instant is a count of milliseconds and not a span of time.
        nanos(1_000_000).filter(|_| !is("INSTANT"))
    } else if is("KIB") {
        Some(Value::Bytes(number << 10))
    } else if is("BYTES") {
        Some(Value::Bytes(number))
    } else {
        Some(Value::Count(number))
    }
}

/// Evaluates integer arithmetic: `<<` binds weaker than `+ -`, these weaker than `* /`.
struct Reader<'a> {
    tokens: Vec<String>,
    at: usize,
    constant: &'a Constant,
    known: &'a Known,
}

impl Reader<'_> {
    fn read(text: &str, constant: &Constant, known: &Known) -> Option<i128> {
        let mut reader = Reader { tokens: tokens(text), at: 0, constant, known };
        let value = reader.shift()?;
        (reader.at == reader.tokens.len()).then_some(value)
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|next| next == token);
        self.at += usize::from(found);
        found
    }

    fn shift(&mut self) -> Option<i128> {
        let mut value = self.sum()?;
        while self.take("<<") {
            value = value.checked_shl(u32::try_from(self.sum()?).ok()?)?;
        }
        Some(value)
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        loop {
            if self.take("+") {
                value += self.product()?;
            } else if self.take("-") {
                value -= self.product()?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.operand()?;
        loop {
            if self.take("*") {
                value = value.checked_mul(self.operand()?)?;
            } else if self.take("/") {
                value = value.checked_div(self.operand()?)?;
            } else if self.take("as") {
                self.at += 1;
            } else {
                return Some(value);
            }
        }
    }

    fn operand(&mut self) -> Option<i128> {
        if self.take("(") {
            let value = self.shift()?;
            return self.take(")").then_some(value);
        }
        let token = self.tokens.get(self.at)?.clone();
        self.at += 1;
        if token.starts_with(|char: char| char.is_ascii_digit()) {
            return token.replace('_', "").parse().ok();
        }
        let (_, name) = token.rsplit_once("::").unwrap_or(("", &token));
        match token.as_str() {
            "i64::MAX" => Some(i128::from(i64::MAX)),
            "u32::MAX" => Some(i128::from(u32::MAX)),
            _ => self.other(name),
        }
    }

    /// Another constant: one of the same file or of that name everywhere.
    fn other(&self, name: &str) -> Option<i128> {
        let here = (self.constant.path.clone(), name.to_owned());
        let mut values = self.known.iter().filter(|((_, other), _)| other == name);
        let value = match self.known.get(&here) {
            Some(value) => value,
            None => values.next().map(|(_, value)| value).filter(|_| values.next().is_none())?,
        };
        match value {
            Value::Count(number) | Value::Bytes(number) => Some(*number),
            Value::Time(time) => Some(i128::try_from(time.as_millis()).ok()?),
        }
    }
}

fn tokens(text: &str) -> Vec<String> {
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | ':');
    let mut tokens = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let length = rest.find(|char| !is_part(char)).unwrap_or(rest.len());
        let length = if length > 0 {
            length
        } else if rest.starts_with("<<") {
            2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(code: &str) -> Vec<(String, Option<Value>)> {
        let source = Source::new("crates/model/src/task.rs", code.to_owned());
        collect(&[source]).into_iter().map(|constant| (constant.name, constant.value)).collect()
    }

    fn value(code: &str) -> Option<Value> {
        values(code)[0].1
    }

    #[test]
    fn arithmetic_durations_and_other_constants_are_evaluated() {
        let time = |millis| Some(Value::Time(Duration::from_millis(millis)));
        for (code, expected) in [
            ("const A_MAX: usize = 10_000;\n", Some(Value::Count(10_000))),
            ("pub(super) const A_BYTES: usize = 8 << 20;\n", Some(Value::Bytes(8 << 20))),
            ("const A_KIB: u32 = 64 << 10;\n", Some(Value::Bytes(64 << 20))),
            ("const A_PAGES: u32 = (64 << 20) / 8192;\n", Some(Value::Count(8192))),
            ("const A_MAX: u64 = (1 << 53) - 1;\n", Some(Value::Count((1 << 53) - 1))),
            ("const A: Duration = Duration::from_millis(3);\n", time(3)),
            ("const A: Duration = Duration::from_mins(1);\n", time(60_000)),
            ("const A_MS: i64 = 3_600_000;\n", time(3_600_000)),
            ("const A_SECONDS: u64 = 8;\n", time(8000)),
            ("const A_MAX: usize = Family::Issues.entry_bytes_max();\n", None),
            ("const A_MAX: usize = B + 10;\nconst B: usize = 100;\n", Some(Value::Count(110))),
            ("const A_MAX: u64 = B as u64;\nconst B: usize = 1;\n", Some(Value::Count(1))),
        ] {
            assert_eq!(value(code), expected, "{code}");
        }
    }

    #[test]
    fn numbers_of_fields_and_arms_are_found() {
        let code = "fn size(self) {\nSelf { wait: 1,\n    held_bytes: 8 << 20,\n\
                    every: Duration::from_secs(1),\nSelf::Issues => 8 << 20,\nname: \"x\",\n";
        let source = Source::new("crates/api/src/config.rs", code.to_owned());
        let constants = collect(&[source]);
        let names: Vec<&str> = constants.iter().map(|constant| constant.name.as_str()).collect();
        assert_eq!(names, ["held_bytes", "every", "size::Issues"]);
        assert_eq!(constants[0].value, Some(Value::Bytes(8 << 20)));
    }

    #[test]
    fn test_code_and_other_types_are_left_out() {
        assert_eq!(values("#[cfg(test)]\nmod tests {\n    const A_MAX: u8 = 1;\n}\n"), []);
        assert_eq!(value("const A_MAX: &str = \"one\";\n"), None);
    }

    #[test]
    fn a_constant_is_found_by_its_name_module_or_crate() {
        let source = Source::new("crates/api/src/auth/mod.rs", "const A_MAX: u8 = 1;\n".to_owned());
        let constant = &collect(&[source])[0];
        for (name, found) in [
            ("A_MAX", true),
            ("auth::A_MAX", true),
            ("api::A_MAX", true),
            ("model::A_MAX", false),
            ("B_MAX", false),
        ] {
            assert_eq!(constant.is_named(name), found, "{name}");
        }
    }
}
