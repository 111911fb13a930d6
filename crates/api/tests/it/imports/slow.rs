//! Uploads of many hours, and uploads that end early: the blocks that were staged for them remain
//! as long as bytes arrive, and no longer.

use std::sync::atomic::Ordering;
use std::time::Duration;

use caseload_api::ApiConfig;
use caseload_store::DomainLimits;
use caseload_teststore::on_each_store;
use reqwest::{Body, Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::support::{HEAD, PATH, TYPE};
use crate::real_server::RealServer;
use crate::server::until;

on_each_store!(
    an_upload_of_many_hours_has_the_blocks_of_all_its_tasks,
    an_upload_that_is_cut_anywhere_leaves_nothing,
    an_upload_beyond_the_quota_leaves_nothing,
);

const FORTY_MINUTES: i64 = 40 * 60 * 1000;

/// A server that stages every block.
async fn server() -> RealServer {
    let config = ApiConfig { upload_bytes_held: 1000, ..ApiConfig::default() };
    let mut real = RealServer::without_runner(config).await;
    real.run_tasks();
    real
}

fn request(real: &RealServer) -> RequestBuilder {
    real.request(Method::POST, PATH).header("Content-Type", TYPE)
}

async fn stored(real: &RealServer) -> u64 {
    real.store.usage(real.domain).await.unwrap().bytes
}

/// Lines of new profiles, of about 300 bytes each.
fn lines(count: usize) -> Vec<String> {
    let line = |n: usize| {
        let note = format!("{n:0220}");
        format!(
            "{}\n",
            json!({"identities": [{"uid": n.to_string()}], "custom_fields": {"note": note}})
        )
    };
    (0..count).map(line).collect()
}

/// Sends a body in pieces. The answer arrives when the sender is dropped.
fn sending(request: RequestBuilder) -> (mpsc::Sender<String>, JoinHandle<(u16, Value)>) {
    let (sender, mut pieces) = mpsc::channel::<String>(1);
    let pieces = futures_util::stream::poll_fn(move |cx| {
        pieces.poll_recv(cx).map(|piece| piece.map(Ok::<_, std::io::Error>))
    });
    let sent = tokio::spawn(async move {
        let answer = request.body(Body::wrap_stream(pieces)).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    });
    (sender, sent)
}

async fn an_upload_of_many_hours_has_the_blocks_of_all_its_tasks() {
    let real = server().await;
    let (sender, sent) = sending(request(&real));
    sender.send(HEAD.to_owned()).await.unwrap();
    let all = lines(28_000);
    // The reader holds a megabyte back.
    let (first, rest) = all.split_at(8000);
    sender.send(first.concat()).await.unwrap();
    until("its first blocks are staged", async || stored(&real).await > 0).await;
    for part in rest.chunks(4000) {
        let before = stored(&real).await;
        // Nothing arrives for a while, and the purge looks for uploads that ended.
        real.turned.fetch_add(FORTY_MINUTES, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(100)).await;
        sender.send(part.concat()).await.unwrap();
        until("blocks of it are staged", async || stored(&real).await > before).await;
    }
    sender.send("\r\n--b--\r\n".to_owned()).await.unwrap();
    drop(sender);
    let (status, import) = sent.await.unwrap();
    assert_eq!(status, 201, "{import}");
    let done = real.completed(import["links"]["self"].as_str().unwrap()).await;
    assert_eq!(done["counts"]["succeeded"], 28_000);
    real.stop().await;
}

async fn an_upload_that_is_cut_anywhere_leaves_nothing() {
    let real = server().await;
    let body = format!("{HEAD}{}\r\n--b--\r\n", lines(30_000).concat());
    for tenth in 1..=10 {
        let end = body.len() * tenth / 10 - 1;
        let pieces = body.as_bytes()[..end].chunks(50_000).map(|piece| Ok(piece.to_vec()));
        let cut = std::iter::once(Err(std::io::Error::other("the client is gone")));
        let pieces = futures_util::stream::iter(pieces.chain(cut).collect::<Vec<_>>());
        request(&real).body(Body::wrap_stream(pieces)).send().await.unwrap_err();
    }
    until("nothing is staged", async || stored(&real).await == 0).await;
    assert_eq!(real.json(PATH).await["total-hits"], 0);
    assert_eq!(real.store.check().await.unwrap().faults, Vec::<String>::new());
    real.stop().await;
}

async fn an_upload_beyond_the_quota_leaves_nothing() {
    let real = server().await;
    let limits = DomainLimits { quota_bytes: Some(50_000), ..DomainLimits::default() };
    real.store.set_limits(real.domain, limits, real.clock.now().into()).await.unwrap();
    let body = format!("{HEAD}{}\r\n--b--\r\n", lines(30_000).concat());
    let answer = request(&real).body(body).send().await.unwrap();
    let (status, problem) = (answer.status().as_u16(), answer.json::<Value>().await.unwrap());
    assert_eq!((status, &problem["code"]), (429, &json!("quota_exceeded")), "{problem}");
    until("nothing is staged", async || stored(&real).await == 0).await;
    assert_eq!(real.json(PATH).await["total-hits"], 0);
    real.stop().await;
}
