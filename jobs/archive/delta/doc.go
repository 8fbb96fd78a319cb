// Package delta has the form of the log of a Delta table: what its versions say, as JSON, its checkpoints, as Parquet,
// and the names of both. It decides nothing: which files make up a table is the catalog's to know.
//
// A table is a folder. Its log says, version after version, which files came and which left:
//
//	readings/_delta_log/00000000000000000000.json             the columns
//	readings/_delta_log/00000000000000000001.json             a file more
//	readings/_delta_log/00000000000000000100.checkpoint.parquet  all that versions up to 100 come to
//	readings/_delta_log/_last_checkpoint                      where readers begin
//	readings/date=2026-11-20/NAME.parquet
//
// It is the protocol's reader version 1 and writer version 2, which every reader knows: classic checkpoints, no column
// mapping, no deletion vectors, no features. github.com/delta-io/delta: PROTOCOL.md.
package delta
