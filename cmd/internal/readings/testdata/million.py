"""Writes a million rows in the forms that people have to a folder, its argument.

It prints how much processor time DuckDB takes to read them as CSV.
"""

import os
import sys
import time

import duckdb
import pyarrow.ipc

os.chdir(sys.argv[1])
db = duckdb.connect()
db.sql("SET threads = 1")
db.sql("SET TimeZone = 'UTC'")
db.sql("""CREATE TABLE rows AS SELECT 'pump-' || (i % 100) AS device,
    TIMESTAMP '2026-11-01 00:00:00' + to_seconds(i // 100 * 10) AS time,
    round(20 + sin(i) * 5, 2) AS temperature, 40 + i % 30 AS humidity, ['open', 'shut'][i % 2 + 1] AS door
    FROM range(1000000) t(i)""")
iso = "strftime(time, '%Y-%m-%dT%H:%M:%SZ')"
wide = f"SELECT device, {iso} AS time, temperature, humidity, door FROM rows"
long = f"SELECT device, {iso} AS time, 'temperature' AS sensor, temperature AS value FROM rows"
comma = f"SELECT device, {iso} AS time, replace(temperature::text, '.', ',') AS temperature, humidity, door FROM rows"
lines = "SELECT 'air,device=' || device || ' temperature=' || temperature || ',humidity=' || humidity || 'i,door=\"' || " \
    "door || '\" ' || epoch_ns(time) AS line FROM rows"
for file, query, how in (
    ("wide.csv", wide, ""),
    ("wide.csv.gz", wide, "FORMAT csv, COMPRESSION gzip"),
    ("semicolon.csv", comma, "FORMAT csv, DELIMITER ';'"),
    ("long.csv", long, ""),
    ("epoch.csv", "SELECT device, epoch_ms(time) AS time, temperature, humidity, door FROM rows", ""),
    ("wide.jsonl", wide, "FORMAT json"),
    ("array.json", wide, "FORMAT json, ARRAY true"),
    ("wide.parquet", "FROM rows", "FORMAT parquet, COMPRESSION zstd"),
    ("wide.lines", lines, "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\\x01'"),
):
    db.sql(f"COPY ({query}) TO '{file}' ({how or 'FORMAT csv, HEADER'})")
table = db.sql("FROM rows").to_arrow_table()
with pyarrow.ipc.new_stream("wide.arrow", table.schema) as stream:
    stream.write_table(table)

began = time.process_time()
db.sql("SELECT max(columns(*)::text) FROM read_csv('wide.csv')").fetchall()
print(time.process_time() - began)
