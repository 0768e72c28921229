#!/usr/bin/env python3
"""Compares what `analyze -T json --show-secrets` says with mkload's truth.

usage: truth.py TRUTH.json DOCUMENT.json [EVENTS.ndjson]

Prints each difference; exit status 1 when there is one.  The events
(`analyze -T ndjson --show-secrets`) name every session a finding was made for,
where the document names one of several alike."""
import json
import sys


def expected_counts(t):
    c, noise = t["counts"], t["noise"]["tcp_connections"]
    want = {
        "http_exchanges": c["http_req_post"] + c["http_req_get"] + c["http_req_delete"],
        "sse_streams": c["sse_post"] + c["sse_standalone"] + c["sse_resumed"],
        "sse_by_kind": {"post-response": c["sse_post"], "standalone": c["sse_standalone"],
                        "resumed": c["sse_resumed"]},
        "sse_events": c["sse_events"] + c["sse_primes"],
        "sse_comments": c["sse_comments"],
        "jsonrpc": {"request": c["c2s_request"] + c["s2c_request"],
                    "response": c["c2s_response"] + c["s2c_response"],
                    "notification": c["c2s_notification"] + c["s2c_notification"]},
    }
    # unrelated connections may be counted or not; without them it is exact
    if not noise:
        want["tcp_connections"] = t["tcp"]["connections"]
    return want


def no_zeros(x):
    return {k: v for k, v in x.items() if v} if isinstance(x, dict) else x


def leapfrogs(doc, events):
    """-> session ids with a leapfrog above info, or None where the document
    does not name them all."""
    ids, more = set(), 0
    for f in doc.get("findings", []):
        if f.get("detector") == "leapfrog" and f.get("severity") != "info":
            ids.add(f.get("session"))
            if isinstance(f.get("alike"), list):
                ids.update(f["alike"])
            else:
                more += f.get("sessions_alike", 0)
    if not more:
        return ids, more
    if events is None:
        return ids, more
    keys = {}
    with open(events, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if '"type":"session"' in line:
                e = json.loads(line)
                keys[e["session"]] = e["key"]
            elif '"leapfrog"' in line and '"type":"finding"' in line:
                e = json.loads(line)
                if e.get("severity") != "info":
                    ids.add(keys.get(e["session"], e["session"]))
    return ids, 0


def compare(t, doc, events):
    bad, got = [], doc.get("counts", {})
    for k, v in expected_counts(t).items():
        if no_zeros(got.get(k)) != no_zeros(v):
            bad.append(f"{k} {no_zeros(got.get(k))}, want {no_zeros(v)}")
    if doc.get("capture", {}).get("packets") != t["file"]["packets"]:
        bad.append(f"packets {doc.get('capture', {}).get('packets')}, want {t['file']['packets']}")
    # a session of its own for each id that was given out
    if len(doc.get("sessions", [])) != t["counts"]["session_opened"]:
        bad.append(f"{len(doc.get('sessions', []))} sessions, want {t['counts']['session_opened']}")
    # three takeovers make a leapfrog (DETECTORS), two may be suspected; a
    # session that the end of the file cut short has none to show
    must = {x["id"] for x in t["leapfrog"] if x["evictions"] >= 4}
    may = {x["id"] for x in t["leapfrog"]}
    got, more = leapfrogs(doc, events)
    if got - may:
        bad.append(f"leapfrog on {len(got - may)} sessions that have none: "
                   f"{', '.join(sorted(map(str, got - may))[:3])}")
    if more:
        if not len(must) <= len(got) + more <= len(may):
            bad.append(f"leapfrog on {len(got) + more} sessions, want {len(must)} to {len(may)}")
    elif must - got:
        bad.append(f"leapfrog not found on {len(must - got)} of {len(must)} sessions: "
                   f"{', '.join(sorted(must - got)[:3])}")
    if not t["leapfrog"]:
        for f in doc.get("findings", []):
            if f.get("severity") != "info":
                bad.append(f"{f.get('detector')} found where nothing is wrong: {f.get('title')}")
    return bad


def main(argv):
    if len(argv) not in (2, 3):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    with open(argv[0], encoding="utf-8") as f:
        t = json.load(f)
    try:
        with open(argv[1], encoding="utf-8") as f:
            doc = json.load(f)
    except ValueError as e:
        print(f"no JSON document: {e}")
        return 1
    bad = compare(t, doc, argv[2] if len(argv) > 2 else None)
    for b in bad:
        print(b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
