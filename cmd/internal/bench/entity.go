package bench

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"furrow/tables"
)

// partition is the device that a client writes as, or that a filled table has.
func partition(i int) string { return fmt.Sprintf("bench-device-%06d", i) }

// rowKey is 19 digits, as ticks are.
func rowKey(n int64) string { return fmt.Sprintf("%019d", n) }

// ticksNow counts 100 ns since the year 1, so that rounds and runs never repeat a key.
func ticksNow() int64 {
	const toUnix = 62_135_596_800
	now := time.Now()
	return (now.Unix()+toUnix)*1e7 + int64(now.Nanosecond())/100
}

// A filler makes text that does not compress, which real readings do little of.
type filler string

func newFiller() filler {
	b := make([]byte, 48<<10)
	rand.Read(b) // never fails
	return filler(base64.RawURLEncoding.EncodeToString(b))
}

// text is n characters, from a place that seed scatters: neighbours have little in common.
func (f filler) text(n int, seed int64) string {
	const golden = 0x9E3779B97F4A7C15
	start := int((uint64(seed) * golden >> 32) % uint64(len(f)-MaxSize))
	return string(f[start : start+n])
}

// reading is an entity whose JSON is size bytes long.
func (f filler) reading(partition, row string, seed int64, size int) []byte {
	b := append(make([]byte, 0, size), head(partition, row, seed)...)
	b = append(b, f.text(size-len(b)-2, seed)...)
	return append(b, `"}`...)
}

func head(partition, row string, seed int64) string {
	return fmt.Sprintf(`{"PartitionKey":"%s","RowKey":"%s","temperature":%d.25,"humidity":%d.5,"battery":3.75,"open":true,"sequence":%d,"text":"`,
		partition, row, 10+seed%30, 30+seed%60, seed%1_000_000)
}

// entity is the same row as a reading of that size.
func (f filler) entity(partition, row string, seed int64, size int) tables.Entity {
	return tables.Entity{PartitionKey: partition, RowKey: row, Properties: []tables.Property{
		{Name: "temperature", Value: tables.Double(float64(10+seed%30) + .25)},
		{Name: "humidity", Value: tables.Double(float64(30+seed%60) + .5)},
		{Name: "battery", Value: tables.Double(3.75)},
		{Name: "open", Value: tables.Boolean(true)},
		{Name: "sequence", Value: tables.Int32(int32(seed % 1_000_000))},
		{Name: "text", Value: tables.String(f.text(size-len(head(partition, row, seed))-2, seed))},
	}}
}
