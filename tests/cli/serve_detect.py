"""The faults of the field, each on loopback, and what `mcpdiag analyze` and
`mcpdiag watch` say of it, which tells most while it goes on:
serve_detect.py FOLDER [NAME...]

The first table is the twelve most frequent classes of public reports, by their
codes; the second is what else `mcpdiag serve` can do wrong.  Rows are played
side by side, because most of them wait for a timer."""
import subprocess
import sys
from collections import namedtuple

import field_lib
from field_lib import (Case, Listener, calls, is_it, may_capture, pause, play_all, post,
                       tool)
from serve_lib import BIN, call, http, ok, rpc

Row = namedtuple("Row", "name what want args play nginx servers tap stretch",
                 defaults=(None, 1, False, 0))
FAST = ("--retry", "100", "--keepalive", "1")


# ---- clients ----

def progress(c, sid, id, **arguments):
    """A call that reports progress."""
    m = call(id, "slow", **arguments)
    m["params"]["_meta"] = {"progressToken": f"t{id}"}
    post(c, sid, m)


def silent_streams(p):
    """GETs, one after the other, each until it is cut"""
    c, sid = p.session()
    for _ in range(4):
        p.get(sid).rest()
    calls(c, sid, 1)


def streams_of_sessions(p):
    """three sessions with a stream each, until it ends; then one GET more"""
    streams = []
    for _ in range(3):
        _, sid = p.session()
        streams.append((p.get(sid), sid))
        pause(0.4)
    for g, sid in streams:
        g.until("0\r\n\r\n")
        p.get(sid)
    pause(0.3)


def goes_on_regardless(p):
    """POSTs with the same session id, whatever the answers"""
    c, sid = p.session()
    calls(c, sid, 1)
    pause(2.1)
    for _ in range(2):
        calls(c, sid, 1)
        pause(2.6)
    calls(c, sid, 1)


def after_a_kill(p):
    """the server is killed and started again; the client goes on with its session"""
    c, sid = p.session()
    calls(c, sid, 1)
    g = p.get(sid)
    p.restart()
    g.rest()
    for _ in range(3):
        calls(p.conn(), sid, 1)
        pause(2.6)


def killed(p):
    """the server is killed while streams are open"""
    held = []
    for _ in range(2):
        _, sid = p.session()
        held.append(p.get(sid))
        pause(0.3)
    p.server.stop(9)
    for g in held:
        g.rest()


def slow_with_progress(p):
    """a call that reports progress"""
    c, sid = p.session()
    progress(c, sid, 1, ms=3000, steps=6)
    c.response()


def listener_in_a_loop(p):
    """an EventSource"""
    c, sid = p.session()
    s = Listener(p, sid, 1)
    for _ in range(6):
        s.get().ended()
    calls(c, sid, 1)


def asks_again(p):
    """GETs that are refused"""
    c, sid = p.session()
    for _ in range(4):
        p.get(sid)
        pause(0.3)
    calls(c, sid, 1)


def comes_back(p):
    """a client that closes its stream and opens another"""
    c, sid = p.session()
    p.get(sid).close()
    for i in range(3):
        pause(0.3)
        p.get(sid)
        calls(c, sid, 1, 1 + i)


def same_id_twice(p):
    """two calls with one id at a time"""
    c, sid = p.session()
    d = p.conn()
    progress(c, sid, 7, ms=900, steps=3)
    c.until("progress")
    progress(d, sid, 7, ms=900, steps=3)
    d.response()
    c.until("0\r\n\r\n")


def eight_calls(p):
    """eight calls"""
    c, sid = p.session()
    calls(c, sid, 8)


def one_call(p):
    """a call of a tool"""
    c, sid = p.session()
    tool(c, sid, 1, "echo", text="x")
    c.until("0\r\n\r\n")
    pause(2.3)
    calls(c, sid, 1, 2)


def call_beside_get(p):
    """a call of a tool that reports progress, and a GET"""
    c, sid = p.session()
    g = p.get(sid)
    progress(c, sid, 1, ms=300, steps=2)
    c.until("0\r\n\r\n")
    g.until('"id":1')


