"""Prints what readers of others find in a Delta table that Furrow wrote: for each row a line of JSON with the reader
and the values that are not null. Bytes are in base64, times in microseconds since 1970, dates as text."""

import base64
import datetime
import json
import math
import sys

import deltalake
import duckdb
import pandas
import polars

folder = sys.argv[1]


def value(v):
    if isinstance(v, (bytes, bytearray)):
        return base64.b64encode(v).decode()
    if isinstance(v, datetime.datetime):
        return round(v.timestamp() * 1_000_000)
    if isinstance(v, datetime.date):
        return v.isoformat()
    return v


def is_null(v):
    return v is None or isinstance(v, float) and math.isnan(v) or str(v) in ("NaT", "<NA>")


def tell(reader, rows):
    for row in rows:
        told = {name: value(v) for name, v in row.items() if not is_null(v)}
        print(json.dumps({"reader": reader, "row": told}))


table = deltalake.DeltaTable(folder)
arrow = table.to_pyarrow_table()
tell("delta-rs", arrow.to_pylist())
tell("pandas", table.to_pandas(types_mapper=pandas.ArrowDtype).astype(object).to_dict("records"))
tell("polars", polars.read_delta(folder).to_dicts())
tell("polars, lazy", polars.scan_delta(folder).collect().to_dicts())

connection = duckdb.connect()
connection.register("readings", arrow)
columns = [name for name, *_ in connection.execute("describe readings").fetchall()]
tell("DuckDB on delta-rs", (dict(zip(columns, row)) for row in connection.execute("from readings").fetchall()))

# count(*) is answered from the log, and a filter by what it says of files.
print(json.dumps({"reader": "count", "row": {"rows": table.count()}}))
for device in sorted(set(arrow["device"].to_pylist())):
    found = polars.scan_delta(folder).filter(polars.col("device") == device).select(polars.len()).collect().item()
    print(json.dumps({"reader": "filter", "row": {"device": device, "rows": found}}))
