"""Has Spark compare Delta tables that Furrow wrote with what is in them: see compare.py."""

import importlib.metadata
import sys

import compare
import session


class Spark:
    name = "Spark"

    def __init__(self):
        self.spark = session.spark()

    def open(self, folder, version=None):
        reader = self.spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(folder)

    def read(self, folder, version):
        return [row.asDict() for row in self.open(folder, version).collect()]

    def count(self, folder, device, date):
        table = self.open(folder)
        for name, v in (("device", device), ("date", date)):
            if v is not None:
                table = table.where(table[name] == v)
        return table.count()


if __name__ == "__main__":
    spark = Spark()
    print(f"Spark {spark.spark.version}, Delta {importlib.metadata.version('delta-spark')}")
    compare.run(sys.argv[1], [spark])
