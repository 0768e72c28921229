#include "mcpdiag/explain.h"

#include <stddef.h>
#include <string.h>

/* First family: the life of the server-to-client stream; then the second one.
 * In the pictures C> is the client, S> the server, S a session. */
static const struct explain table[] = {
	{ .detector = "leapfrog",
	  .what = "Two or more listeners of one session evict each other for ever: the server "
	    "ends the open GET stream because another GET of the session arrives; the evicted "
	    "listener reconnects after its delay and evicts the other.  An error from three "
	    "such takeovers on, if the same listeners come back.  Messages that are sent in "
	    "between are split, repeated or lost.",
	  .wire =
	    "C> GET S                 listener B\n"
	    "S> 200 event-stream      ... and within ms the end of A's stream\n"
	    "       3.0 s (the retry)\n"
	    "C> GET S                 listener A is back\n"
	    "S> 200 event-stream      ... and within ms the end of B's stream\n"
	    "       3.0 s, and so on: K listeners make K-1 GETs in each delay",
	  .known = "Servers: rmcp 0.13 to 0.16 (measured with 0.15.0; rust-sdk issue 659), "
	    "cured in 0.17.0; TypeScript SDK 1.30 and later and 2.x on the resume path, when "
	    "the event store cannot look up streams (measured with 1.32.2).  That a new GET "
	    "closes the old one is also in the source of the Kotlin SDK from 0.12.0, of mcp-go "
	    "from 0.57 with an event store, and of Cloudflare agents from 0.14.0; reported of "
	    "anubis-mcp (PR 215).  Clients that start it: EventSource-like ones that reconnect "
	    "the stream of a finished POST; TypeScript SDK before 1.24.0, and up to 1.29 after "
	    "a JSON-RPC error.",
	  .server = "Keep the live stream: let a further GET wait beside it, or refuse it with "
	    "409.  rmcp: 0.17.0 or later.",
	  .client = "One listener for a session; do not reconnect the stream of a POST whose "
	    "response has arrived.  TypeScript SDK: 1.24.0 or later.",
	  .not_it = "One takeover; make-before-break by one client; a stream that had ended "
	    "before the new GET; a cut of idle streams; polling; refused GETs; a restart that "
	    "ends all sessions." },
	{ .detector = "orphaned-channel",
	  .what = "Somebody listens where nothing comes through, while messages go elsewhere "
	    "or to nobody: the stream was superseded, its owner is gone and nobody took its "
	    "place (headless), the server writes to a stream that its client has left, or no "
	    "stream is open at all (channel-less).  The variant says which.",
	  .wire =
	    "C> GET S                 stream 2: the owner\n"
	    "C> GET S                 stream 5: waits beside it\n"
	    "C> closes stream 2\n"
	    "S>                       stream 5: only comments; messages nowhere\n"
	    "C> GET S, Last-Event-ID  stream 9: ... and here they are, late",
	  .known = "headless: rmcp 0.17 to 3.1.4 never promote a waiting stream (measured with "
	    "0.17.0, 1.8.0, 3.1.4).  superseded: TypeScript SDK up to 1.22 on resume (measured "
	    "with 1.20.0); Java SDK 2.0.1 (source).  zombie-resume: the sample event store of "
	    "the TypeScript SDK (measured with 1.24.3 and 1.29.0; issues 943, 2560), Java SDK "
	    "(source; issue 1093), Cloudflare agents for a finished POST (source).  "
	    "split-delivery: mcp-go without a store (source; issue 970).  channel-less: "
	    "TypeScript client before 1.16 (issue 731) and after two failed reconnects (issue "
	    "2098); C# client after five idle closes (source).",
	  .server = "Give a dead owner's place to a live waiting stream at once, with what was "
	    "emitted since the last delivery; end or refuse what is not served.",
	  .client = "Reopen the GET stream while the session lives; keep one of them.",
	  .not_it = "A silent stream beside a live owner; a client that is told 405 and does "
	    "without; a quiet server." },
	{ .detector = "replay-loop",
	  .what = "Every reconnect brings events that were delivered before and the cursor "
	    "does not advance: three streams in a row with four fifths or more of their data "
	    "known.  One occurrence is enough where the events belong to another channel "
	    "(cross-stream) or to another session (cross-session: it leaks data).",
	  .wire =
	    "S> id: 4  list_changed   stream 3, end\n"
	    "C> GET S, Last-Event-ID: 4\n"
	    "S> id: 4  list_changed   stream 4: the same again, end\n"
	    "C> GET S, Last-Event-ID: 4\n"
	    "S> id: 4  list_changed   stream 5 ...",
	  .known = "inclusive replay: rmcp up to 3.1.4 sends the event named by Last-Event-ID "
	    "again (measured; PR 1165 is open).  A commit of rust-sdk PR 660 doubled the "
	    "deliveries every 3 s (measured; in no release).  cross-stream: reported of the "
	    "reference servers (servers PR 4099), mcp-lite (issue 74), mcp_dart (issue 137); "
	    "rmcp 0.13 to 1.4 resume the stream of a POST on the common channel (source).  "
	    "full-history: Go SDK with a store, for a GET without a cursor (source).",
	  .server = "Replay strictly after Last-Event-ID, only what belongs to that stream; "
	    "use ids that are unique over the streams of a session.",
	  .client = "Keep the last id over streams that end without one; drop what has been "
	    "seen.",
	  .not_it = "Equal notifications without parameters; priming events without data; "
	    "polling; a resume that brings what was lost." },
	{ .detector = "empty-accept-loop",
	  .what = "A GET is answered 200 but it is no live stream: it ends at once with "
	    "nothing in it, or is not an event stream at all (wrong-type).  The client takes "
	    "it for a success, so its back-off never grows: four or more in a steady beat.",
	  .wire =
	    "C> GET S, Last-Event-ID: 1/0\n"
	    "S> 200 event-stream, end                     0 events\n"
	    "       1.00 s\n"
	    "C> GET S, Last-Event-ID: 1/0                 the same cursor\n"
	    "S> 200 event-stream, end                     and so on for ever",
	  .known = "Servers: rmcp from 1.5.0 on answers a failed resume so (measured with "
	    "1.8.0 and 3.1.4; rust-sdk issue 958); TypeScript server 2.x through mcp-proxy up "
	    "to 6.7.0 (measured); Kotlin SDK before 0.12 (issue 715).  wrong-type: reported of "
	    "malloyyo (PR 133, some 30000 calls in 11 h) and prompts.chat (PR 1117).  Clients "
	    "that never stop: TypeScript SDK (measured, 1.00 s after a clean end), Python SDK "
	    "(issue 3257).",
	  .server = "Keep the stream open, or refuse: 405 where there is no GET stream, 404 "
	    "only for a session that is gone.",
	  .client = "Count a clean end without an event as a failure and back off.",
	  .not_it = "Streams that lived longer than two seconds (see idle-cut); polling, where "
	    "each stream brings something; one empty answer after a finished POST." },
	{ .detector = "refused-get-loop",
	  .what = "The optional GET is refused again and again with the same status, and the "
	    "client asks again: three or more within a minute with no success between, or "
	    "refusals are more than half of a server's requests.",
	  .wire =
	    "C> GET S\n"
	    "S> 400                                       or 404, 405, 500 ...\n"
	    "       1.0 s\n"
	    "C> GET S\n"
	    "S> 400                                       POSTs are fine meanwhile",
	  .known = "Clients, from source: C# SDK 2.2 repeats a 4xx for ever once it has seen "
	    "an id; mcp-go client on anything but 404 and 405 (bifrost issue 6885); rmcp "
	    "client on any status but 405, with growing delay.  Python SDK asks a 405 server "
	    "twice.  Reported: Cursor on 400 (mcp-proxy PR 62), Open WebUI on 405 (issue "
	    "27795).",
	  .server = "Answer 405 with Allow where there is no GET stream; it is the only status "
	    "that says so.",
	  .client = "Take 405 as final; give up or back off on the others.",
	  .not_it = "One 405 for each session, which is as it should be; 404 with a session id "
	    "(see dead-session); 409 while a stream is open (see stale-slot)." },
	{ .detector = "stale-slot",
	  .what = "The session's GET stream has ended on the wire but the server still holds "
	    "its place: new GETs are refused with 409, 400 or 500 though POSTs of the session "
	    "work and no other stream is open.",
	  .wire =
	    "C> closes its GET stream                     or a hop cut it\n"
	    "C> GET S\n"
	    "S> 409 Only one SSE stream is allowed        nothing is open\n"
	    "C> POST S\n"
	    "S> 202                                       the session lives",
	  .known = "TypeScript server 1.25.0 to 1.29.0 after a resumed stream is cut, for ever "
	    "(measured with 1.25.1 and 1.29.0; cured in 1.30.0, PR 2547); C# SDK (source; "
	    "issue 1239, PR 1713); older mcp-go until its handler ends (render-mcp-server "
	    "issue 26: 120 s and more); MCP Context Forge up to its lease of 30 s (source); "
	    "any server that refuses, behind a proxy that hides the end of the stream "
	    "(LibreChat PR 14816).",
	  .server = "Free the place when the stream ends; let a newer GET have it when the old "
	    "one cannot be written to; send keep-alives so that a dead peer shows.",
	  .client = "On 409 wait and ask again; do not give the session up.",
	  .path = "A proxy must pass the client's close on to the server.",
	  .not_it = "409 while a GET stream of the session is visibly open: that is the "
	    "server's policy." },
	{ .detector = "idle-cut",
	  .what = "Streams of one server end at a constant age, or after a constant silence, "
	    "and not by the client: a timer of the server or of a hop cuts them.  idle, "
	    "absolute, and session-idle (a constant time after the last request, whatever "
	    "keep-alives say).",
	  .wire =
	    "C> GET S\n"
	    "S> 200 event-stream\n"
	    "       60.0 s of silence\n"
	    "S> FIN or end of chunks                      each time at the same age",
	  .known = "By age, a hint and no proof: 10 s Bun.serve; 27 to 30 s servlet "
	    "containers, Google's load balancer; 60 s AWS ALB; 100 or 125 s Cloudflare; 230 s "
	    "Azure App Service; 270 s Cloudflare TCP idle; 300 s undici and httpx read "
	    "timeouts, Envoy, Cloud Run; 305 s Cursor; 350 s AWS NLB.  session-idle: rmcp from "
	    "1.4.0, 300 s (measured).  Servers without keep-alives: TypeScript SDK before "
	    "1.30, Go, Java and C# SDK (source).",
	  .server = "Send a comment every 15 s or so; TypeScript SDK 1.30 and later does by "
	    "itself.",
	  .client = "Reconnect with the last id after such an end.",
	  .path = "Raise the idle timeout of the hop that the age points at.",
	  .not_it = "A stream that the client closed; takeovers (see leapfrog); clean ends at "
	    "a steady age with an immediate return and nothing lost, which are for information "
	    "only." },
	{ .detector = "dead-session",
	  .what = "The server no longer knows the session, and the client goes on using it: "
	    "two or more requests fail alike after earlier success, none succeeds afterwards.  "
	    "The variant says whose fault: the client does not initialize anew after 404, or "
	    "the status is not 404, so that it cannot know.",
	  .wire =
	    "S> 200 ...                                   session S worked\n"
	    "C> POST S\n"
	    "S> 404                                       restart, or expired\n"
	    "C> POST S\n"
	    "S> 404                                       no initialize follows",
	  .known = "Servers with another status than 404: rmcp up to 0.16 (401; rust-sdk issue "
	    "559), supergateway 3.4 (400; measured), affine-mcp-server (400; issue 301), "
	    "neotoma (503; issue 1923).  Clients that do not initialize anew: Python SDK "
	    "(source; issue 1676), mcp-remote (issues 106, 269), LibreChat (issue 11868), "
	    "opencode (issue 37626); all but the first as reported.",
	  .server = "Answer 404 for an unknown session and for nothing else; keep sessions "
	    "over restarts or let them expire late.",
	  .client = "On 404 with a session id, initialize without it and go on.",
	  .not_it = "404 in revision 2026-07-28 with -32601, which is about a method; one "
	    "failure that heals; a session that its client deleted." },
	{ .detector = "lost-response",
	  .what = "A request was accepted but its response is on no stream of the session: its "
	    "stream ended or fell silent, and no resume brought it.  Variants: not resumable "
	    "(no event id was seen), not resumed, resumed but absent, written after the client "
	    "had left, on the wrong channel, or a body that is not the response.",
	  .wire =
	    "C> POST S tools/call id 7\n"
	    "S> 200 event-stream, id: 0/3                 progress\n"
	    "S> FIN                                       cut before the response\n"
	    "C> GET S                                     nobody asks for 0/3",
	  .known = "rmcp 0.17 to 2.x with json_response: the body is a notification (measured "
	    "with 1.8.0).  rmcp 0.13 to 1.4: a resumed POST lands on the common channel "
	    "(source).  VS Code never resumes a POST (source).  Servers without an event store "
	    "cannot resume.  Reported: Claude Code (issues 60061, 55992), Zed (issue 56775), "
	    "Cloudflare agents (PR 1607).",
	  .server = "Send an event id first, keep the response until it is delivered, replay "
	    "it on resume.",
	  .client = "Resume a cut POST stream with its last id; time out and say so when there "
	    "is none.",
	  .path = "Do not cut streams that answer a request (see idle-cut).",
	  .not_it = "A request that was cancelled; a capture that ends too early; a stream "
	    "whose packets are missing from the capture." },

	/* Second family. */
	{ .detector = "collateral-teardown",
	  .what = "Because the optional GET fails, the client gives up a session whose POSTs "
	    "work: within seconds comes a DELETE or a new initialize.",
	  .wire =
	    "C> POST S         S> 200                     fine\n"
	    "C> GET S          S> 409                     or the stream ends\n"
	    "C> DELETE S                                  calls in flight are lost",
	  .known = "Go client 1.7: more than five ends without progress fail the whole session "
	    "(source; issue 1175, some 427 in 36 h).  Java client on 400 or 404 (source).  "
	    "supergateway 3.4.3 ends session and child after a 409 (measured; 4.0.0 does "
	    "not).  Reported: auto-mobile issue 1942, Claude Code issue 38631.",
	  .server = "Do not end a GET stream without need; 405 where there is none.",
	  .client = "Treat the GET stream as optional: retry it alone and keep the session.",
	  .not_it = "A session whose POSTs fail too (see dead-session); a user who quits." },
	{ .detector = "split-brain",
	  .what = "One session is known to some replicas of the server and unknown to others: "
	    "unknown session and success alternate, without an initialize between.",
	  .wire =
	    "C> POST S         S> 200                     replica 1\n"
	    "C> POST S         S> 404                     replica 2\n"
	    "C> POST S         S> 200                     replica 1",
	  .known = "Any server that keeps sessions in memory, behind a load balancer without "
	    "affinity.  Reported with the Python SDK (issue 1180), fastmcp (issue 99), "
	    "fastapi_mcp with several workers (issue 189), lunar (issue 55), the Java SDK "
	    "(issue 499).",
	  .server = "Share the session store, run stateless, or run one process.",
	  .path = "Route by Mcp-Session-Id, not by client address.",
	  .not_it = "A restart: then nothing succeeds afterwards (see dead-session)." },
	{ .detector = "buffered-stream",
	  .what = "Something holds the stream back: its head comes only when the work is done, "
	    "its events all arrive together, it has a Content-Length or a compression, or a "
	    "GET gets no head at all while POSTs are answered.",
	  .wire =
	    "C> POST S tools/call                         t = 0\n"
	    "S> 200 event-stream                          t = 4.0 s\n"
	    "S> progress 1, 2, 3, 4, response             all within 50 ms",
	  .known = "nginx with proxy_buffering on, as it is by default; gzip of Traefik "
	    "(coolify issue 5586); gateways that read the body first (litellm issue 22073, "
	    "api-platform issue 2962).  Go SDK before it wrote a first comment: the head of a "
	    "GET waits for the first event (issue 633).  All as reported.",
	  .server = "Write the head and a comment at once; send X-Accel-Buffering: no; flush.",
	  .path = "proxy_buffering off, no compression of text/event-stream, no body filters.",
	  .not_it = "A request stream with a single message; a tool that has nothing to say "
	    "until its end." },
	{ .detector = "duplicate-delivery",
	  .what = "The same response, the same event id with data, or the same notification "
	    "comes on two or more streams of one channel, and none of it is a replay that "
	    "somebody asked for.",
	  .wire =
	    "S> stream 2: id: 8  message                  to the first GET\n"
	    "S> stream 5: id: 8  message                  and to the second",
	  .known = "C# SDK with a store: each reader gets a full copy (source).  Reported: "
	    "mcp_dart sends to every open GET (issue 137), XcodeMCPKit (PR 67), mcp-remote "
	    "answers twice (issue 115).",
	  .server = "Send each message on one stream only, as the specification says.",
	  .client = "Keep one GET stream; ignore a response that has come.",
	  .not_it = "A replay after Last-Event-ID; TCP retransmissions; the same packet "
	    "captured twice; equal list_changed notifications." },
	{ .detector = "wrong-stream",
	  .what = "A message comes on a stream that it does not belong to: progress or a "
	    "request tied to a running POST on the GET stream, or a response on a plain GET.",
	  .wire =
	    "C> POST S tools/call, progressToken 7        its stream is open\n"
	    "S> GET stream: notifications/progress 7      but this one carries it",
	  .known = "supergateway 3.4.3 sends progress on the GET (measured; 4.0.0 does not).  "
	    "rmcp 0.13 to 1.4 when the stream of a POST is resumed (source).  Reported: "
	    "servers PR 2789 (elicitation), python-sdk issue 953.",
	  .server = "Send what belongs to a request on the stream of that request.",
	  .client = "Accept it on either; do not wait for a message on the POST alone.",
	  .not_it = "Notifications that belong to no request; a resume that is answered on the "
	    "GET which asked for it." },
	{ .detector = "id-collision",
	  .what = "A request id is used again while it is unanswered, or a response comes on "
	    "the stream of another session: answers may reach the wrong user.",
	  .wire =
	    "C1> POST tools/call id 3                     unanswered\n"
	    "C2> POST tools/call id 3                     the same server object\n"
	    "S>  to C1: response id 3                     whose is it?",
	  .known = "Servers that share one transport between clients: reported of the index "
	    "project (PR 940: 36 of 37 answers wrong), computer-use-mcp (PR 64), "
	    "docs-mcp-server (PR 320), TypeScript SDK issues 204 and 742; the SDK refuses such "
	    "reuse from 1.26.0 on (source).  Cloudflare agents with two requests of one id "
	    "(issue 1632).",
	  .server = "One transport object for one client; key responses by session and stream.",
	  .client = "Never reuse an id while its request is open.",
	  .not_it = "The same id in different sessions, which is normal; a request that is "
	    "sent again after 401." },
	{ .detector = "session-leak",
	  .what = "Sessions are made and never ended: ten or more in ten minutes, of which "
	    "less than a tenth see a DELETE or an end by the server.",
	  .wire =
	    "C> POST initialize   S> session 1            no DELETE\n"
	    "C> POST initialize   S> session 2            no DELETE\n"
	    "C> POST initialize   S> session 3            ...",
	  .known = "mcp-remote 0.15.1 leaves the session of its probe (measured).  rmcp before "
	    "2.0 makes one for a first POST that is no initialize (PR 934).  Reported: "
	    "LibreChat (issue 14248), antigravity-cli (issue 716), Java SDK (issue 1021), C# "
	    "SDK (issue 766), postiz (PR 1717).",
	  .server = "Expire idle sessions; end them when their client has gone.",
	  .client = "DELETE the session when done, and keep one for a connection.",
	  .not_it = "Many clients that each have one session; one-shot clients that DELETE." },
	{ .detector = "notification-storm",
	  .what = "Ten or more equal notifications at half of one per second or faster, or "
	    "list_changed makes the client list again, and listing brings list_changed: five "
	    "such turns with equal lists.",
	  .wire =
	    "S> notifications/tools/list_changed\n"
	    "C> POST tools/list    S> the same list as before\n"
	    "S> notifications/tools/list_changed          and so on",
	  .known = "A consequence of replay where a cursor does not advance (rmcp, see "
	    "replay-loop).  Reported: BrowserOS (issue 1005, three a second), Aspire (issue "
	    "14375: listing itself notified, over stdio).",
	  .server = "Notify only when the list has changed, and gather bursts.",
	  .client = "Gather list_changed over a moment before listing again.",
	  .not_it = "Progress and log messages that differ; a burst while a server loads." },
	{ .detector = "cursor-loss",
	  .what = "The listener has seen event ids but comes back without Last-Event-ID: what "
	    "was emitted in between cannot be asked for, and the resume of a POST turns into a "
	    "second standalone GET.",
	  .wire =
	    "S> id: 0/3                                   stream 4, cut\n"
	    "C> GET S, Last-Event-ID: 0/3                 stream 5: ends without an id\n"
	    "C> GET S                                     the cursor is gone",
	  .known = "TypeScript client (measured with 1.32.2 and 2.4.0; issue 2499).  Its "
	    "legacy SSE client drops the header (measured).  mcp-go client never sends it "
	    "(source).  Reported: Inspector (issue 723), ruby-mcp-client (PR 168).",
	  .server = "Give every resumed stream a first event with an id.",
	  .client = "Keep the last id until a newer one comes.",
	  .not_it = "Streams that never had an id; a new session." },
	{ .detector = "retry-violation",
	  .what = "The client reconnects more than 50 ms earlier than the server's retry asks, "
	    "or later than twice of it.",
	  .wire =
	    "S> retry: 3000 ... end                       t = 0\n"
	    "C> GET S, Last-Event-ID                      t = 0.2 s",
	  .known = "From source: VS Code counts from the event and not from the close; the Go "
	    "client after its first try; one value is shared by all streams of a TypeScript "
	    "client.  Reported: ruby-mcp-client (PR 168).  The limits are those of the "
	    "official conformance suite.",
	  .client = "Wait for the last retry received, from the end of the stream on.",
	  .not_it = "A GET that does not follow an end; a reconnect after the network was "
	    "gone." },
	{ .detector = "shadow-pile-up",
	  .what = "Each finished POST leaves one more silent GET stream open, three or more "
	    "beside the owner.  At its limit (rmcp: 32) the server evicts the oldest, and the "
	    "streams begin to evict each other.",
	  .wire =
	    "C> POST tools/call   S> response, end\n"
	    "C> GET S, Last-Event-ID                      open, silent: +1\n"
	    "C> POST tools/call   S> response, end\n"
	    "C> GET S, Last-Event-ID                      open, silent: +1",
	  .known = "rmcp 0.17 to 1.4 with EventSource-like clients and the TypeScript SDK 1.23 "
	    "(measured with 0.17.0); rmcp to 3.1.4 after a JSON-RPC error with the TypeScript "
	    "SDK up to 1.29 (measured with 3.1.4).",
	  .server = "End the resumed stream of a finished request; refuse the newest at the "
	    "limit.",
	  .client = "Do not reconnect the stream of a POST whose response has arrived.",
	  .not_it = "A few windows of one program, each with its own session; one shadow." },
	{ .detector = "session-wedge",
	  .what = "A client that does not read (its window is zero) holds up requests on other "
	    "connections, even of other sessions; they are answered within moments of its "
	    "close.",
	  .wire =
	    "C1: window 0 on its GET stream\n"
	    "C2> POST tools/list                          no answer ...\n"
	    "C1> RST\n"
	    "S>  to C2: response                          ms later",
	  .known = "rmcp (measured with 0.15.0 and 3.1.4): the session's worker waits for the "
	    "reader while it holds what a new initialize needs.  Python SDK before 1.28.1 in a "
	    "similar way (issue 1764).",
	  .server = "Bound the queue of each stream; drop or end the slow reader, never wait "
	    "for it.",
	  .client = "Read all streams that are open, or close them.",
	  .not_it = "A server that is busy: then the close of a reader changes nothing." },
	{ .detector = "refused-get-kills-stream",
	  .what = "A second GET is refused, and at once the healthy first stream ends too.",
	  .wire =
	    "S> stream 2 is open and works\n"
	    "C> GET S          S> 409\n"
	    "S> end of stream 2                           20 ms later\n"
	    "C> POST S         S> 400                     the session is gone",
	  .known = "supergateway 3.4.3 (measured; issue 126 reports 28 to 55 restarts a day); "
	    "4.0.0 does not.",
	  .server = "A refusal must touch nothing but the request refused.",
	  .client = "Do not open a second GET stream.",
	  .not_it = "A takeover, where the second GET is answered 200 (see leapfrog)." },
	{ .detector = "ping-kill",
	  .what = "The server sends a ping, no answer comes (or an error), and it ends the "
	    "stream or the session within 15 s.",
	  .wire =
	    "S> GET stream: ping id 1                     no POST answers it\n"
	    "S> end of the stream                         within 15 s\n"
	    "C> POST S         S> 404",
	  .known = "Reported: playwright-mcp behind a gateway that holds no GET (issue 1646); "
	    "clients of vercel/ai answered ping with -32601 (PR 15701).",
	  .server = "Ping only over an open stream; take one failure for no proof.",
	  .client = "Answer every ping with an empty result.",
	  .not_it = "event: ping without data, which is a keep-alive." },
	{ .detector = "half-open",
	  .what = "One end is gone without a close: what the server writes is never "
	    "acknowledged, or the client's window stays zero, and no end of the stream shows.",
	  .wire =
	    "S> comment                                   no ACK, sent again, again\n"
	    "       no FIN, no RST\n"
	    "C> GET S                                     the client is back elsewhere",
	  .known = "Sleep, a change of network, NAT timers.  Reported: Cogtrix (issue 98), "
	    "Claude Code (issue 26368), opencode (issue 29190).",
	  .server = "Keep-alive comments and TCP_USER_TIMEOUT, so that writes fail soon.",
	  .client = "Treat silence of three keep-alives as an end.",
	  .path = "Raise the NAT or firewall timer above the keep-alive.",
	  .not_it = "Loss in the capture itself; a reader that is only slow." },
	{ .detector = "head-of-line",
	  .what = "Requests wait because something else holds the way: POSTs are answered only "
	    "when an open GET ends, or six HTTP/1.1 connections of one client all carry "
	    "streams.",
	  .wire =
	    "C> GET S          S> 200, open\n"
	    "C> POST S                                    no answer ...\n"
	    "S> end of the GET\n"
	    "S> answers the POST                          at once",
	  .known = "Browsers open six connections to a host.  Reported: mcp-arr handles "
	    "requests one by one (PR 22); a race in the Python client (issue 1941).",
	  .server = "Handle the requests of a session side by side; speak HTTP/2.",
	  .client = "One stream for a session, so that connections are left for POSTs.",
	  .not_it = "A slow tool, which ends when it is done." },
	{ .detector = "reconnect-storm",
	  .what = "One end makes more than one new connection: streams or handshakes multiply, "
	    "or many clients come back in step.",
	  .wire =
	    "S> end of one stream\n"
	    "C> GET S\n"
	    "C> GET S                                     two for one: 1, 2, 4, 8 ...",
	  .known = "Reported: reticle, both error and end schedule a reconnect (issue 308); "
	    "LibreChat, users times tools (PR 12162: 280313 log lines in a minute); n8n, old "
	    "EventSources (issue 17821).",
	  .server = "Limit streams of a session; answer 429 with Retry-After.",
	  .client = "One reconnect timer for a session, with back-off and jitter.",
	  .not_it = "Many users after a restart, one connection each." },
	{ .detector = "reinit-storm",
	  .what = "The client initializes again and again, with refusals between.",
	  .wire =
	    "C> POST initialize   S> session 1\n"
	    "C> GET               S> 400\n"
	    "C> POST initialize   S> session 2            3 s later, and so on",
	  .known = "Cursor against a commit of rmcp that answered the second GET with 409 "
	    "(rust-sdk PR 682, as reported).  Java client after 400 and 404, VS Code after "
	    "either on a POST (source).",
	  .server = "See what refuses the first request after initialize; that is the root.",
	  .client = "Back off between handshakes.",
	  .not_it = "One-shot clients that DELETE their session; several windows." },
	{ .detector = "contract",
	  .what = "An exchange breaks a rule of the specification: a wrong status, media type, "
	    "header, redirect, session id, legacy endpoint or framing.  The first failing "
	    "exchange counts, not the error that a fallback reports.",
	  .wire =
	    "C> POST initialize, Accept: application/json\n"
	    "S> 406                                       both types are required",
	  .known = "Many, each in few places.  Reported: Accept (composio issue 2152), 307 "
	    "from /mcp to /mcp/ (mcp-auth-proxy issue 115, litellm PR 34845), endpoint behind "
	    "a path prefix (python-sdk issues 412, 2255), 200 for a notification (pgedge issue "
	    "142), Mcp-Session-Id not exposed to browsers (python-sdk issue 1135).",
	  .server = "Do what the rule named in the finding says.",
	  .client = "The same, where the request is at fault.",
	  .path = "Do not redirect, rewrite or strip what belongs to MCP.",
	  .not_it = "What a revision allows; replies that a proxy made." },
	{ .detector = "auth-churn",
	  .what = "The session fails over its authorization: the token is missing after a "
	    "reconnect, a rejected token is sent again, or two refreshes race.",
	  .wire =
	    "C> GET S, Authorization                      S> 200, cut\n"
	    "C> GET S                                     without it\n"
	    "S> 401                                       again and again",
	  .known = "Reported: productive-mcp (PR 12), vercel/ai (issue 15465: two refreshes "
	    "with one token), LibreChat (issue 15569).  rmcp up to 0.16 says 401 for an "
	    "unknown session (issue 559), which starts OAuth in VS Code (source).",
	  .server = "401 with WWW-Authenticate for tokens only; 404 for unknown sessions.",
	  .client = "The same headers on every reconnect; one refresh at a time.",
	  .not_it = "One 401 with a challenge that leads to success." },
	{ .detector = "abrupt-shutdown",
	  .what = "The server stops and cuts its streams without a proper end: several within "
	    "100 ms, or they stay open while it no longer listens.",
	  .wire =
	    "S> stream 2: RST                             no end of chunks\n"
	    "S> stream 5: RST                             within 100 ms\n"
	    "C> SYN            S> RST                     nobody listens",
	  .known = "Reported: python-sdk issue 1272 and fastapi_mcp issue 199 (does not exit "
	    "while a GET is open), fastmcp issue 3025 (streams cut).",
	  .server = "At shutdown stop accepting, end each stream, then close.",
	  .client = "Come back with back-off and jitter.",
	  .not_it = "A single stream that is cut (see idle-cut); an orderly end of all "
	    "streams." },
};

#define N (sizeof table / sizeof table[0])

const struct explain *
explain_find(const char *detector)
{
	for (size_t i = 0; i < N; i++)
		if (strcmp(table[i].detector, detector) == 0)
			return &table[i];
	return NULL;
}

const struct explain *
explain_at(unsigned i)
{
	return i < N ? &table[i] : NULL;
}
