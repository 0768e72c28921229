#!/usr/bin/env bash
# The judge of the captures is judged: a program that prints what it is told to,
# right and then wrong in one thing after the other.
set -u
cd "$(dirname "$0")/../.." || exit 2
exec python3 - "$PWD/tests/golden/golden.py" <<'END'
import copy, json, os, subprocess, sys, tempfile

GOLDEN = sys.argv[1]
TRUTH = {
    "file": "a.pcap", "packets": 10,
    "counts": {"tcp_connections": 1, "http_exchanges": 3, "sse_streams": 2,
               "sse_by_kind": {"standalone": 1, "post-response": 1}, "sse_events": 4,
               "sse_comments": 0, "jsonrpc": {"request": 1, "response": 1, "error": 0, "notification": 2}},
    "expected_findings": [
        {"detector": "leapfrog", "verdict": "present"},
        {"detector": "orphaned-channel", "verdict": "present", "variant": "headless"},
        {"detector": "replay-loop", "verdict": "absent"},
        {"detector": "session-leak", "verdict": "present"},
    ],
}
FINDING = {"severity": "error", "variant": None, "session": "s", "streams": [1],
           "first_packet": 2, "last_packet": 9, "title": "t", "why": "w", "fix": "f",
           "evidence": [{"packet": 2, "t": 0, "what": "x"}], "consequence_of": None}
DOC = {
    "schema": "mcpdiag/1", "capture": {"packets": 10}, "counts": dict(TRUTH["counts"]),
    "sessions": [{"id": "s"}], "streams": [{"n": 1}], "incomplete": [],
    "findings": [dict(FINDING, detector="leapfrog"),
                 dict(FINDING, detector="orphaned-channel", variant="headless", consequence_of=1)],
}
# Prints doc.json, or small.json with --limits-divide; status beside it; "run"
# counts the runs, so that a document may change from one to the next.
PROGRAM = """#!/usr/bin/env python3
import json, os, sys
d = os.path.dirname(sys.argv[0])
spec = json.load(open(os.path.join(d, "spec.json")))
if "--limits-divide" in sys.argv: spec = spec["small"]
if spec.get("abort"): os.abort()
text = spec["text"] if "text" in spec else json.dumps(spec["doc"])
if spec.get("drift"): text += " " * (os.stat(os.path.join(d, "runs")).st_size)
open(os.path.join(d, "runs"), "a").write(".")
sys.stdout.write(text); sys.stderr.write(spec.get("stderr", "")); sys.exit(spec["status"])
"""
n = failed = 0


def case(what, wanted, change=None, truth=None, args=(), status=1, **spec):
    """wanted: None for ok, else words of the reason."""
    global n, failed
    n += 1
    t, d = copy.deepcopy(TRUTH), copy.deepcopy(DOC)
    if truth:
        truth(t)
    if change:
        change(d)
    with tempfile.TemporaryDirectory() as tmp:
        def put(name, text):
            with open(os.path.join(tmp, name), "w") as f:
                f.write(text)
        os.mkdir(os.path.join(tmp, "c"))
        put("c/a.pcap", "")
        put("c/a.json", json.dumps(t))
        put("runs", "")
        put("spec.json", json.dumps(dict({"doc": d, "status": status}, **spec)))
        put("program", PROGRAM)
        os.chmod(os.path.join(tmp, "program"), 0o755)
        p = subprocess.run([sys.executable, GOLDEN, *args, os.path.join(tmp, "program"),
                            os.path.join(tmp, "c")], capture_output=True, text=True)
    out = p.stdout.strip()
    good = out == "ok - a" and p.returncode == 0 if wanted is None else \
        out.startswith("not ok - a: ") and wanted in out and p.returncode == 1
    print(f"{'ok' if good else 'not ok'} {n} - {what}")
    if not good:
        failed += 1
        print(f"# {out} {p.stderr}")


def drop(d, detector):
    d["findings"] = [f for f in d["findings"] if f["detector"] != detector]


def quiet(t):
    t["expected_findings"] = [{"detector": "*", "verdict": "absent", "except": ["replay-loop"]}]


