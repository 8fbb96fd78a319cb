"""Has readers of Python compare Delta tables that Furrow wrote with what is in them: see compare.py."""

import datetime
import sys

import deltalake
import duckdb
import pandas
import polars
import pyarrow.dataset

import compare


def filters(device, date):
    return {name: v for name, v in (("device", device), ("date", date and datetime.date.fromisoformat(date))) if v is not None}


class DeltaRS:
    name = "delta-rs, pyarrow"

    def read(self, folder, version):
        return deltalake.DeltaTable(folder, version=version).to_pyarrow_table().to_pylist()

    def count(self, folder, device, date):
        table = deltalake.DeltaTable(folder)
        if not filters(device, date):
            return table.count()
        wanted = [pyarrow.dataset.field(name) == v for name, v in filters(device, date).items()]
        return table.to_pyarrow_dataset().count_rows(filter=wanted[0])


class Pandas:
    name = "pandas"

    def read(self, folder, version):
        frame = deltalake.DeltaTable(folder, version=version).to_pandas(types_mapper=pandas.ArrowDtype)
        columns = {name: column.array.__arrow_array__().to_pylist() for name, column in frame.items()}
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def count(self, folder, device, date):
        table = deltalake.DeltaTable(folder)
        if date:
            return len(table.to_pandas(partitions=[("date", "=", date)], types_mapper=pandas.ArrowDtype))
        frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
        return len(frame if device is None else frame[frame["device"] == device])


class Polars:
    name = "polars"

    def read(self, folder, version):
        return polars.read_delta(folder, version=version).to_dicts()

    def count(self, folder, device, date):
        frame = polars.read_delta(folder)
        for name, v in filters(device, date).items():
            frame = frame.filter(polars.col(name) == v)
        return frame.height


class LazyPolars:
    name = "polars, lazy"

    def read(self, folder, version):
        return polars.scan_delta(folder, version=version).collect().to_dicts()

    def count(self, folder, device, date):
        frame = polars.scan_delta(folder)
        for name, v in filters(device, date).items():
            frame = frame.filter(polars.col(name) == v)
        return frame.select(polars.len()).collect().item()


class DuckDB:
    name = "DuckDB on delta-rs"

    def read(self, folder, version):
        readings = deltalake.DeltaTable(folder, version=version).to_pyarrow_dataset()  # noqa: F841: the query names it
        found = duckdb.sql("from readings")
        return [dict(zip(found.columns, row)) for row in found.fetchall()]

    def count(self, folder, device, date):
        readings = deltalake.DeltaTable(folder).to_pyarrow_dataset()  # noqa: F841: the query names it
        where = " and ".join(f"{name} = ?" for name in filters(device, date)) or "true"
        query = f"select count(*) from readings where {where}"
        return duckdb.execute(query, list(filters(device, date).values())).fetchall()[0][0]


if __name__ == "__main__":
    print(f"deltalake {deltalake.__version__}, polars {polars.__version__}, pandas {pandas.__version__}, "
          f"pyarrow {pyarrow.__version__}, DuckDB {duckdb.__version__}")
    compare.run(sys.argv[1], [DeltaRS(), Pandas(), Polars(), LazyPolars(), DuckDB()])