def slow_call(p):
    """a call that takes longer than the proxy waits"""
    c, sid = p.session()
    tool(c, sid, 1, "slow", ms=3500, steps=1)
    c.rest()
    pause(2.3)
    calls(p.conn(), sid, 1, 2)


def busy_streams(p):
    """three streams, each with something to say until it is cut"""
    for _ in range(3):
        c, sid = p.session()
        g = p.get(sid)
        for i in range(8):
            tool(c, sid, 1 + i, "emit").response()
            pause(0.2 if i else 0.6)        # it has survived longer silence
        g.rest()
    pause(0.3)


def json_only(p):
    """a client that accepts JSON only"""
    for i in range(2):
        p.conn().send(http("POST", INIT, accept="application/json")).response()


def sent_away(p):
    """a client that does not follow redirects"""
    p.conn().send(http("POST", INIT)).response()


def leaves_sessions(p):
    """a session for each call, and no DELETE"""
    for _ in range(13):
        c, sid = p.session()
        calls(c, sid, 1)
        c.close()
        pause(0.25)


def resumes_what_is_over(p):
    """an EventSource on the stream of a POST that was answered"""
    c, sid = p.session()
    tool(c, sid, 1, "echo", text="x")
    last = c.response()[2].decode().split("id: ")[-1].split("\n")[0]
    for _ in range(6):
        g = p.get(sid, last)
        if g.status == 200:
            g.until("0\r\n\r\n")
        pause(1)


def two_windows(p):
    """HTTP+SSE: two clients, and a call of the first"""
    (a, ua), (b, ub) = p.sse(), p.sse()
    for u, n in ((ua, 11), (ub, 21)):
        p.conn().send(http("POST", dict(INIT, id=n), path=u)).response()
    b.until('"id":11')
    b.until('"id":21')
    p.conn().send(http("POST", rpc("tools/list", 12), path=ua)).response()
    b.until('"id":12')
    a.close()


def to_the_endpoint(p):
    """HTTP+SSE: initialize to where the endpoint event says"""
    _, uri = p.sse()
    p.conn().send(http("POST", INIT, path=uri)).response()


def two_listeners(p):
    """two EventSources of one session"""
    c, sid = p.session()
    a, b = Listener(p, sid, 0.2), Listener(p, sid, 0.2)
    a.get()
    for _ in range(5):
        b.get()
        a.ended()
        a.get()
        b.ended()
    calls(c, sid, 1)


def second_get(p):
    """a second GET while the first is open"""
    c, sid = p.session()
    g = p.get(sid)
    pause(0.3)
    p.get(sid)
    g.until("0\r\n\r\n")
    calls(c, sid, 1)
    pause(0.3)


def returns_with_cursor(p):
    """a client that lost its stream and resumes it"""
    c, sid = p.session()
    g = p.get(sid)
    tool(c, sid, 1, "emit").response()
    g.until("g1-1")
    for _ in range(3):
        g.until("\n:\n")       # comments: their interval is known
    g.close()
    pause(0.3)
    p.get(sid, "g1-1")
    for i in range(5):
        pause(1)
        calls(c, sid, 1, 2 + i)


def two_streams(p):
    """two GETs, and messages"""
    c, sid = p.session()
    p.get(sid)
    pause(0.2)
    p.get(sid)
    for i in range(6):
        tool(c, sid, 1 + i, "emit").response()
        pause(0.2)


def subscribed(p):
    """two GETs, and updates of a resource"""
    c, sid = p.session()
    post(c, sid, rpc("resources/subscribe", 1, uri="demo://text")).response()
    p.get(sid)
    pause(0.2)
    p.get(sid)
    for i in range(3):
        tool(c, sid, 2 + i, "emit", uri="demo://text").response()
        pause(0.2)


def first_one_closes(p):
    """two GETs, the first of them closes, then messages"""
    c, sid = p.session()
    g = p.get(sid)
    pause(0.2)
    h = p.get(sid)
    tool(c, sid, 1, "emit").response()
    g.until("list_changed")
    g.close()
    for i in range(3):
        pause(0.4)
        tool(c, sid, 2 + i, "emit").response()
    pause(1)
    h.close()
    pause(0.2)
    p.get(sid, "0")
    pause(0.5)