def unknown(t):
    t["expected_findings"] = [{"detector": "leapfrog", "verdict": "unknown"}]


def nothing(d):
    d["findings"] = []


def add(d, **f):
    d["findings"].append(dict(FINDING, **f))


case("all as it should be", None)
case("zero counts may be left out", None, lambda d: d["counts"]["jsonrpc"].pop("error"))
case("a count is off", "sse_events 5, want 4", lambda d: d["counts"].update(sse_events=5))
case("a kind is off", "sse_by_kind", lambda d: d["counts"]["sse_by_kind"].update(resumed=1))
case("a count is missing", "sse_events missing", lambda d: d["counts"].pop("sse_events"))
case("no counts", "no counts", lambda d: d.pop("counts"))
case("packets are off", "packets 9, want 10", lambda d: d["capture"].update(packets=9))
case("a finding is missing", "leapfrog missing", lambda d: drop(d, "leapfrog") or d["findings"][0].update(consequence_of=None))
case("a finding is only info", "leapfrog missing, there is leapfrog (info)",
     lambda d: d["findings"][0].update(severity="info"))
case("the variant is another", "orphaned-channel/headless missing",
     lambda d: d["findings"][1].update(variant="superseded"))
case("a finding too many", "replay-loop (warning) must be absent",
     lambda d: add(d, detector="replay-loop", severity="warning"))
case("info does not count as a finding", None,
     lambda d: add(d, detector="replay-loop", severity="info"))
case("a detector the program does not have is not judged", None)
case("a detector of the list is", "session-leak missing", args=["--detectors", "session-leak"])
case("a capture that must be quiet", "leapfrog (error) on a capture that must be quiet", truth=quiet)
case("evidence beyond the capture", "points at packet 11 of 10",
     lambda d: d["findings"][0]["evidence"][0].update(packet=11))
case("no evidence", "has no evidence", lambda d: d["findings"][0].update(evidence=[]))
case("a stream that is not listed", "names stream 7", lambda d: d["findings"][0].update(streams=[7]))
case("a session that is not listed", "session that is not listed",
     lambda d: d["findings"][0].update(session="z"))
case("a consequence of itself", "consequence of 2", lambda d: d["findings"][1].update(consequence_of=2))
case("no advice", "has no fix", lambda d: d["findings"][1].update(fix=""))
case("exit 0 with an error", "exit status 0 with an error found", status=0)
case("exit 1 without one", "exit status 1 without an error", nothing, quiet)
case("exit 6 without a reason", "nothing is said to be incomplete", nothing, quiet, status=6)
case("exit 6 with a reason", None, lambda d: nothing(d) or d.update(incomplete=["late start"]), quiet, status=6)
case("exit 0 where nobody can tell", "nobody can tell", nothing, unknown, status=0)
case("any other exit status", "exit status 3 sorry", status=3, stderr="sorry\n")
case("a crash", "crashed", abort=True)
case("a sanitizer's report", "crashed", stderr="ERROR: AddressSanitizer: x\n")
case("not JSON", "no JSON document", text="hello")
case("another schema", "schema", lambda d: d.update(schema="x/2"))
case("a second run that differs", "second run", drift=True)
case("encrypted, and said so", None, lambda d: nothing(d) or d.update(incomplete=["TLS"]),
     lambda t: t.update(observations=[{"what": "encrypted"}]), ["--without", "tls"], status=6)
case("encrypted, and not said", "not said to be incomplete", nothing,
     lambda t: t.update(observations=[{"what": "encrypted"}]), ["--without", "tls"], status=0)
case("divided: the same", None, args=["--divide", "64"], small={"doc": DOC, "status": 1})
case("divided: less, and a limit named", None, args=["--divide", "64"],
     small={"doc": dict(DOC, findings=[], incomplete=["limit sessions reached"]), "status": 6})
case("divided: less, and no limit named", "names no limit", args=["--divide", "64"],
     small={"doc": dict(DOC, findings=[]), "status": 0})
case("divided: a crash", "crashed", args=["--divide", "64"], small={"abort": True})
sys.exit(1 if failed else 0)
END
