"""Starts Spark with its Delta, whose classes come from Maven Central."""

import os
import tempfile
import time

os.environ["TZ"] = "UTC"  # collect returns times of the local zone
time.tzset()


def spark():
    from delta import configure_spark_with_delta_pip
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("furrow")
    for name, value in {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.driver.memory": "2g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.jars.ivy": os.environ.get("FURROW_IVY") or tempfile.mkdtemp(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(name, value)
    return configure_spark_with_delta_pip(builder).getOrCreate()
