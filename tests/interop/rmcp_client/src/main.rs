//! The Rust SDK's client against our server.
//!
//!     rmcp_client URL [modern]    modern: 2026-07-28, else the handshake
#![allow(deprecated)] // sampling
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::*;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::json;

#[derive(Clone, Default)]
struct Handler {
    progress: Arc<AtomicUsize>,
    changes: Arc<AtomicUsize>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.capabilities =
            ClientCapabilities::builder().enable_sampling().enable_elicitation().build();
        info
    }
    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let said = serde_json::to_string(&params.messages).unwrap();
        let answer = if said.contains("rain") { "about rain" } else { "about nothing" };
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text(answer), "none".into()))
    }
    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }
    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.fetch_add(1, SeqCst);
    }
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, SeqCst);
    }
}

async fn until(count: &AtomicUsize, n: usize) -> usize {
    for _ in 0..500 {
        if count.load(SeqCst) >= n {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    count.load(SeqCst)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let modern = args.get(2).is_some_and(|m| m == "modern");
    let mut failed = false;
    let mut check = |good: bool, what: String| {
        failed |= !good;
        println!("{} - {what}", if good { "ok" } else { "not ok" });
    };
    let handler = Handler::default();
    let lifecycle = if modern {
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
    } else {
        ClientLifecycleMode::Initialize
    };
    let transport = StreamableHttpClientTransport::from_uri(args[1].as_str());
    let client = match handler.clone().serve_with_lifecycle(transport, lifecycle).await {
        Ok(client) => client,
        Err(e) => {
            println!("not ok - connect: {e}");
            std::process::exit(1);
        }
    };
    check(
        true,
        format!(
            "connected, version {:?}",
            client.peer_info().map(|i| i.protocol_version.to_string())
        ),
    );
    let call = async |name: &'static str, args: serde_json::Value| {
        let p = CallToolRequestParams::new(name).with_arguments(args.as_object().unwrap().clone());
        match client.call_tool(p).await {
            Ok(r) => (serde_json::to_string(&r.content).unwrap(), r.is_error.unwrap_or(false)),
            Err(e) => (e.to_string(), true),
        }
    };
    let tools = client.list_all_tools().await;
    check(
        tools.as_ref().is_ok_and(|t| t.len() > 4),
        format!("tools are listed: {:?}", tools.map(|t| t.len())),
    );
    let (said, _) = call("echo", json!({"text": "Grüße ✓"})).await;
    check(said.contains("Grüße ✓"), format!("echo answers what was said: {said}"));
    let (said, _) = call("slow", json!({"ms": 200, "steps": 4})).await;
    let n = until(&handler.progress, 3).await;
    check(n >= 3, format!("progress comes {n} times: {said}"));
    let mut sub = None;
    if modern {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        match client.listen(filter).await {
            Ok(s) => sub = Some(s),
            Err(e) => check(false, format!("listen: {e}")),
        }
    }
    call("emit", json!({"n": 3, "interval_ms": 20})).await;
    if let Some(s) = sub.as_mut() {
        let mut n = 0;
        while n < 3 {
            match tokio::time::timeout(Duration::from_secs(5), s.next()).await {
                Ok(Ok(Some(ServerNotification::ToolListChangedNotification(_)))) => n += 1,
                other => {
                    check(false, format!("subscription: {other:?}"));
                    break;
                }
            }
        }
        check(n == 3, format!("list_changed arrives {n} times"));
        check(s.cancel().await.is_ok(), "the subscription is closed".into());
    } else {
        let n = until(&handler.changes, 3).await;
        check(n >= 3, format!("list_changed arrives {n} times"));
    }
    let (said, bad) = call("fail", json!({})).await;
    check(bad, format!("fail is an error: {said}"));
    let (said, _) = call("big", json!({"bytes": 300000})).await;
    check(said.len() >= 300000, "a big result is whole".into());
    let (said, _) = call("ask", json!({"prompt": "rain"})).await;
    check(said.contains("about rain"), format!("sampling is asked and answered: {said}"));
    let (said, _) = call("confirm", json!({"message": "sure?"})).await;
    check(said.contains("decline"), format!("elicitation is asked and declined: {said}"));
    let end = client.cancel().await;
    check(end.is_ok(), format!("closed: {end:?}"));
    std::process::exit(failed as i32);
}