def deletes(p):
    """DELETE while a stream is open"""
    c, sid = p.session()
    p.get(sid)
    c.send(http("DELETE", sid=sid)).response()
    pause(2.5)


def resumes_and_resumes(p):
    """a client that loses its stream again and again"""
    c, sid = p.session()
    g = p.get(sid)
    tool(c, sid, 1, "emit", n=2).response()
    g.until("g1-2")
    for i in range(5):
        g.close()
        pause(0.2)
        g = p.get(sid, "g1-2")
        g.until("g1-2")


def resumes_a_post(p):
    """a message on the GET, then a resume of a POST's stream"""
    c, sid = p.session()
    g = p.get(sid)
    tool(c, sid, 1, "emit").response()
    g.until("list_changed")
    g.close()
    tool(c, sid, 2, "echo", text="x")
    last = c.response()[2].decode().split("id: ")[1].split("\n")[0]
    pause(0.2)
    p.get(sid, last)
    pause(0.3)


def lists_when_told(p):
    """a client that lists again at each list_changed"""
    c, sid = p.session()
    g = p.get(sid)
    for i in range(8):
        calls(c, sid, 1, 1 + i)
        g.until("list_changed")
        pause(0.1)


def same_token(p):
    """a client that goes on with a token that was refused"""
    c, sid = p.session()
    for i in range(6):
        post(c, sid, rpc("tools/list", 1 + i), "Authorization: Bearer t0ken").response()
        pause(0.5)


def deaf_to_pings(p):
    """a client that answers no ping, in two sessions"""
    for _ in range(2):
        c, sid = p.session()
        calls(c, sid, 1)
        g = p.get(sid)
        g.until("0\r\n\r\n")
        calls(c, sid, 1, 2)


def goes_elsewhere(p):
    """a client that goes on on a new connection when its stream says nothing"""
    c, sid = p.session()
    g = p.get(sid)
    pause(7.4)
    calls(p.conn(), sid, 1)
    pause(0.5)
    g.close()
    pause(0.3)


def calls_beside_a_stream(p):
    """calls while a GET is open"""
    c, sid = p.session()
    g = p.get(sid)
    held = []
    for i in range(3):
        d = p.conn()
        post(d, sid, rpc("tools/list", 1 + i))
        held.append(d)
        pause(0.4)
    pause(1.5)
    g.close()
    for d in held:
        d.response()
    calls(c, sid, 1, 9)


def does_not_read(p):
    """a client that does not read its stream, and two others"""
    c, sid = p.session()
    others = [p.session() for _ in range(2)]
    g = p.conn(small=True)
    g.send(http("GET", sid=sid, headers=[field_lib.VERSION]))
    pause(0.2)
    tool(c, sid, 1, "emit", n=10000).response()
    pause(8)
    held = []
    for d, other in [*others, (c, sid)]:
        post(d, other, rpc("tools/list", 5))
        held.append(d)
    pause(4)
    g.close(reset=True)
    for d in held:
        d.response()


def reconnects_posts(p):
    """a client that reconnects the stream of each finished POST"""
    c, sid = p.session()
    p.get(sid)
    for i in range(5):
        tool(c, sid, 1 + i, "echo", text="x")
        last = c.response()[2].decode().split("id: ")[-1].split("\n")[0]
        pause(0.2)
        p.get(sid, last)
    pause(1.2)
    tool(c, sid, 9, "emit").response()


def forgets_its_cursor(p):
    """a client that comes back without the id it had"""
    c, sid = p.session()
    for i in range(4):
        g = p.get(sid)
        tool(c, sid, 1 + i, "emit").response()
        g.rest()
        pause(0.1)


def in_a_hurry(p):
    """a client that resumes its calls at once when they are cut"""
    c, sid = p.session()
    for i in range(3):
        d = tool(p.conn(), sid, 1 + i, "slow", ms=1500)
        last = d.rest().decode().split("id: ")[-1].split("\n")[0]
        p.get(sid, last).until(f'"id":{1 + i}')


def gives_up(p):
    """a client that begins anew when its GETs fail, twice"""
    for _ in range(2):
        c, sid = p.session()
        calls(c, sid, 1)
        p.get(sid)
        calls(c, sid, 1, 2)
        p.get(sid)
        pause(0.3)
        c.send(http("DELETE", sid=sid, headers=[field_lib.VERSION])).response()
    c, sid = p.session()
    calls(c, sid, 2)


