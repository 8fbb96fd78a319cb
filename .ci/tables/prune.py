"""Measures how long readers take to open a table of many files, and whether they open only those that a query needs.

    prune.py FOLDER DEVICE DATE

For each query there is a copy of the table that lacks the files which the log rules out: whoever opens one of these
fails. Times are the best of three, in ms."""

import datetime
import os
import shutil
import sys
import tempfile
import time

import deltalake

import read
import spark

folder, device, date = sys.argv[1:]
wrong = False


def measured(what, run):
    took, answer = [], None
    for _ in range(3):
        began = time.monotonic()
        try:
            answer = run()
        except Exception as e:
            return f"{type(e).__name__}: {str(e)[:200]}", None
        took.append(1000 * (time.monotonic() - began))
    return f"{what} {min(took):.0f} ms", answer


actions = deltalake.DeltaTable(folder).get_add_actions(flatten=True)
files = [dict(zip(actions.column_names, row)) for row in zip(*(actions.column(n).to_pylist() for n in actions.column_names))]
needed = {
    "device": [f["path"] for f in files if f["min.device"] <= device <= f["max.device"]],
    "date": [f["path"] for f in files if f["partition.date"] == datetime.date.fromisoformat(date)],
}
copies = {}
for by, keep in needed.items():
    copies[by] = tempfile.mkdtemp()
    shutil.copytree(os.path.join(folder, "_delta_log"), os.path.join(copies[by], "_delta_log"))
    for path in keep:
        os.makedirs(os.path.dirname(os.path.join(copies[by], path)), exist_ok=True)
        shutil.copy(os.path.join(folder, path), os.path.join(copies[by], path))

print(f"{len(files)} files; one device is in {len(needed['device'])} of them, one day in {len(needed['date'])}")
print(measured("delta-rs: open", lambda: deltalake.DeltaTable(folder).version())[0])
for r in read.DeltaRS(), read.LazyPolars(), read.DuckDB(), spark.Spark():
    told = [measured("count(*)", lambda: r.count(folder, None, None))[0]]
    for by, args in (("device", (device, None)), ("date", (None, date))):
        text, want = measured(f"one {by}", lambda: r.count(folder, *args))
        pruned, got = measured("", lambda: r.count(copies[by], *args))
        if got != want or not want:
            print(f"FAIL {r.name}, one {by}: {want} rows, and without the files that it does not need {got}; {pruned}")
            wrong = True
        told.append(f"{text}, {want} rows")
    print(f"{r.name}: {'; '.join(told)}", flush=True)
for copy in copies.values():
    shutil.rmtree(copy)
sys.exit(wrong)
