"""Judges expressions of PromQL by the metrics that a server has.

`judge` gives the unit and the labels of a result, or raises a Problem: an expression that is not
PromQL, a metric, label or value that the server does not have, a rate of something that is not a
counter, or an operation on units that do not fit.

A unit is a dimension: {"seconds": 1}, {"bytes": 1, "seconds": -1}, {} for a ratio. Everything else
that is counted (requests, tasks, entries) is "items" in a result. In an expression each has its own
dimension, so that a ratio of tasks and entries is a Problem.
"""

import re
from typing import NamedTuple

import promql_parser as ast

# Values that a server has only in trouble.
VALUES_OF_TROUBLE = {"status": {"5xx", "left"}}
# Prometheus adds these labels, and makes the metric `up` of each scrape.
LABELS_OF_PROMETHEUS = {"job": {"caseload"}, "instance": {"server:8080"}}
RATES = {"rate", "irate"}
# Functions of counters and of gauges that change no unit, and those that need no series.
KEEP_COUNTER = {"increase"}
KEEP_GAUGE = {"min_over_time", "max_over_time", "avg_over_time"}
COMPARISONS = {">", "<", ">=", "<=", "==", "!="}
SETS = {"and", "unless", "or"}


class Problem(Exception):
    """The reason why an expression is wrong."""


class Result(NamedTuple):
    unit: dict
    labels: frozenset
    # Of a plain series: counter, gauge or bucket. Of a result: gauge, or the unit of its buckets.
    kind: str
    # A number has no unit of its own.
    is_number: bool = False


class Metrics:
    """The series of a server: names, types, labels with their values."""

    def __init__(self, text):
        self.kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
        self.series = {"up": [{}]}
        self.used = set()
        for name, labels in re.findall(r"^(\w+)(?:{(.*)})? \S+$", text, re.MULTILINE):
            pairs = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            self.series.setdefault(name, []).append(pairs)

    def kind(self, name):
        family = re.sub("_(bucket|sum|count)$", "", name)
        self.used |= {name, family} & self.kinds.keys()
        if self.kinds.get(family) == "histogram":
            return "bucket" if name.endswith("_bucket") else "counter"
        return self.kinds.get(name, "gauge")

    def values(self, name, label):
        seen = {pairs[label] for pairs in self.series[name] if label in pairs}
        return (seen | VALUES_OF_TROUBLE.get(label, set())) if seen else set()


def noun(name):
    return re.sub("^caseload_", "", name).split("_")[0]


def unit_of(name):
    if re.search("_seconds(_sum)?$", name):
        return {"seconds": 1}
    return {"bytes": 1} if name.endswith("_bytes") else {noun(name): 1}


def times(left, right, sign):
    sums = {key: left.get(key, 0) + sign * right.get(key, 0) for key in {*left, *right}}
    return {key: power for key, power in sums.items() if power}


def selector(node, metrics):
    if node.name not in metrics.series:
        raise Problem(f"the server has no metric {node.name}")
    labels = {label for pairs in metrics.series[node.name] for label in pairs}
    for matcher in node.matchers.matchers:
        values = LABELS_OF_PROMETHEUS.get(matcher.name) or metrics.values(node.name, matcher.name)
        pattern = matcher.value
        if matcher.op in (ast.MatchOp.Equal, ast.MatchOp.NotEqual):
            pattern = re.escape(pattern)
        # Each alternative has to occur, so that none is a slip.
        parts = [pattern] if "(" in pattern else pattern.split("|")
        for part in parts:
            if not any(re.fullmatch(part, value) for value in values):
                raise Problem(f"{node.name} has no {matcher.name} like {matcher.value}")
    kind = metrics.kind(node.name)
    return Result(unit_of(node.name), frozenset(labels | LABELS_OF_PROMETHEUS.keys()), kind)


def counted(name, kind, wanted):
    if (kind in ("counter", "bucket")) != wanted:
        raise Problem(f"{name} of a {kind}")


def call(node, metrics):
    name = node.func.name
    results = [judged(argument, metrics) for argument in node.args]
    last = results[-1]
    if name in RATES:
        counted(name, last.kind, True)
        return last._replace(unit=times(last.unit, {"seconds": 1}, -1), kind=f"rate {last.kind}")
    if name in KEEP_COUNTER:
        counted(name, last.kind, True)
        return last._replace(kind=f"rate {last.kind}")
    if name in KEEP_GAUGE or name in ("deriv", "resets"):
        counted(name, last.kind, False)
        units = {"deriv": times(last.unit, {"seconds": 1}, -1), "resets": {"items": 1}}
        return last._replace(unit=units.get(name, last.unit))
    if name == "histogram_quantile":
        if last.kind != "rate bucket" or "le" not in last.labels:
            raise Problem("histogram_quantile needs the rate of buckets, by le")
        return Result({"seconds": 1}, last.labels - {"le"}, "gauge")
    if name == "scalar":
        return last._replace(labels=frozenset())
    if name == "absent":
        return Result({"items": 1}, frozenset({"job"}), "gauge")
    raise Problem(f"the check does not know the function {name}: add it to promql.py")


def aggregate(node, metrics):
    inner = judged(node.expr, metrics)
    counted(node.op, inner.kind, False)
    if node.param is not None:
        return inner
    by = frozenset(node.modifier.labels if node.modifier else ())
    if by - inner.labels:
        raise Problem(f"there is no label {', '.join(by - inner.labels)} to group by")
    unit = {noun(str(node.expr.name)): 1} if str(node.op) == "count" else inner.unit
    return inner._replace(labels=by, unit=unit)


def binary(node, metrics):
    left, right = judged(node.lhs, metrics), judged(node.rhs, metrics)
    for side in (left, right):
        counted(node.op, side.kind, False)
    operator = str(node.op)
    if operator in SETS or right.is_number and operator in COMPARISONS | {"*", "/"}:
        return left
    if operator in ("*", "/"):
        return left._replace(unit=times(left.unit, right.unit, 1 if operator == "*" else -1))
    if left.unit != right.unit:
        raise Problem(f"{left.unit} {operator} {right.unit}")
    return left


def judged(node, metrics):
    if isinstance(node, ast.VectorSelector):
        return selector(node, metrics)
    if isinstance(node, ast.MatrixSelector):
        return selector(node.vector_selector, metrics)
    if isinstance(node, ast.NumberLiteral):
        return Result({}, frozenset(), "gauge", is_number=True)
    if isinstance(node, ast.ParenExpr):
        return judged(node.expr, metrics)
    if isinstance(node, ast.Call):
        return call(node, metrics)
    if isinstance(node, ast.AggregateExpr):
        return aggregate(node, metrics)
    if isinstance(node, ast.BinaryExpr):
        return binary(node, metrics)
    raise Problem(f"the check does not know {type(node).__name__}: add it to promql.py")


def judge(expression, metrics):
    """The result of an expression, with everything that is counted as items."""
    try:
        node = ast.parse(expression)
    except ValueError as error:
        raise Problem(f"not PromQL: {error}") from error
    result = judged(node, metrics)
    counted("a plain result", result.kind, False)
    unit = {key if key in ("seconds", "bytes") else "items": power
            for key, power in result.unit.items()}
    return result._replace(unit=unit)
