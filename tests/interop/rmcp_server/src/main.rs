//! A server on rmcp, for 0.15 to 1.x: what differs between them is made from
//! JSON.  Prints "listening on URL".
use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{from_value, json};

#[derive(Clone)]
struct Handler;

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerInfo {
        from_value(json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "rmcp", "version": "1" },
        }))
        .unwrap()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = json!({ "name": "emit", "inputSchema": { "type": "object" } });
        Ok(from_value(json!({ "tools": [tool] })).unwrap())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let _ = context.peer.notify_tool_list_changed().await;
        // 0.15 wants some content.
        let text = json!({ "type": "text", "text": "emitted" });
        Ok(from_value(json!({ "content": [text] })).unwrap())
    }
}

#[tokio::main]
async fn main() {
    let service = StreamableHttpService::new(
        || Ok(Handler),
        std::sync::Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("listening on http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().nest_service("/mcp", service);
    axum::serve(listener, router).await.unwrap();
}
