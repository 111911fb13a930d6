//! Whether a statement says of each table that it names whose rows it is about: every reference to
//! a table, in whatever join or sub-select, has `domain_id` compared with a parameter, with the id
//! of a domain, or with that of another reference that has. That is what an engine needs that keeps
//! each domain's rows in one place. It reads the text as the database would and knows no plan.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, ConflictTarget, CopySource, Expr, FromTable, Insert, Join, JoinConstraint,
    JoinOperator, ObjectName, OnInsert, Query, Select, Statement, TableFactor, TableObject,
    TableWithJoins, UpdateTableFromKind, Visit, Visitor,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

const KEY: &str = "domain_id";

/// What is wrong with a text; nothing where every reference is bound. `small` are the tables that
/// are not distributed.
pub(super) fn faults(text: &str, small: &[&str]) -> Vec<String> {
    // Words for locks that the parser does not know; they lock what others do.
    let known =
        text.replace("FOR NO KEY UPDATE", "FOR UPDATE").replace("FOR KEY SHARE", "FOR SHARE");
    let statements = match Parser::parse_sql(&PostgreSqlDialect {}, &known) {
        Ok(statements) => statements,
        Err(error) => return vec![format!("it cannot be read: {error}")],
    };
    let mut reader =
        Reader { small, named: HashSet::new(), scopes: Vec::new(), faults: Vec::new() };
    for statement in &statements {
        let ControlFlow::Continue(()) = statement.visit(&mut reader);
        reader.scopes.clear();
        reader.named.clear();
    }
    reader.faults
}

/// What one table is called where it is referred to.
#[derive(Debug, Clone)]
struct Reference {
    alias: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Rows of domains: it has to be bound.
    Distributed,
    /// The domains themselves, whose `id` is a domain's.
    Domains,
    /// Bound by itself or without rows of domains.
    Free,
}

struct Reader<'s> {
    small: &'s [&'s str],
    /// Names of common table expressions.
    named: HashSet<String>,
    /// What is bound in the selects around the one that is read.
    scopes: Vec<Vec<Reference>>,
    faults: Vec<String>,
}

impl Reader<'_> {
    /// Finds what of a scope is bound, notes what is not, and leaves what is to inner selects.
    fn scope(&mut self, tables: &[&TableWithJoins], condition: Option<&Expr>) {
        let mut references = Vec::new();
        let mut conditions: Vec<&Expr> = condition.into_iter().collect();
        for table in tables {
            self.gather(&table.relation, &mut references, &mut conditions);
            for join in &table.joins {
                conditions.extend(on(join));
                self.gather(&join.relation, &mut references, &mut conditions);
            }
        }
        let equal: Vec<_> = conditions.into_iter().flat_map(equalities).collect();
        let mut bound: Vec<Reference> =
            references.iter().filter(|one| one.kind != Kind::Distributed).cloned().collect();
        let mut open: Vec<Reference> =
            references.iter().filter(|one| one.kind == Kind::Distributed).cloned().collect();
        let only = (open.len() == 1).then(|| open[0].alias.clone());
        loop {
            let (done, left): (Vec<_>, Vec<_>) = open.into_iter().partition(|reference| {
                let is_key = |expr: &Expr| {
                    column(expr, only.as_deref()) == Some((reference.alias.clone(), KEY.to_owned()))
                };
                equal.iter().any(|(one, other)| {
                    (is_key(one) && self.says_domain(other, &bound))
                        || (is_key(other) && self.says_domain(one, &bound))
                })
            });
            open = left;
            if done.is_empty() {
                break;
            }
            bound.extend(done);
        }
        for reference in &open {
            self.faults.push(format!("{} is not bound to a domain", reference.alias));
        }
        // One fault is enough for each.
        bound.extend(open);
        self.scopes.push(bound);
    }

    /// Whether a value is a domain's id.
    fn says_domain(&self, expr: &Expr, bound: &[Reference]) -> bool {
        match expr {
            Expr::Value(_) => true,
            Expr::Cast { expr, .. } | Expr::Nested(expr) => self.says_domain(expr, bound),
            _ => column(expr, None).is_some_and(|(alias, name)| {
                let around = self.scopes.iter().flatten().chain(bound);
                let kind = around.filter(|one| one.alias == alias).map(|one| one.kind).next_back();
                match kind {
                    Some(Kind::Domains) => name == "id",
                    Some(Kind::Distributed) => name == KEY,
                    Some(Kind::Free) | None => false,
                }
            }),
        }
    }

    fn gather<'e>(
        &self,
        factor: &'e TableFactor,
        references: &mut Vec<Reference>,
        conditions: &mut Vec<&'e Expr>,
    ) {
        match factor {
            TableFactor::Table { name, alias, args, .. } => {
                let table = plain(name);
                let alias = alias.as_ref().map_or(table.clone(), |alias| alias.name.value.clone());
                let kind = if args.is_some() || self.named.contains(&table) {
                    Kind::Free
                } else {
                    self.kind(&table)
                };
                references.push(Reference { alias, kind });
            }
            TableFactor::NestedJoin { table_with_joins, .. } => {
                self.gather(&table_with_joins.relation, references, conditions);
                for join in &table_with_joins.joins {
                    conditions.extend(on(join));
                    self.gather(&join.relation, references, conditions);
                }
            }
            // Read by itself.
            TableFactor::Derived { .. }
            | TableFactor::Function { .. }
            | TableFactor::UNNEST { .. } => {}
            other => panic!("no statement of ours has such a table: {other}"),
        }
    }

    fn kind(&self, table: &str) -> Kind {
        match table {
            "domains" => Kind::Domains,
            _ if self.small.contains(&table) || table.starts_with("pg_") => Kind::Free,
            _ => Kind::Distributed,
        }
    }

    fn insert(&mut self, insert: &Insert) {
        let TableObject::TableName(name) = &insert.table else { return };
        let table = plain(name);
        let alias = insert.table_alias.as_ref().map_or(table.clone(), |to| to.alias.value.clone());
        let kind = self.kind(&table);
        if kind == Kind::Distributed {
            if insert.columns.first().map(plain).as_deref() != Some(KEY) {
                self.faults.push(format!("rows of {table} do not begin with {KEY}"));
            }
            if let Some(OnInsert::OnConflict(conflict)) = &insert.on
                && let Some(ConflictTarget::Columns(columns)) = &conflict.conflict_target
                && columns.iter().all(|column| column.value != KEY)
            {
                self.faults.push(format!("a conflict in {table} is one between domains"));
            }
        }
        self.scopes.push(vec![Reference { alias, kind }]);
    }
}

