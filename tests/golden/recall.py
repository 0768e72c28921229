#!/usr/bin/env python3
"""Precision and recall of each detector over captures whose truth is known.

usage: recall.py [--without tls,h2] [--conversations TEST_CONV FOLDER] PROGRAM FOLDER...

For each detector that a truth speaks of: in how many captures it must be found,
in how many it is (with that variant, above info), and in how many it is found
where it must not be: where the truth says `absent`, or says nothing of it in a
clean capture, all of whose verdicts are `absent`.  Conversations (tests/conv) are
truths as well: what they want, what must be absent, and what is louder than info
and not wanted is false.  Precision is hits / (hits + false ones), recall is
hits / (hits + missed ones).  Either below 1 fails, but for what LATER excuses, and
so does a detector without any truth."""
import argparse
import collections
import glob
import json
import os
import shlex
import subprocess
import sys

import golden

# What is not looked for yet, and why.
LATER = {
    "header-mismatch": "of the family for revision 2026-07-28, which is not there yet",
}


# True findings of which the truth of a capture, otherwise clean, does not speak.
BESIDE = {
    "shadow-pile-up-json-errors-rmcp1.4.0-ts1.29": "shadow-pile-up",
    "shadow-pile-up-rmcp0.17.0-ts1.23": "shadow-pile-up",
}


class Count:
    def __init__(self):
        self.hits, self.missed, self.false, self.clean = [], [], [], 0


def judge(name, truth, findings, counts, known):
    """Adds what the findings of one capture are worth."""
    loud = golden.loud(findings)
    expected = truth.get("expected_findings") or []
    named = set()
    for e in expected:
        names = e["detector"] if isinstance(e["detector"], list) else [e["detector"]]
        named.update(names)
        hits = [f for f in loud if golden.of(f, names, e.get("variant"))]
        if e.get("verdict") == "present":
            of = hits[0]["detector"] if hits else names[0]
            (counts[of].hits if hits else counts[of].missed).append(name)
        elif e.get("verdict") == "absent" and names != ["*"]:
            counts[names[0]].clean += 1
            for n in {f["detector"] for f in hits
                      if f.get("variant") not in (e.get("except") or [])}:
                counts[n].false.append(name)
    if expected and all(e.get("verdict") == "absent" for e in expected):
        for n in known - named - {BESIDE.get(name)}:
            counts[n].clean += 1
            if n in {f["detector"] for f in loud}:
                counts[n].false.append(name)


def judge_conversation(path, test_conv, counts):
    """The same for a conversation; test_conv prints the document after the events."""
    name = os.path.basename(path)[:-len(".conv")]
    p = subprocess.run([test_conv, "--events", path], capture_output=True, check=False,
                       timeout=golden.TIMEOUT)
    text = p.stdout.decode("utf-8", "replace")
    findings = json.loads(text[text.index('\n{\n  "schema"'):])["findings"]
    wanted = set()
    with open(path, encoding="utf-8") as f:
        lines = [x.split() for x in f]
    for w in lines:
        if w[:1] not in (["want"], ["absent"]):
            continue
        detector, _, variant = w[1].partition("/")
        hit = any(golden.of(f, [detector], variant or None) for f in findings)
        if w[0] == "want":
            wanted.add(detector)
            (counts[detector].hits if hit else counts[detector].missed).append(name)
        else:
            counts[detector].clean += 1
            if hit:
                counts[detector].false.append(name)
    for d in {f["detector"] for f in golden.loud(findings)} - wanted:
        if not name.startswith(("contract-", "miss-contract-")) and d != "contract":
            counts[d].false.append(name)


def ratio(part, rest):
    return len(part) / (len(part) + len(rest)) if part or rest else None


def say(value):
    return "    -" if value is None else f"{value:5.3f}"


def say_all(what, counts):
    """How many are bad."""
    bad = 0
    print(f"# {what}")
    print(f"# {'detector':26} {'truths':>6} {'found':>6} {'missed':>6} {'absent':>6} "
          f"{'false':>6} precision recall")
    for n in sorted(counts):
        c = counts[n]
        precision, recall = ratio(c.hits, c.false), ratio(c.hits, c.missed)
        print(f"# {n:26} {len(c.hits) + len(c.missed):6} {len(c.hits):6} {len(c.missed):6} "
              f"{c.clean:6} {len(c.false):6}     {say(precision)}  {say(recall)}")
    for n in sorted(counts):
        c = counts[n]
        if not c.false and (not c.missed or n in LATER):
            print(f"ok - {n}" + (f" # SKIP {LATER[n]}" if c.missed else
                                 f": {len(c.hits)} of {len(c.hits)}, none of {c.clean} false"))
            continue
        bad += 1
        print(f"not ok - {n}: missed in {', '.join(c.missed) or 'none'}; "
              f"false in {', '.join(c.false) or 'none'}")
    return bad


def main(argv):
    ap = argparse.ArgumentParser(description="Precision and recall of each detector.")
    ap.add_argument("--without", default="", help="tls,h2: what it cannot read yet")
    ap.add_argument("--conversations", nargs=2, metavar=("TEST_CONV", "FOLDER"))
    ap.add_argument("program")
    ap.add_argument("folder", nargs="+")
    opt = ap.parse_args(argv)
    without = set(filter(None, opt.without.split(",")))
    program = shlex.split(opt.program)
    explain = subprocess.run(program + ["explain"], capture_output=True, check=True,
                                    timeout=golden.TIMEOUT)
    known = {x.split()[0] for x in explain.stdout.decode().splitlines() if "  " in x}
    args = ["analyze", "-T", "json"]
    counts, captures, bad = collections.defaultdict(Count), 0, 0
    for folder in opt.folder:
        for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
            with open(path, encoding="utf-8") as f:
                truth = json.load(f)
            if golden.needs(truth) & without:
                continue
            try:
                doc, _, _ = golden.run(program, args + [golden.capture_of(path, truth)])
            except golden.Bad as e:
                print(f"not ok - {os.path.basename(path)}: {e}")
                bad += 1
                continue
            captures += 1
            judge(os.path.basename(path)[:-len(".json")], truth, doc["findings"], counts, known)
    bad += say_all(f"{captures} captures", counts)
    if opt.conversations:
        talks = collections.defaultdict(Count)
        files = sorted(glob.glob(os.path.join(opt.conversations[1], "*.conv")))
        for path in files:
            judge_conversation(path, opt.conversations[0], talks)
        bad += say_all(f"{len(files)} conversations", talks)
        for n in sorted(known):
            if not counts[n].hits + talks[n].hits:
                print(f"not ok - {n} has no truth at all")
                bad += 1
    if captures == 0:
        print("not ok - no truth files")
    return 1 if bad or captures == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
