#!/usr/bin/env python3
"""How long events take from the packet to the line that tells of them.

usage: watch -T ndjson ... | delay.py [EVENTS]

Each line of `watch` is stamped as it arrives and compared with the time of its
packet; with EVENTS, written by `serve --events` on the same machine, changes of
owner are also compared with the moment at which the server made them.  Prints
one line of NAME=VALUE, times in milliseconds; exit 1 when a change of owner
that the server made was not told."""
import json
import os
import sys
import time


def percentile(v, p):
    v = sorted(v)
    return v[min(len(v) - 1, int(len(v) * p / 100))] if v else 0.0


def lines(fd):
    """Each line with the moment at which its last byte came."""
    rest = b""
    while True:
        piece = os.read(fd, 1 << 16)
        now = time.time_ns()
        if not piece:
            return
        *whole, rest = (rest + piece).split(b"\n")
        for text in whole:
            yield json.loads(text), now


def main(events):
    delay, owner = [], {}
    for e, now in lines(0):
        if not e.get("pkt") or e["type"] == "end" or "final" in e.get("flags", ()):
            continue
        # told when the run ends, or when their condition is met
        if e.get("how") == "eof" or e.get("end") == "open" or e["type"] == "finding":
            continue
        delay.append((now - e["ns"]) / 1e6)
        if e["type"] == "owner":
            owner.setdefault((e["stream"], e["by"]), now)
    out = {"n": len(delay), "p50": percentile(delay, 50), "p99": percentile(delay, 99),
           "max": max(delay, default=0.0)}
    missed = 0
    if events:
        made = [json.loads(t) for t in open(events, encoding="utf-8")]
        made = [(e["stream"], e["by"], e["ns"]) for e in made if e["type"] == "owner"]
        late = [(owner[k, by] - ns) / 1e6 for k, by, ns in made if (k, by) in owner]
        missed = len(made) - len(late)
        out.update(changes=len(made), missed=missed, owner_p50=percentile(late, 50),
                   owner_p99=percentile(late, 99), owner_max=max(late, default=0.0))
    print(" ".join(f"{k}={v:.2f}" if isinstance(v, float) else f"{k}={v}"
                   for k, v in out.items()))
    return 1 if missed or not delay else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
