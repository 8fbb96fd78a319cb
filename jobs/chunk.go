package jobs

import "furrow/tables"

// Bounds of what is folded between two looks at the context and at the weight. The outputs of a row with 1,000 sensors
// are some hundred times as large as the row, so a chunk is also bounded in bytes. 100 rows of six sensors have 40 KiB.
const (
	chunkRows  = 100
	chunkBytes = 64 << 10
)

// chunkOf returns how many of rows make a chunk, at least one.
func chunkOf(rows []tables.Entity) (n int) {
	for size := 0; n < min(chunkRows, len(rows)); n++ {
		if size += rows[n].Size(); size > chunkBytes && n > 0 {
			break
		}
	}
	return n
}
