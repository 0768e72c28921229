"""Plays captures against `mcpdiag serve` in the mode that fits each, and judges
what is found by the captures' own truth; then those with a fault against the
reference server as it comes, where none of the server's making may be left:
replay_captures.py [--only GLOB] [--keep FOLDER] [-x SPEED] TABLE FOLDER...

The head of TABLE, replay_captures.txt, says how it reads.  Every capture of the
FOLDERs must have a row.  All are played side by side, each with a server of its
own: they mostly wait."""
import argparse
import fnmatch
import glob
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "golden"))
import golden  # noqa: E402

BIN = os.environ["MCPDIAG"]
AT_ONCE = 64
TIMEOUT = 600
CALLS = ("--allow", "tools/call:*", "--tool", "poke=emit")
TIMED = ("stale-slot", "idle-cut", "age-cut", "session-idle", "forget-session",
         "refuse-token", "ping-kill", "buffer", "fall-silent")
# What a server alone makes, whatever its clients do.
OF_SERVERS = ("leapfrog", "orphaned-channel", "replay-loop", "lost-response", "stale-slot",
              "refused-get-loop", "idle-cut", "dead-session", "split-brain", "wrong-stream")


class Row:
    def __init__(self, line):
        cols = [c.strip() for c in line.split("|")]
        if len(cols) != 4:
            raise ValueError(f"not four columns: {line}")
        self.names = cols[0].split()
        self.serve, self.replay = shlex.split(cols[1]), shlex.split(cols[2])
        self.remark = cols[3]

    def fits(self, name):
        return any(fnmatch.fnmatch(name, n) for n in self.names)

    def cure(self):
        """Options of a server that has its times, but neither its policy nor its faults."""
        out, args = [], list(self.serve)
        while args:
            option = args.pop(0)
            if option in ("--policy", "--fault", "--replay", "--post-priming", "--cap",
                          "--session-errors"):
                args.pop(0)
            else:
                out.append(option)
        return out

    def speed(self, opt):
        if opt.speed:
            return opt.speed
        return float(self.replay[self.replay.index("-x") + 1]) if "-x" in self.replay else 1


class Job:
    def __init__(self, path, row, serve, judge):
        self.path, self.row, self.serve, self.judge = path, row, serve, judge
        self.name = os.path.basename(path)[:-len(".json")]
        with open(path, encoding="utf-8") as f:
            self.truth = json.load(f)
        self.truth["not_again"] = row.remark.startswith("not again:")
        self.capture = golden.capture_of(path, self.truth)


def read_table(path):
    with open(path, encoding="utf-8") as f:
        return [Row(s) for s in f if s.strip() and not s.startswith("#")]


def detectors():
    p = subprocess.run([BIN, "explain"], capture_output=True, text=True, check=True)
    return {s.split()[0] for s in p.stdout.splitlines() if s[:1].isalpha() and "  " in s}


def scaled(args, speed):
    """Options of serve, whose times are those of the capture, for a replay at that speed."""
    def seconds(text):
        return f"{float(text) / speed:.3f}"
    out = list(args)
    for i, (option, value) in enumerate(zip(args, args[1:])):
        name, eq, n = value.partition("=")
        if option == "--retry":
            out[i + 1] = str(max(1, round(float(value) / speed)))
        elif option == "--keepalive":
            out[i + 1] = seconds(value)
        elif option == "--emit":
            each, x, times = value.partition("x")
            out[i + 1] = seconds(each) + x + times
        elif option == "--fault" and eq and name in TIMED:
            out[i + 1] = f"{name}={seconds(n)}"
    return out


