package folding

import (
	"strings"
	"testing"

	"furrow/tables"
)

func TestChunksAreBoundedInRowsAndBytes(t *testing.T) {
	rows := func(n, bytes int) (all []tables.Entity) {
		for range n {
			e := tables.Entity{PartitionKey: "d", RowKey: "0639308160000000000"}
			e.Set("a", tables.String(strings.Repeat("x", bytes/2)))
			all = append(all, e)
		}
		return all
	}
	for _, c := range []struct{ rows, bytes, want int }{{0, 0, 0}, {1, 60 << 10, 1}, {5, 60 << 10, 1}, {50, 400, 50},
		{1000, 400, 100}, {1000, 6 << 10, 10}} {
		if got := chunkOf(rows(c.rows, c.bytes)); got != c.want {
			t.Errorf("of %d rows of %d bytes %d are a chunk, want %d", c.rows, c.bytes, got, c.want)
		}
	}
}