impl Visitor for Reader<'_> {
    type Break = std::convert::Infallible;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Self::Break> {
        match statement {
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => {
                let mut tables = vec![&update.table];
                if let Some(
                    UpdateTableFromKind::AfterSet(from) | UpdateTableFromKind::BeforeSet(from),
                ) = &update.from
                {
                    tables.extend(from);
                }
                self.scope(&tables, update.selection.as_ref());
            }
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) =
                    &delete.from;
                let using = delete.using.iter().flatten();
                let tables: Vec<_> = from.iter().chain(using).collect();
                self.scope(&tables, delete.selection.as_ref());
            }
            Statement::Copy { source: CopySource::Table { table_name, columns }, .. } => {
                let table = plain(table_name);
                let first = columns.first().map(|column| column.value.as_str());
                if self.kind(&table) == Kind::Distributed && first != Some(KEY) {
                    self.faults.push(format!("rows of {table} do not begin with {KEY}"));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.named.insert(table.alias.name.value.clone());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        let tables: Vec<_> = select.from.iter().collect();
        self.scope(&tables, select.selection.as_ref());
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<Self::Break> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }
}

/// A name without its schema.
fn plain(name: &ObjectName) -> String {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.map(|ident| ident.value.clone()).unwrap_or_default()
}

/// The condition of a join that leaves rows out. One of an outer join binds its own side, which is
/// all that is asked of it.
fn on(join: &Join) -> Option<&Expr> {
    match &join.join_operator {
        JoinOperator::Join(JoinConstraint::On(condition))
        | JoinOperator::Inner(JoinConstraint::On(condition))
        | JoinOperator::Left(JoinConstraint::On(condition))
        | JoinOperator::LeftOuter(JoinConstraint::On(condition)) => Some(condition),
        _ => None,
    }
}

/// What a condition asks to be equal, all at once.
fn equalities(condition: &Expr) -> Vec<(&Expr, &Expr)> {
    match condition {
        Expr::Nested(inner) => equalities(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            [equalities(left), equalities(right)].concat()
        }
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => match (&**left, &**right) {
            (Expr::Tuple(left), Expr::Tuple(right)) => left.iter().zip(right).collect(),
            (left, right) => vec![(left, right)],
        },
        _ => Vec::new(),
    }
}

/// The table and the name of a column; `only` is whose it is where it does not say it.
fn column(expr: &Expr, only: Option<&str>) -> Option<(String, String)> {
    match expr {
        Expr::Identifier(name) => Some((only?.to_owned(), name.value.clone())),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [table, name] => Some((table.value.clone(), name.value.clone())),
            _ => None,
        },
        _ => None,
    }
}