def begins_anew(p):
    """a client that initializes again after each refused GET"""
    for _ in range(6):
        _, sid = p.session()
        p.get(sid)
        pause(0.2)


def multiplies(p):
    """a client that opens two streams for each that ends"""
    c, sid = p.session()
    open_ = [p.get(sid)]
    for _ in range(4):
        n = len(open_)
        for g in open_:
            g.rest()
        pause(0.4)
        open_ = [p.get(sid) for _ in range(2 * n)]
    calls(c, sid, 1)


def as_it_should(p):
    """a client that does all as it should"""
    c, sid = p.session()
    g = p.get(sid)
    calls(c, sid, 3)
    tool(c, sid, 9, "emit").response()
    g.until("list_changed")
    c.send(http("DELETE", sid=sid, headers=[field_lib.VERSION])).response()
    g.until("0\r\n\r\n")


def waits_for_the_end(p):
    """two sessions with a stream each, until the server ends"""
    for _ in range(2):
        _, sid = p.session()
        p.get(sid)
        pause(0.5)


# ---- servers, and what is wanted ----

INIT = rpc("initialize", 0, protocolVersion="2025-11-25", capabilities={},
           clientInfo={"name": "t", "version": "1"})
HOLD = "proxy_pass http://behind; proxy_buffering on; proxy_ignore_headers X-Accel-Buffering;"
PASS = ("proxy_pass http://behind; proxy_buffering off; "
        "proxy_http_version 1.1; proxy_set_header Connection '';")
CUT = PASS + "proxy_read_timeout 2s;"
AWAY = "return 307 /mcp/;"


def fault(*names):
    return tuple(x for n in names for x in ("--fault", n))


