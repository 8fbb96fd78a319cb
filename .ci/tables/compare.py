"""Compares what a reader finds in Delta tables that Furrow wrote with what is in them, cell by cell.

The first argument of a reader's program is a folder with states.json: a list of tables, each with a name, its folder,
its rows and those of earlier versions. A version without rows is one that has ended: reading it must fail. Cells are
texts that begin with their type, so that 1, 1.0, true and '1' differ, and doubles are compared bit by bit."""

import base64
import collections
import datetime
import json
import math
import os
import struct
import sys

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def cell(v):
    if isinstance(v, bool):
        return f"b:{str(v).lower()}"
    if isinstance(v, int):
        return f"i:{v}"
    if isinstance(v, float):
        return "d:nan" if math.isnan(v) else "d:" + struct.pack(">d", v).hex()
    if isinstance(v, (bytes, bytearray)):
        return "x:" + base64.b64encode(v).decode()
    if isinstance(v, datetime.datetime):
        v = v.replace(tzinfo=v.tzinfo or datetime.timezone.utc)
        return f"t:{(v - EPOCH) // datetime.timedelta(microseconds=1)}"
    if isinstance(v, datetime.date):
        return "D:" + v.isoformat()
    if isinstance(v, str):
        return "s:" + v
    raise TypeError(f"{type(v)}: {v!r}")


def counted(rows):
    return collections.Counter(json.dumps(row, sort_keys=True) for row in rows)


class Reader:
    """One reader, with what it got right and wrong."""

    def __init__(self, name):
        self.name, self.tables, self.rows, self.cells, self.counts, self.ended, self.wrong = name, 0, 0, 0, 0, 0, []

    def fail(self, state, what):
        self.wrong.append(f"{state}: {what}")

    def compare(self, state, want, read):
        """Compares rows, which read returns as dicts. Null is no cell."""
        try:
            got = [{name: cell(v) for name, v in row.items() if v is not None} for row in read()]
        except Exception as e:
            return self.fail(state, f"{type(e).__name__}: {str(e)[:300]}")
        self.tables, self.rows, self.cells = self.tables + 1, self.rows + len(got), self.cells + sum(map(len, got))
        got, want = counted(got), counted(want)
        if missing := list((want - got).elements()):
            extra = list((got - want).elements())
            self.fail(state, f"{len(missing)} of {want.total()} rows are missing, {len(extra)} are not in the table; "
                             f"missing is {missing[0][:500]}, extra {extra[:1]}"[:1500])
        elif got != want:
            extra = list((got - want).elements())
            self.fail(state, f"{len(extra)} rows are not in the table, or twice, such as {extra[0][:500]}")

    def count(self, state, what, want, read):
        try:
            got = read()
        except Exception as e:
            return self.fail(state, f"{what}: {type(e).__name__}: {str(e)[:300]}")
        self.counts += 1
        if got != want:
            self.fail(state, f"{what}: {got} rows, want {want}")

    def refuse(self, state, read):
        """Checks that an ended version cannot be read."""
        self.ended += 1
        try:
            rows = read()
        except Exception:
            return
        self.fail(state, f"a version that has ended is read, with {len(list(rows))} rows")


def run(folder, readers):
    """Has readers read all states. A reader has read(folder, version), which returns rows, and count(folder, device,
    date), whose arguments may be None."""
    with open(os.path.join(folder, "states.json"), encoding="utf-8") as f:
        states = json.load(f)
    bad = False
    for r in readers:
        told = Reader(r.name)
        for s in states:
            at, rows = s["Folder"], s["Rows"]
            told.compare(s["Name"], rows, lambda: r.read(at, None))
            told.count(s["Name"], "count(*)", len(rows), lambda: r.count(at, None, None))
            for by in ("device", "date"):
                for key, n in collections.Counter(row[by] for row in rows if by in row).most_common(2):
                    device, date = (key[2:], None) if by == "device" else (None, key[2:])
                    told.count(s["Name"], f"{by} {key[2:]}", n, lambda: r.count(at, device, date))
            for version, earlier in (s["Versions"] or {}).items():
                name = f"{s['Name']}, version {version}"
                if earlier is None:
                    told.refuse(name, lambda: r.read(at, int(version)))
                else:
                    told.compare(name, earlier, lambda: r.read(at, int(version)))
        print(f"{r.name}: {told.tables} tables of {len(states)} states and their versions, {told.rows} rows, {told.cells} "
              f"cells; {told.counts} counts; {told.ended} ended versions; {len(told.wrong)} wrong", flush=True)
        for wrong in told.wrong:
            bad = True
            print(f"FAIL {r.name}: {wrong}")
    sys.stdout.flush()
    os._exit(bad)  # a thread of a reader's own may abort the program while it ends
