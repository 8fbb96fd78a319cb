package main

import (
	"testing"

	"furrow/cmd/internal/tabular"
)

// TestFormatsOfFilesFollowTheirNames, in every command that reads a table without being told its format.
func TestFormatsOfFilesFollowTheirNames(t *testing.T) {
	for name, want := range map[string]tabular.Format{"a.csv": tabular.CSV, "-": tabular.CSV, "jsonl": tabular.CSV,
		"a.jsonl": tabular.JSONL, "A.JSONL.GZ": tabular.JSONL, "a.ndjson": tabular.JSONL, "a.ndjson.gz": tabular.JSONL} {
		if got := tableFormat(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
