//! The first payload block of a short task, which comes with its lease.

use caseload_model::payload::Block;
use caseload_model::task::TaskOrigin;
use caseload_store::{CreateTask, Domain};

use super::{CREATE, file, server};
use crate::suite::support::{
    NOW, assert_sound, chunk, claim, claim_at, domain, next_block, task_of, uid,
};

/// A task of three entries, two of them in its first block, from a payload of so many bytes.
fn task(domain: &Domain, id: &str, content_length: Option<u64>) -> CreateTask {
    let entries = ["a", "b", "c"].map(|name| uid(&format!("{id}-{name}")));
    let origin = TaskOrigin { content_length, ..TaskOrigin::default() };
    CreateTask { origin, ..task_of(domain, id, CREATE, &entries, 2) }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_unprocessed_block_of_a_short_payload_comes_with_the_lease() {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    for (name, content_length, comes) in
        [("short", Some(100), true), ("long", Some(1 << 20), false), ("unknown", None, false)]
    {
        let domain = domain(&store, name).await;
        store.create_task(task(&domain, name, content_length)).await.unwrap();
        let claimed = claim(&store, 1).await.remove(0);
        let first = next_block(&store, &claimed, 0).await;
        let block = |bytes: &[u8]| Block::decode(bytes.to_vec()).unwrap();
        let leased = claimed.first_block.as_deref().map(block);
        assert_eq!(leased, comes.then(|| first.clone()), "{name}");
        store.apply_chunk(chunk(&claimed, first, NOW)).await.unwrap();
        store.release_leases("server-1").await.unwrap();
        let again = claim_at(&store, "server-2", NOW, 1).await.remove(0);
        let leased = again.first_block.as_deref().map(block);
        let second = next_block(&store, &again, again.next_index).await;
        assert_eq!((again.next_index, leased), (2, comes.then_some(second)), "{name}");
        store.apply_chunk(chunk(&again, next_block(&store, &again, 2).await, NOW)).await.unwrap();
    }
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_with_a_damaged_block_is_leased_like_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    for name in ["damaged", "sound"] {
        let domain = domain(&store, name).await;
        store.create_task(task(&domain, name, Some(100))).await.unwrap();
    }
    let conn = rusqlite::Connection::open(file(folder.path())).unwrap();
    conn.execute("UPDATE payload_blocks SET bytes = x'00' WHERE task_id = 'damaged'", []).unwrap();
    let claimed = claim(&store, 2).await;
    let leased: Vec<_> =
        claimed.iter().map(|task| (&*task.task.id, task.first_block.is_some())).collect();
    assert_eq!(leased, [("damaged", false), ("sound", true)]);
}