FIELD = [
    Row("ic-nginx", "IC: nginx, proxy_read_timeout 2s, and no keep-alives",
        ["idle-cut/idle warning"], fault("no-keepalive"), silent_streams, CUT),
    Row("ic-idle", "IC: a hop cuts after two seconds of silence", ["idle-cut/idle warning"],
        (*fault("idle-cut=2"), "--keepalive", "0"), silent_streams),
    Row("ic-age", "IC: streams are cut at the age of two seconds", ["idle-cut/absolute warning"],
        fault("age-cut=2"), busy_streams),
    Row("ic-session", "IC: sessions end two seconds after their last request",
        ["idle-cut/session-idle warning"],
        (*fault("session-idle=2"), "--keepalive", "1"), streams_of_sessions),
    Row("ds-forget", "DS: a session is forgotten", ["dead-session/client error"],
        fault("forget-session=2"), goes_on_regardless),
    Row("ds-401", "DS: a session is forgotten, 401", ["dead-session/server-status error"],
        (*fault("forget-session=2"), "--session-errors", "401"), goes_on_regardless),
    Row("ds-kill", "DS: the server is killed and started again",
        ["dead-session/client error"], (), after_a_kill, tap=True),
    Row("hs-200", "HS: a notification is answered 200", ["contract/notif-not-202 warning"],
        fault("accepted-200"), one_call),
    Row("hs-406", "HS: a client that accepts JSON only",
        ["contract/initialize-refused warning"], (), json_only),
    Row("sl-runs", "SL: a session for each call; the clock goes 300 times slower",
        ["session-leak error"], (), leaves_sessions, stretch=300),
    Row("bf-nginx", "BF: nginx, proxy_buffering on", ["buffered-stream/burst error"], (),
        slow_with_progress, HOLD),
    Row("bf-held", "BF: what comes is held until the end", ["buffered-stream"],
        fault("buffer=6"), slow_with_progress),
    Row("fr-cut", "FR: a stream ends in the middle of an event",
        ["contract/sse-cut-event warning"], fault("cut-event"), one_call),
    Row("ec-finite", "EC: a GET ends at once", ["empty-accept-loop error"],
        (*fault("finite-get"), "--retry", "1000"), listener_in_a_loop),
    Row("ec-text", "EC: a GET gets text/plain", ["empty-accept-loop/wrong-type error"],
        fault("get-text"), asks_again),
    Row("ec-rmcp", "EC: a resume of what is over is empty, as rmcp 1.5",
        ["empty-accept-loop/frozen-cursor error"], ("--policy", "shadow-empty", "--retry", "1000"),
        resumes_what_is_over),
    Row("ss-409", "SS: the place of a dead stream is not freed", ["stale-slot error"],
        fault("stale-slot"), comes_back),
    Row("xw-reuse", "XW: one id for two calls at a time", ["id-collision error"],
        (), same_id_twice),
    Row("xw-legacy", "XW: one transport for all, answers go to the newest",
        ["id-collision/crossed error"], ("--legacy", *fault("crossed-answers")), two_windows),
    Row("sb-turns", "SB: every second request does not find its session",
        ["split-brain error"], fault("split-brain"), eight_calls),
    Row("sb-nginx", "SB: nginx before two servers", ["split-brain error"], (), eight_calls,
        PASS, 2),
    Row("rd-nginx", "RD: nginx, return 307 /mcp/", ["contract/redirect error"], (), sent_away,
        AWAY),
    Row("rd-301", "RD: 301 from /mcp to /mcp/", ["contract/redirect error"],
        fault("redirect=301"), sent_away),
    Row("lr-drop", "LR: a stream ends without its response", ["lost-response error"],
        (*fault("drop-response"), *FAST), one_call),
    Row("lr-nginx", "LR: nginx gives a call up", ["lost-response error"],
        ("--keepalive", "0", "--retry", "100"), slow_call, CUT),
]
MORE = [
    Row("le", "the endpoint event names a path that is not there",
        ["contract/a-endpoint-wrong error"], ("--legacy", *fault("wrong-endpoint")),
        to_the_endpoint),
    Row("or-zombie", "a resume is accepted, and nothing comes",
        ["orphaned-channel/zombie-resume"], (*fault("zombie-resume"), *FAST),
        returns_with_cursor),
    Row("or-supersede", "a second GET takes the channel over",
        ["orphaned-channel/superseded"], fault("supersede"), two_streams),
    Row("or-split", "two GETs get the messages in turn", ["orphaned-channel/split-delivery"],
        fault("split-delivery"), two_streams),
    Row("or-delete", "streams stay open after DELETE", ["orphaned-channel/after-session-end"],
        (*fault("keep-after-delete"), *FAST), deletes),
    Row("or-headless", "a waiting stream is never promoted, as rmcp 0.17",
        ["orphaned-channel/headless"], ("--policy", "shadow-replay", *FAST), first_one_closes),
    Row("rl-all", "a resume brings all again", ["replay-loop error"], fault("replay-all"),
        resumes_and_resumes),
    Row("rl-cross", "a resume brings what belongs to others", ["replay-loop/cross-stream error"],
        fault("cross-stream-replay"), resumes_a_post),
    Row("rg", "GETs are refused with 400", ["refused-get-loop error"], fault("refuse-get=400"),
        asks_again),
    Row("ws", "progress and response come on the GET", ["wrong-stream"],
        fault("wrong-stream"), call_beside_get),
    Row("ho", "a stream falls silent", ["half-open/silent error"],
        (*fault("fall-silent=4"), *FAST), goes_elsewhere),
    Row("cl", "a client forgets its cursor", ["cursor-loss warning"],
        (*fault("idle-cut=1"), "--keepalive", "0", "--retry", "100"), forgets_its_cursor),
    Row("au", "a token is refused", ["auth-churn/same-token error"], fault("refuse-token=1"),
        same_token),
    Row("rf", "a client multiplies its streams", ["reconnect-storm error"],
        (*fault("idle-cut=1"), "--policy", "shadow", "--keepalive", "0", "--retry", "500"),
        multiplies),
    Row("hb", "POSTs wait for the GET to end", ["head-of-line error"], fault("head-of-line"),
        calls_beside_a_stream),
    Row("lf", "two listeners, as rmcp 0.16", ["leapfrog error"],
        ("--policy", "replace", "--retry", "200"), two_listeners),
    Row("sd-kill", "the server is killed", ["abrupt-shutdown"], (), killed, tap=True),
    Row("sd-reset", "the end of the server resets its connections", ["abrupt-shutdown"],
        fault("abrupt-shutdown"), waits_for_the_end),
    Row("ns", "each list brings a list_changed", ["notification-storm/feedback error"],
        fault("storm"), lists_when_told),
    Row("pk", "pings without an answer end the session", ["ping-kill error"],
        fault("ping-kill=1"), deaf_to_pings),
    Row("ct", "a client gives a session up whose GETs fail", ["collateral-teardown error"],
        fault("refuse-get=500"), gives_up),
    Row("dd", "every stream gets every message", ["duplicate-delivery error"],
        fault("broadcast"), subscribed),
    Row("kills", "a refused GET ends the stream that was well",
        ["refused-get-kills-stream error"], fault("refused-get-kills-stream"), second_get),
    Row("wedge", "one reader blocks everybody", ["session-wedge error"], fault("wedge"),
        does_not_read, tap=True),
    Row("pile", "each finished POST leaves a stream open", ["shadow-pile-up warning"],
        ("--retry", "200"), reconnects_posts),
    Row("retry", "a client comes back before retry", ["retry-violation"],
        (*fault("idle-cut=1"), "--keepalive", "0", "--retry", "3000"), in_a_hurry),
    Row("reinit", "a client initializes again and again", ["reinit-storm error"],
        fault("refuse-get=409"), begins_anew),
    Row("good", "a client and a server as they should be", [], (), as_it_should),
    Row("good-end", "the server ends as it should", [], (), waits_for_the_end),
]


