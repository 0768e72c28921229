#!/usr/bin/env bash
# Every detector and every variant that mcpdiag-analyze(1) names has a conversation
# in tests/conv that fires it, and one that must not: `absent DETECTOR/VARIANT`, in
# a near miss or where another variant fires.  What fires is in the man page.
set -u
cd "$(dirname "$0")/../.." || exit 2
exec python3 - "${MCPDIAG:-build/mcpdiag}" man/mcpdiag-analyze.1 tests/conv/*.conv <<'END'
import collections, re, subprocess, sys

program, man, *files = sys.argv[1:]
# Named in a sentence, not in a list.
SENTENCES = [("reinit-storm", "refused"), ("ping-kill", "refused")]
explain = subprocess.run([program, "explain"], capture_output=True, check=True, timeout=60)
detectors = [x.split()[0] for x in explain.stdout.decode().splitlines() if "  " in x]
variants, section = {d: [] for d in detectors}, None
for line in open(man, encoding="utf-8"):
    if line.startswith(".S"):
        section = line.split()[1] if line.startswith(".Ss ") else None
    m = re.match(r"\.(It )?Cm ([a-z0-9-]+)( Ta .*| [,.])?$", line.rstrip())
    if m and section in variants and (m.group(1) or (section, m.group(2)) in SENTENCES):
        variants[section].append(m.group(2))
fires, misses = collections.defaultdict(list), collections.defaultdict(list)
for path in files:
    for line in open(path, encoding="utf-8"):
        word, _, rest = line.partition(" ")
        if word in ("want", "absent") and rest:
            what = rest.split()[0]
            for name in {what, what.partition("/")[0]}:
                (fires if word == "want" else misses)[name].append(path)
bad = []
for d in detectors:
    for name in [d] + [f"{d}/{v}" for v in variants[d]]:
        if not fires[name]:
            bad.append(f"{name} is fired by no conversation")
        if not misses[name]:
            bad.append(f"{name} has no near miss")
known = {f"{d}/{v}" for d in detectors for v in variants[d]}
for name in sorted(fires):
    if "/" in name and name not in known:
        bad.append(f"{name}, of {fires[name][0]}, is not in {man}")
for line in bad:
    print(f"not ok - {line}")
n = len(known) + len(detectors)
if not bad and n > 80:
    print(f"ok - {len(detectors)} detectors and {len(known)} variants, each fired and just missed")
elif not bad:
    print(f"not ok - only {n} names were found")
sys.exit(bool(bad) or n <= 80)
END