#[test]
fn a_reference_that_is_not_bound_is_found_wherever_it_is() {
    let small = ["domains", "queue"];
    for (text, expected) in [
        ("SELECT 1 FROM t WHERE domain_id = $1", None),
        ("SELECT 1 FROM t a WHERE $1::bigint = a.domain_id AND x = 2", None),
        ("SELECT 1 FROM domains WHERE name = $1", None),
        ("SELECT 1 FROM t WHERE x = $1", Some("t is not bound")),
        ("SELECT domain_id FROM t WHERE x = $1 ORDER BY domain_id", Some("t is not bound")),
        ("SELECT 1 FROM t WHERE domain_id = $1 OR x = 2", Some("t is not bound")),
        ("SELECT 1 FROM t WHERE domain_id > $1", Some("t is not bound")),
        ("SELECT 1 FROM t WHERE NOT domain_id = $1", Some("t is not bound")),
        ("SELECT 1 FROM t WHERE domain_id = domain_id", Some("t is not bound")),
        ("SELECT 1 FROM t WHERE domain_id = x", Some("t is not bound")),
        ("SELECT 1 FROM t a JOIN u b ON b.domain_id = a.domain_id WHERE a.domain_id = $1", None),
        (
            "SELECT 1 FROM t a JOIN u b ON b.domain_id = $1 AND b.x = a.x WHERE a.domain_id = $1",
            None,
        ),
        ("SELECT 1 FROM t a JOIN u b ON b.x = a.x WHERE a.domain_id = $1", Some("b is not bound")),
        ("SELECT 1 FROM t a, u b WHERE a.domain_id = b.domain_id", Some("a is not bound")),
        ("SELECT 1 FROM t a LEFT JOIN u b ON b.x = a.x WHERE a.domain_id = $1", Some("b is")),
        ("SELECT 1 FROM t JOIN domains d ON d.id = t.domain_id", None),
        ("SELECT 1 FROM t JOIN domains d ON d.name = t.domain_id", Some("t is not bound")),
        ("SELECT (SELECT 1 FROM u WHERE u.x = t.x) FROM t WHERE t.domain_id = $1", Some("u is")),
        (
            "SELECT 1 FROM t WHERE domain_id = $1 AND EXISTS (SELECT 1 FROM u WHERE u.x = 1)",
            Some("u"),
        ),
        (
            "SELECT 1 FROM t WHERE t.domain_id = $1 AND EXISTS (SELECT 1 FROM u \
             WHERE u.domain_id = t.domain_id)",
            None,
        ),
        (
            "SELECT 1 FROM unnest($1::bigint[]) c(x), LATERAL (SELECT 1 FROM t WHERE x = c.x) s",
            Some("t is"),
        ),
        (
            "SELECT 1 FROM unnest($2::bigint[]) c(x), LATERAL (SELECT 1 FROM t \
             WHERE domain_id = $1) s",
            None,
        ),
        ("SELECT 1 FROM t WHERE domain_id = $1 UNION ALL SELECT 1 FROM u", Some("u is not bound")),
        ("WITH w AS (SELECT 1 FROM t) SELECT 1 FROM w", Some("t is not bound")),
        ("WITH w AS (SELECT 1 FROM t WHERE domain_id = $1) SELECT 1 FROM w", None),
        ("UPDATE t SET x = 1 WHERE (domain_id, y) = ($1, $2)", None),
        ("UPDATE t SET domain_id = $1 WHERE y = $2", Some("t is not bound")),
        (
            "UPDATE t a SET x = 1 FROM u b WHERE a.domain_id = $1 AND a.y = b.y",
            Some("b is not bound"),
        ),
        ("DELETE FROM t USING u WHERE t.domain_id = $1 AND u.domain_id = t.domain_id", None),
        ("DELETE FROM t", Some("t is not bound")),
        (
            "INSERT INTO t (domain_id, x) VALUES ($1, $2) ON CONFLICT (domain_id, x) DO NOTHING",
            None,
        ),
        ("INSERT INTO t (x, domain_id) VALUES ($1, $2)", Some("do not begin with")),
        ("INSERT INTO t VALUES ($1, $2)", Some("do not begin with")),
        (
            "INSERT INTO t (domain_id, x) VALUES ($1, $2) ON CONFLICT (x) DO NOTHING",
            Some("conflict"),
        ),
        ("INSERT INTO t (domain_id, x) SELECT $1, x FROM u", Some("u is not bound")),
        ("COPY t (domain_id, x) FROM STDIN (FORMAT binary)", None),
        ("COPY t (x) FROM STDIN (FORMAT binary)", Some("do not begin with")),
        ("SELECT 1 FROM (", Some("it cannot be read")),
    ] {
        let found = faults(text, &small);
        match expected {
            None => assert!(found.is_empty(), "{text}: {found:?}"),
            Some(fault) => {
                assert!(found.iter().any(|one| one.contains(fault)), "{text}: {found:?}");
            }
        }
    }
}