# What is told later than these rows take: after ten seconds in which an initialize, a
# GET or a resume may still come, or when the input ends.
LATE = {
    "ic-nginx", "ic-idle", "ic-age", "ic-session", "ds-forget", "ds-401", "ds-kill",
    "lr-drop", "lr-nginx", "sd-kill", "sd-reset",
    "hs-406", "rd-nginx", "rd-301", "sl-runs", "le",
}


def main(folder, only):
    why = may_capture(folder)
    rows = [r for r in FIELD + MORE if not only or r.name in only]
    cases = [Case(r, folder, not why, r.name in LATE) for r in rows
             if (not r.nginx or field_lib.NGINX) and (not why or not (r.nginx or r.tap))]
    if not only:
        complete()
    play_all(cases)
    done = {c.row.name: c for c in cases}
    for r in rows:
        name = f"{r.what}: {', '.join(r.want) or 'no fault'}"
        c = done.get(r.name)
        if c is None:
            print(f"ok - {name} # SKIP {why if field_lib.NGINX else 'no nginx'}")
            continue
        said = f"{c.why} analyze {c.offline}\nwatch {c.final}\nbefore its end {c.early}"
        ok(f"analyze, {name}", not c.why and judged(r, c.offline), said)
        if why:
            print(f"ok - watch, {name} # SKIP {why}")
        else:
            ok(f"watch, {name}", not c.why and judged(r, c.final) and c.final == c.offline and
               (r.name in LATE or judged(r, c.early, False)), said)
        if only:
            print("# " + said.replace("\n", "\n# "))


def complete():
    """Every fault of `mcpdiag serve --list` is played, and every detector of
    `mcpdiag explain` is wanted."""
    played = {a.partition("=")[0] for r in FIELD + MORE for a in r.args}
    wanted = {w.partition(" ")[0].partition("/")[0] for r in FIELD + MORE for w in r.want}
    faults = [x.split()[0].partition("=")[0] for x in said("serve", "--list")
              if x.startswith("  ") and len(x.split()) > 1]
    detectors = [x.split()[0] for x in said("explain") if "  " in x]
    ok("every fault of serve is played", faults and played.issuperset(faults),
       sorted(set(faults) - played))
    ok("every detector is wanted once", detectors and wanted.issuperset(detectors),
       sorted(set(detectors) - wanted))


def said(*args):
    p = subprocess.run([BIN, *args], capture_output=True, check=False, timeout=20)
    return p.stdout.decode().splitlines()


def judged(row, names, variant=True):
    """variant: what is told at once may turn out to be one later."""
    if not row.want:
        return not any(n.endswith((" error", " warning")) for n in names)
    return all(any(is_it(n, w if variant else w.split()[0].partition("/")[0]) for n in names)
               for w in row.want)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
    from serve_lib import failed
    sys.exit(failed)