def play(capture, serve, args):
    """-> the document of replay; golden.Bad when there is none"""
    server = subprocess.Popen([BIN, "serve", "--port", "0", *serve], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    try:
        url = server.stdout.readline().split()[-1:]
        if not url:
            raise golden.Bad(server.stderr.read().strip())
        p = subprocess.run([BIN, "replay", "-T", "json", *args, capture, *url],
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)
    finally:
        server.terminate()
        server.communicate()
    if p.returncode not in (0, 1, 6):
        err = p.stderr.decode("utf-8", "replace").strip()
        raise golden.Bad(f"replay: exit status {p.returncode} {err}")
    return json.loads(p.stdout)


def wanted(truth):
    return {n for e in truth.get("expected_findings") or [] if e.get("verdict") == "present"
            for n in (e["detector"] if isinstance(e["detector"], list) else [e["detector"]])}


def as_captured(truth, found, known):
    """-> what is wrong of it by the truth of the capture"""
    if truth.get("not_again"):
        return [f"{golden.label(f)} is found: mend its row" for f in golden.loud(found)
                if f["detector"] in wanted(truth)]
    bad = golden.judge_findings(truth, found, known)
    if wanted(truth):
        return bad
    named = {str(e["detector"]) for e in truth.get("expected_findings") or []}
    return bad + [f"{golden.label(f)} where there is no fault" for f in golden.loud(found)
                  if f["detector"] not in named]


def cured(truth, found, known):
    """-> what is still found of that of which the server is cured"""
    return [f"{golden.label(f)} is still found" for f in golden.loud(found)
            if f["detector"] in OF_SERVERS]


def unplayable(job):
    p = subprocess.run([BIN, "replay", "--dry-run", job.capture], capture_output=True,
                       text=True)
    return [] if p.returncode == 3 else [f"can be played: exit status {p.returncode}"]


def run(job, opt, known):
    """-> (what is wrong, what was found)"""
    if job.serve is None:
        return unplayable(job), None
    speed = job.row.speed(opt)
    args = [*CALLS, *job.row.replay, "-x", f"{speed:g}"]
    try:
        doc = play(job.capture, scaled(job.serve, speed), args)
    except (golden.Bad, ValueError, subprocess.TimeoutExpired) as e:
        return [str(e)], None
    if opt.keep:
        with open(os.path.join(opt.keep, job.name + (",cured" if job.judge is cured else "") + ".json"), "w", encoding="utf-8") as f:
            json.dump(doc, f, indent=1)
    found = doc["analysis"]["findings"]
    return job.judge(job.truth, found, known), found


def make_jobs(opt, table):
    """-> (jobs, how many captures have no row)"""
    jobs, lost = [], 0
    for path in sorted(p for d in opt.folder for p in glob.glob(os.path.join(d, "*.json"))):
        name = os.path.basename(path)[:-len(".json")]
        if not fnmatch.fnmatch(name, opt.only):
            continue
        row = next((r for r in table if r.fits(name)), None)
        if row is None:
            print(f"not ok - {name}: has no row in {opt.table}")
            lost += 1
            continue
        if row.serve == ["-"]:
            jobs.append(Job(path, row, None, None))
            continue
        jobs.append(Job(path, row, row.serve, as_captured))
        if opt.cure and wanted(jobs[-1].truth).intersection(OF_SERVERS):
            jobs.append(Job(path, row, row.cure(), cured))
    return jobs, lost


def say(job, bad, found, known):
    what = job.name + (", cured" if job.judge is cured else "")
    if job.serve is None:
        text = f"cannot be played: {job.row.remark}"
    else:
        text = ", ".join(sorted({golden.label(f) for f in golden.loud(found or [])})) or "nothing"
        if job.truth["not_again"] and job.judge is as_captured:
            text += f"; {job.row.remark}"
        for n in sorted(wanted(job.truth) - known):
            text += f"; {n} is not judged: no detector has that name"
    print(f"not ok - {what}: {'; '.join(bad)}; found {text}" if bad else
          f"ok - {what}: {text}", flush=True)


def main(argv):
    ap = argparse.ArgumentParser()
    ap.add_argument("--only", default="*", help="captures whose name fits")
    ap.add_argument("--keep", help="a folder for the documents of replay")
    ap.add_argument("-x", dest="speed", type=float, help="in place of the table's")
    ap.add_argument("--no-cure", dest="cure", action="store_false")
    ap.add_argument("table")
    ap.add_argument("folder", nargs="+")
    opt = ap.parse_args(argv)
    known = detectors()
    jobs, failed = make_jobs(opt, read_table(opt.table))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for job, (bad, found) in zip(jobs, pool.map(lambda j: run(j, opt, known), jobs)):
            say(job, bad, found, known)
            failed += bool(bad)
    return 1 if failed or not jobs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
