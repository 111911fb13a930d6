//! A lint for SQL: every table in a statement must be bound to one domain. A table is bound if its
//! `domain_id` is compared with a parameter, with the id of a row of `domains`, or with the
//! `domain_id` of a table that is bound already. A distributed database can then run the statement
//! on the node that stores the domain. The lint also reports combinations that such a database
//! refuses: a table of a domain and one that is not distributed, together in a statement that
//! writes or locks, in an outer join, or one inside the other. The lint parses the text, and knows
//! no query plans.

mod tests;

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

/// The faults of a statement; none if it binds every table. `undistributed` names the tables that
/// need no binding.
pub(super) fn unbound_tables(text: &str, undistributed: &[&str]) -> Vec<String> {
    // The parser does not know these two lock clauses.
    let known =
        text.replace("FOR NO KEY UPDATE", "FOR UPDATE").replace("FOR KEY SHARE", "FOR SHARE");
    let statements = match Parser::parse_sql(&PostgreSqlDialect {}, &known) {
        Ok(statements) => statements,
        Err(error) => return vec![format!("it cannot be read: {error}")],
    };
    let mut lint = Lint {
        undistributed,
        ctes: HashSet::new(),
        scopes: Vec::new(),
        writes_or_locks: false,
        faults: Vec::new(),
    };
    for statement in &statements {
        let ControlFlow::Continue(()) = statement.visit(&mut lint);
        lint.scopes.clear();
        lint.ctes.clear();
        lint.writes_or_locks = false;
    }
    lint.faults
}

/// A table in a `FROM` clause, under the name that the rest of the statement uses for it.
#[derive(Debug, Clone)]
struct TableRef {
    alias: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its rows belong to domains, so it has to be bound.
    Distributed,
    /// The table `domains`: its `id` identifies a domain.
    Domains,
    /// Another table that is not distributed.
    Undistributed,
    /// Needs no binding: a function or a common table expression.
    Free,
}

impl Kind {
    const fn is_distributed(self) -> bool {
        matches!(self, Self::Distributed)
    }

    const fn is_undistributed(self) -> bool {
        matches!(self, Self::Domains | Self::Undistributed)
    }
}

struct Lint<'s> {
    undistributed: &'s [&'s str],
    /// Names of common table expressions.
    ctes: HashSet<String>,
    /// The tables of the enclosing selects, which an inner select may refer to.
    scopes: Vec<Vec<TableRef>>,
    /// Whether the statement writes, or locks rows that it reads.
    writes_or_locks: bool,
    faults: Vec<String>,
}

