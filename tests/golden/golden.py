#!/usr/bin/env python3
"""Judges what the program says about captures whose truth is known.

usage: golden.py [--all] [--detectors LIST] [--divide N] [--without tls,h2] [--only GLOB]
                 [--run PREFIX] PROGRAM FOLDER...

A truth is NAME.json beside NAME.pcap, .pcapng or .pcap.gz (captures/README.md
has the format).  Each capture gets one line, "ok - NAME" or "not ok - NAME: why".
Judged are:
  counts     equal to the truth's, key by key, where both have the key
  findings   `present` wants one of that detector (and variant) above info,
             `absent` wants none; only the detectors of --detectors
  evidence   every finding points at packets, streams and sessions that exist
  exit       0, 1 or 6, and the one that fits the findings
  twice      a second run prints the same bytes
With --divide N every limit is N times smaller.  Then the counts may differ; the
program must still end well with a JSON document, and must either find the same
as without, or name a limit among the reasons why its answer is incomplete.
--without names what the program cannot read yet: for such a capture it must say
that the answer is incomplete, and nothing else is judged."""
import argparse
import fnmatch
import glob
import json
import os
import shlex
import subprocess
import sys

COUNTS = ["tcp_connections", "http_exchanges", "sse_streams", "sse_by_kind",
          "sse_events", "sse_comments", "jsonrpc"]
TIMEOUT = 120


class Bad(Exception):
    pass


