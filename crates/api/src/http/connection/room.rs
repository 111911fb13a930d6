//! The memory of one connection: a flat sum for its buffers and its task, and more while the server
//! receives a long head or waits with a large buffer. It comes from the budget of all requests. A
//! head that finds no memory waits as a request does; then its connection ends. Bodies are not
//! counted here: the form or upload that reads one has the memory for it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::http::memory::{Memory, MemoryBudget};

/// The memory of a connection between its requests: its task, and the buffers of both directions.
pub(crate) const CONNECTION_BYTES: usize = 24 << 10;
/// What TLS adds: its state, and the records of both directions.
pub(super) const TLS_BYTES: usize = 40 << 10;
/// The part of it for receiving.
const RECEIVED_BYTES: usize = 8 << 10;
/// Connections have at most this part of the budget.
const PART_OF_BUDGET: usize = 2;

/// How many connections a memory budget has room for.
pub fn connections_within(memory_bytes: usize, are_tls: bool) -> usize {
    let each = CONNECTION_BYTES + if are_tls { TLS_BYTES } else { 0 };
    (memory_bytes / PART_OF_BUDGET / each).max(2)
}

type PendingMemory = Pin<Box<dyn Future<Output = Option<Memory>> + Send>>;

/// The memory of a connection.
pub(super) struct ConnectionMemory {
    /// Between its requests.
    flat: usize,
    budget: Arc<MemoryBudget>,
    memory: Memory,
    waiting: Option<PendingMemory>,
}

impl ConnectionMemory {
    /// A new connection is there already, and the number of connections has a limit.
    pub(super) fn new(budget: Arc<MemoryBudget>, is_tls: bool) -> Self {
        let flat = CONNECTION_BYTES + if is_tls { TLS_BYTES } else { 0 };
        let memory = budget.overdraw(None, flat);
        Self { flat, budget, memory, waiting: None }
    }

    /// Takes the memory for a receive buffer of so many bytes, or returns the excess. Returns false
    /// after a while if there is none.
    pub(super) fn poll_take(&mut self, context: &mut Context<'_>, buffer: usize) -> Poll<bool> {
        let wanted = self.flat + buffer.saturating_sub(RECEIVED_BYTES);
        let missing = wanted.saturating_sub(self.memory.bytes());
        if missing == 0 {
            self.waiting = None;
            if wanted < self.memory.bytes() {
                self.memory.set(wanted);
            }
            return Poll::Ready(true);
        }
        let waiting = self.waiting.get_or_insert_with(|| {
            let budget = self.budget.clone();
            Box::pin(async move { budget.take(None, missing).await.ok() })
        });
        let taken = ready!(waiting.as_mut().poll(context));
        self.waiting = None;
        let Some(more) = taken else { return Poll::Ready(false) };
        self.memory.add(more);
        Poll::Ready(true)
    }
}

impl std::fmt::Debug for ConnectionMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ConnectionMemory").field(&self.memory).finish()
    }
}
