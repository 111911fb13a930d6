//! Checks whether a history has an order: whether its calls can be put in some order, each between
//! its beginning and its answer, in which one object after another state gives all the answers. The
//! search is that of a library; this module shortens a history without such an order until each
//! call that is left is needed. It knows nothing of the server.

use std::fmt::{Debug, Write as _};

use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::Action::{Call, Response};
use todc_utils::linearizability::history::History;
use todc_utils::specifications::Specification;

/// A call of a client, with its answer.
#[derive(Debug, Clone)]
pub(crate) struct Recorded<O> {
    /// When the client sent it and when it got the answer, in the order of all events; no end if
    /// the answer is unknown: it may then take effect at any later time.
    pub(crate) began: u64,
    pub(crate) ended: Option<u64>,
    pub(crate) operation: O,
}

/// An operation that can be known less well.
pub(crate) trait Operation: Clone + Debug {
    /// Whether it only looks.
    fn is_read(&self) -> bool;
    /// The same without its answer.
    #[must_use]
    fn unanswered(&self) -> Self;
}

/// Whether the calls have an order.
pub(crate) fn has_order<S: Specification>(calls: &[Recorded<S::Operation>]) -> bool {
    if calls.is_empty() {
        return true;
    }
    let mut events = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        events.push((call.began, number, Call(call.operation.clone())));
        // All unanswered calls end after everything else.
        let ended = call.ended.unwrap_or(u64::MAX);
        events.push((ended, number, Response(call.operation.clone())));
    }
    events.sort_by_key(|(at, number, _)| (*at, *number));
    let actions = events.into_iter().map(|(_, number, action)| (number, action)).collect();
    WGLChecker::<S>::is_linearizable(History::from_actions(actions))
}

/// The smallest contradiction in a history: `None` if it has an order. Each step leaves out a
/// demand, never an effect that may have happened, so that the rest is a contradiction, too.
pub(crate) fn contradiction<S>(calls: &[Recorded<S::Operation>]) -> Option<String>
where
    S: Specification,
    S::Operation: Operation,
{
    if has_order::<S>(calls) {
        return None;
    }
    let mut rest = shortest_beginning::<S>(calls);
    for number in (0..rest.len()).rev() {
        let mut less = rest.clone();
        if less[number].operation.is_read() {
            less.remove(number);
        } else {
            let call = &mut less[number];
            (call.ended, call.operation) = (None, call.operation.unanswered());
        }
        if !has_order::<S>(&less) {
            rest = less;
        }
    }
    // Leaves out unanswered writes that no answer needs: without them there is still no order.
    for number in (0..rest.len()).rev() {
        let mut less = rest.clone();
        if less.remove(number).ended.is_none() && !has_order::<S>(&less) {
            rest = less;
        }
    }
    Some(told(&rest))
}

/// The history up to the first answer with which it has no order.
fn shortest_beginning<S>(calls: &[Recorded<S::Operation>]) -> Vec<Recorded<S::Operation>>
where
    S: Specification,
    S::Operation: Operation,
{
    let mut ends: Vec<u64> = calls.iter().filter_map(|call| call.ended).collect();
    ends.sort_unstable();
    let until = |end: u64| -> Vec<_> {
        let begun = calls.iter().filter(|call| call.began < end);
        let known = begun.map(|call| match call.ended {
            Some(ended) if ended <= end => call.clone(),
            _ => Recorded { ended: None, operation: call.operation.unanswered(), ..call.clone() },
        });
        // A read without an answer says nothing.
        known.filter(|call| call.ended.is_some() || !call.operation.is_read()).collect()
    };
    let first = ends.partition_point(|end| has_order::<S>(&until(*end)));
    ends.get(first).map_or_else(|| calls.to_vec(), |end| until(*end))
}

/// The calls in the order of their beginnings.
fn told<O: Debug>(calls: &[Recorded<O>]) -> String {
    let mut calls: Vec<_> = calls.iter().collect();
    calls.sort_by_key(|call| call.began);
    let mut text = String::from("no order of these calls gives their answers:\n");
    for Recorded { began, ended, operation } in calls {
        let ended = ended.map_or_else(|| "?".to_owned(), |ended| ended.to_string());
        let _ = writeln!(text, "  from {began:>6} to {ended:>6}  {operation:?}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone)]
    enum Register {
        Write(u8),
        Read(u8),
    }

    impl Operation for Register {
        fn is_read(&self) -> bool {
            matches!(self, Self::Read(_))
        }

        fn unanswered(&self) -> Self {
            self.clone()
        }
    }

    struct OfOneByte;

    impl Specification for OfOneByte {
        type State = u8;
        type Operation = Register;

        fn init() -> u8 {
            0
        }

        fn apply(operation: &Register, state: &u8) -> (bool, u8) {
            match operation {
                Write(value) => (true, *value),
                Read(value) => (value == state, *state),
            }
        }
    }

    fn history(calls: &[(u64, Option<u64>, Register)]) -> Vec<Recorded<Register>> {
        let recorded = |(began, ended, operation): &(u64, Option<u64>, Register)| Recorded {
            began: *began,
            ended: *ended,
            operation: operation.clone(),
        };
        calls.iter().map(recorded).collect()
    }

    use Register::{Read, Write};

    #[test]
    fn calls_at_the_same_time_may_take_effect_in_any_order() {
        let calls = history(&[
            (1, Some(10), Write(1)),
            (2, Some(9), Write(2)),
            (3, Some(4), Read(2)),
            (5, Some(6), Read(1)),
        ]);
        assert!(contradiction::<OfOneByte>(&calls).is_none());
    }

    #[test]
    fn a_write_without_an_answer_may_take_effect_late_or_never() {
        for read in [0, 7] {
            let calls =
                history(&[(1, None, Write(7)), (2, Some(3), Read(0)), (4, Some(5), Read(read))]);
            assert!(contradiction::<OfOneByte>(&calls).is_none(), "{read}");
        }
    }

    #[test]
    fn a_contradiction_names_the_calls_that_make_it_and_no_others() {
        let calls = history(&[
            (1, Some(2), Write(1)),
            (3, Some(4), Read(1)),
            (5, Some(6), Write(2)),
            (7, Some(8), Read(2)),
            (9, Some(10), Read(1)),
            (11, Some(12), Write(3)),
            (13, Some(14), Read(3)),
        ]);
        let text = contradiction::<OfOneByte>(&calls).expect("an acknowledged write was lost");
        assert!(text.contains("Write(2)") && text.contains("Read(1)"), "{text}");
        assert!(!text.contains("Read(2)") && !text.contains("Write(3)"), "{text}");
    }
}