def run(prefix, args):
    """-> (document, stdout, exit status); Bad when there is no document."""
    try:
        p = subprocess.run(prefix + args, stdin=subprocess.DEVNULL, capture_output=True,
                           timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise Bad(f"no answer in {TIMEOUT} s") from None
    except OSError as e:
        raise Bad(str(e)) from None
    err = p.stderr.decode("utf-8", "replace")
    if p.returncode < 0 or "Sanitizer" in err or "runtime error" in err:
        hint = next((s for s in err.splitlines() if "ERROR" in s or "runtime error" in s), "")
        raise Bad(f"crashed, status {p.returncode} {hint}".rstrip())
    if p.returncode not in (0, 1, 6):
        last = err.strip().splitlines()[-1:] or [""]
        raise Bad(f"exit status {p.returncode} {last[0]}".rstrip())
    try:
        doc = json.loads(p.stdout)
    except ValueError as e:
        raise Bad(f"no JSON document: {e}") from None
    if not isinstance(doc, dict) or doc.get("schema") != "mcpdiag/1":
        raise Bad("not a document of schema mcpdiag/1")
    return doc, p.stdout, p.returncode


def no_zeros(x):
    return {k: v for k, v in x.items() if v} if isinstance(x, dict) else x


def judge_counts(truth, doc):
    want, got, bad = dict(truth.get("counts") or {}), doc.get("counts"), []
    if not isinstance(got, dict):
        return ["no counts"]
    # beside unrelated traffic the truth counts the connections of MCP only
    if "counts below are for" in str(truth.get("note", "")):
        want.pop("tcp_connections", None)
    for k in COUNTS:
        if k in want and k in got and no_zeros(want[k]) != no_zeros(got[k]):
            bad.append(f"{k} {no_zeros(got[k])}, want {no_zeros(want[k])}")
        elif k in want and k not in got:
            bad.append(f"{k} missing")
    return bad


def loud(findings):
    return [f for f in findings if f.get("severity") != "info"]


def label(f):
    v = f.get("variant")
    return f"{f.get('detector')}{'/' + v if v else ''} ({f.get('severity')})"


def of(finding, names, variant):
    return finding.get("detector") in names and \
        (variant is None or finding.get("variant") == variant)


def judge_findings(truth, findings, detectors):
    bad, expected = [], truth.get("expected_findings") or []
    named = set()
    for e in expected:
        names = e["detector"] if isinstance(e["detector"], list) else [e["detector"]]
        named.update(names)
    for e in expected:
        names = e["detector"] if isinstance(e["detector"], list) else [e["detector"]]
        excused = e.get("except") or []
        if names == ["*"]:
            for f in loud(findings):
                if f["detector"] in detectors and f["detector"] not in named and \
                        f["detector"] not in excused:
                    bad.append(f"{label(f)} on a capture that must be quiet")
            continue
        names = [n for n in names if n in detectors]
        if not names:
            continue
        hits = [f for f in loud(findings) if of(f, names, e.get("variant"))]
        if e.get("verdict") == "present" and not hits:
            near = [label(f) for f in findings if f.get("detector") in names]
            what = "|".join(names) + (f"/{e['variant']}" if e.get("variant") else "")
            bad.append(f"{what} missing" + (f", there is {near[0]}" if near else ""))
        elif e.get("verdict") == "absent":
            for f in hits:
                if f.get("variant") not in excused:
                    bad.append(f"{label(f)} must be absent")
    return bad


def judge_evidence(doc):
    bad = []
    packets = doc.get("capture", {}).get("packets", 0)
    streams = {s.get("n") for s in doc.get("streams", [])}
    sessions = {s.get("id") for s in doc.get("sessions", [])}
    findings = doc.get("findings", [])
    for i, f in enumerate(findings, 1):
        numbers = [x.get("packet") for x in f.get("evidence", [])]
        numbers += [f.get("first_packet"), f.get("last_packet")]
        if f.get("severity") != "info" and not f.get("evidence"):
            bad.append(f"{label(f)} has no evidence")
        for p in numbers:
            if not isinstance(p, int) or not 1 <= p <= packets:
                bad.append(f"{label(f)} points at packet {p} of {packets}")
        if f.get("session") and f["session"] not in sessions:
            bad.append(f"{label(f)} names a session that is not listed")
        for n in f.get("streams", []):
            if n not in streams:
                bad.append(f"{label(f)} names stream {n}, which is not listed")
        root = f.get("consequence_of")
        if root is not None and not (1 <= root <= len(findings) and root != i):
            bad.append(f"{label(f)} is the consequence of {root}")
        for k in ("title", "why", "fix"):
            if not f.get(k):
                bad.append(f"{label(f)} has no {k}")
    return bad


def judge_exit(doc, status):
    error = any(f.get("severity") == "error" for f in doc.get("findings", []))
    if error and status != 1:
        return [f"exit status {status} with an error found"]
    if not error and status == 1:
        return ["exit status 1 without an error found"]
    if status == 6 and not doc.get("incomplete"):
        return ["exit status 6, but nothing is said to be incomplete"]
    return []


def same_set(doc):
    return sorted({(f.get("detector"), f.get("variant")) for f in loud(doc.get("findings", []))},
                  key=str)


def needs(truth):
    """What a program must be able to read beyond HTTP/1 in the clear."""
    seen = {o.get("what") for o in truth.get("observations") or [] if isinstance(o, dict)}
    out = set()
    if "encrypted" in seen and "http_exchanges" in (truth.get("counts") or {}):
        out.add("tls")
    if "http2" in seen:
        out.add("h2")
    return out


def capture_of(path, truth):
    base = path[:-len(".json")]
    for p in [os.path.join(os.path.dirname(path), str(truth.get("file", "")))] + \
            [base + x for x in (".pcap", ".pcapng", ".pcap.gz")]:
        if os.path.isfile(p):
            return p
    raise Bad("its capture is missing")


def judge(path, truth, opt):
    capture = capture_of(path, truth)
    args = ["analyze", "-T", "json"]
    keys = path[:-len(".json")] + ".keylog.txt"
    missing = needs(truth) & opt.without
    if os.path.exists(keys) and "tls" not in opt.without:
        args += ["--keylog", keys]
    doc, out, status = run(opt.program, args + [capture])
    if missing:
        bad = [] if doc.get("incomplete") else ["cannot be read, but is not said to be incomplete"]
        return bad + judge_exit(doc, status)
    if opt.divide > 1:
        small, out, status = run(opt.program, args + ["--limits-divide", str(opt.divide), capture])
        bad = judge_exit(small, status)
        if same_set(small) != same_set(doc):
            reasons = " ".join(str(x) for x in small.get("incomplete", []))
            reasons += " ".join(str(x.get("text")) for x in small.get("anomalies", []))
            if "limit" not in reasons:
                bad.append(f"finds {same_set(small)} instead of {same_set(doc)}, "
                           "and names no limit")
        return bad
    bad = judge_counts(truth, doc) if "counts" in truth else []
    bad += judge_findings(truth, doc.get("findings", []), opt.detectors)
    bad += judge_evidence(doc) + judge_exit(doc, status)
    if truth.get("packets") is not None and doc.get("capture", {}).get("packets") != truth["packets"]:
        bad.append(f"packets {doc.get('capture', {}).get('packets')}, want {truth['packets']}")
    verdicts = [e.get("verdict") for e in truth.get("expected_findings") or []]
    if verdicts and set(verdicts) == {"unknown"} and status == 0:
        bad.append("exit status 0 where nobody can tell")
    if run(opt.program, args + [capture])[1] != out:
        bad.append("a second run prints something else")
    return bad


def main(argv):
    ap = argparse.ArgumentParser(description="Judge the program against captures with known truth.")
    ap.add_argument("--detectors", default="leapfrog,orphaned-channel,replay-loop",
                    help="those the program has")
    ap.add_argument("--divide", type=int, default=1, help="shrink every limit")
    ap.add_argument("--without", default="", help="tls,h2: what it cannot read yet")
    ap.add_argument("--only", default="*", help="names to judge")
    ap.add_argument("--run", default="", help="words to put before the program")
    ap.add_argument("program")
    ap.add_argument("folder", nargs="+")
    opt = ap.parse_args(argv)
    opt.detectors = set(filter(None, opt.detectors.split(",")))
    opt.without = set(filter(None, opt.without.split(",")))
    opt.program = shlex.split(opt.run) + [opt.program]
    n = failed = 0
    for folder in opt.folder:
        for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
            name = os.path.basename(path)[:-len(".json")]
            if not fnmatch.fnmatch(name, opt.only):
                continue
            n += 1
            try:
                with open(path, encoding="utf-8") as f:
                    bad = judge(path, json.load(f), opt)
            except (Bad, ValueError) as e:
                bad = [str(e)]
            failed += bool(bad)
            print(f"not ok - {name}: {'; '.join(bad)}" if bad else f"ok - {name}", flush=True)
    if n == 0:
        print(f"not ok - no truth files in {' '.join(opt.folder)}")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
