//! Statements that the lint accepts, and statements in which it finds a fault.

use super::unbound_tables;

#[test]
fn the_lint_finds_unbound_tables_in_every_clause() {
    check(&[
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
            Some("conflict target"),
        ),
        ("INSERT INTO t (domain_id, x) SELECT $1, x FROM u", Some("u is not bound")),
        ("COPY t (domain_id, x) FROM STDIN (FORMAT binary)", None),
        ("COPY t (x) FROM STDIN (FORMAT binary)", Some("do not begin with")),
        ("SELECT 1 FROM (", Some("it cannot be read")),
    ]);
}

#[test]
fn the_lint_finds_joins_that_a_distributed_database_refuses() {
    check(&[
        ("SELECT 1 FROM t JOIN queue q ON q.x = t.x WHERE t.domain_id = $1", None),
        (
            "SELECT 1 FROM t LEFT JOIN queue q ON q.x = t.x WHERE t.domain_id = $1",
            Some("t is joined with q"),
        ),
        (
            "SELECT 1 FROM t JOIN queue q ON q.x = t.x WHERE t.domain_id = $1 FOR UPDATE",
            Some("t is joined with q"),
        ),
        (
            "UPDATE t SET x = 1 FROM queue q WHERE t.domain_id = $1 AND q.x = t.x",
            Some("t is joined with q"),
        ),
        (
            "UPDATE t SET x = 1 WHERE domain_id = $1 AND domain_id IN (SELECT id FROM domains)",
            Some("domains is inside a scope with t"),
        ),
        (
            "SELECT (SELECT count(*) FROM queue q WHERE q.x < t.x) FROM t WHERE t.domain_id = $1",
            Some("q is inside a scope with t"),
        ),
        (
            "INSERT INTO queue (x) SELECT x FROM t WHERE t.domain_id = $1",
            Some("t is inside a scope with queue"),
        ),
        ("UPDATE queue SET x = 1 WHERE y IN (SELECT id FROM domains)", None),
    ]);
}

fn check(statements: &[(&str, Option<&str>)]) {
    for (text, expected) in statements {
        let found = unbound_tables(text, &["domains", "queue"]);
        match expected {
            None => assert!(found.is_empty(), "{text}: {found:?}"),
            Some(fault) => {
                assert!(found.iter().any(|one| one.contains(fault)), "{text}: {found:?}");
            }
        }
    }
}