impl Lint<'_> {
    /// Reports the unbound tables of one select and opens its scope for inner selects.
    fn scope(&mut self, tables: &[&TableWithJoins], condition: Option<&Expr>) {
        let mut references = Vec::new();
        let mut conditions: Vec<&Expr> = condition.into_iter().collect();
        let mut outer = false;
        for table in tables {
            self.gather(&table.relation, &mut references, &mut conditions);
            for join in &table.joins {
                outer |= !matches!(
                    join.join_operator,
                    JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_)
                );
                conditions.extend(on(join));
                self.gather(&join.relation, &mut references, &mut conditions);
            }
        }
        self.require_together(&references, outer);
        let equal: Vec<_> = conditions.into_iter().flat_map(equalities).collect();
        let mut bound: Vec<TableRef> =
            references.iter().filter(|one| one.kind != Kind::Distributed).cloned().collect();
        let mut open: Vec<TableRef> =
            references.iter().filter(|one| one.kind == Kind::Distributed).cloned().collect();
        let only = (open.len() == 1).then(|| open[0].alias.clone());
        loop {
            let (done, left): (Vec<_>, Vec<_>) = open.into_iter().partition(|reference| {
                let is_key = |expr: &Expr| {
                    column(expr, only.as_deref()) == Some((reference.alias.clone(), KEY.to_owned()))
                };
                equal.iter().any(|(one, other)| {
                    (is_key(one) && self.is_domain_id(other, &bound))
                        || (is_key(other) && self.is_domain_id(one, &bound))
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
        // Inner selects may refer to it: one fault for each table is enough.
        bound.extend(open);
        self.scopes.push(bound);
    }

    /// Reports combinations of tables that a distributed database refuses: in this scope, or with
    /// one of the scopes around it.
    fn require_together(&mut self, here: &[TableRef], outer_join: bool) {
        let [distributed, other] = [Kind::is_distributed, Kind::is_undistributed]
            .map(|of| here.iter().find(|one| of(one.kind)).map(|one| one.alias.clone()));
        let around: Vec<_> = self.scopes.iter().flatten().collect();
        let mut mixed = Vec::new();
        if let (Some(one), Some(other)) = (&distributed, &other)
            && (self.writes_or_locks || outer_join)
        {
            mixed.push(format!("{one} is joined with {other}"));
        }
        for table in around {
            let inner = if table.kind.is_undistributed() { &distributed } else { &other };
            if let (Some(inner), true) = (inner, table.kind != Kind::Free) {
                mixed.push(format!("{inner} is inside a scope with {}", table.alias));
            }
        }
        self.faults.extend(mixed);
    }

    /// Whether an expression is the id of a domain.
    fn is_domain_id(&self, expr: &Expr, bound: &[TableRef]) -> bool {
        match expr {
            Expr::Value(_) => true,
            Expr::Cast { expr, .. } | Expr::Nested(expr) => self.is_domain_id(expr, bound),
            _ => column(expr, None).is_some_and(|(alias, name)| {
                let around = self.scopes.iter().flatten().chain(bound);
                let kind = around.filter(|one| one.alias == alias).map(|one| one.kind).next_back();
                match kind {
                    Some(Kind::Domains) => name == "id",
                    Some(Kind::Distributed) => name == KEY,
                    Some(Kind::Undistributed | Kind::Free) | None => false,
                }
            }),
        }
    }

    fn gather<'e>(
        &self,
        factor: &'e TableFactor,
        references: &mut Vec<TableRef>,
        conditions: &mut Vec<&'e Expr>,
    ) {
        match factor {
            TableFactor::Table { name, alias, args, .. } => {
                let table = plain(name);
                let alias = alias.as_ref().map_or(table.clone(), |alias| alias.name.value.clone());
                let kind = if args.is_some() || self.ctes.contains(&table) {
                    Kind::Free
                } else {
                    self.kind(&table)
                };
                references.push(TableRef { alias, kind });
            }
            TableFactor::NestedJoin { table_with_joins, .. } => {
                self.gather(&table_with_joins.relation, references, conditions);
                for join in &table_with_joins.joins {
                    conditions.extend(on(join));
                    self.gather(&join.relation, references, conditions);
                }
            }
            // A derived table is visited as a select of its own.
            TableFactor::Derived { .. }
            | TableFactor::Function { .. }
            | TableFactor::UNNEST { .. } => {}
            other => panic!("the lint does not know this kind of table: {other}"),
        }
    }

    fn kind(&self, table: &str) -> Kind {
        match table {
            "domains" => Kind::Domains,
            _ if self.undistributed.contains(&table) => Kind::Undistributed,
            _ if table.starts_with("pg_") => Kind::Free,
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
                self.faults.push(format!("the conflict target of {table} does not contain {KEY}"));
            }
        }
        self.scopes.push(vec![TableRef { alias, kind }]);
    }
}

impl Visitor for Lint<'_> {
    type Break = std::convert::Infallible;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Self::Break> {
        self.writes_or_locks =
            matches!(statement, Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_));
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
        self.writes_or_locks |= !query.locks.is_empty();
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.ctes.insert(table.alias.name.value.clone());
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

/// The condition of a join. The condition of an outer join binds the optional side, which is the
/// side that needs it.
fn on(join: &Join) -> Option<&Expr> {
    match &join.join_operator {
        JoinOperator::Join(JoinConstraint::On(condition))
        | JoinOperator::Inner(JoinConstraint::On(condition))
        | JoinOperator::Left(JoinConstraint::On(condition))
        | JoinOperator::LeftOuter(JoinConstraint::On(condition)) => Some(condition),
        _ => None,
    }
}

/// The pairs of expressions that a condition requires to be equal.
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

/// The table and the name of a column. A column without a table belongs to `only`.
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
