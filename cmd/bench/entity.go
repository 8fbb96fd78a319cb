package main

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"furrow/tables"
)

// partition is the device that a client writes as, or that a filled table has.
func partition(i int) string { return fmt.Sprintf("bench-device-%06d", i) }

// rowKey has 19 digits, as ticks have.
func rowKey(n int64) string { return fmt.Sprintf("%019d", n) }

// A filler provides text that does not compress, so that a server gains nothing by compressing it.
type filler string

func newFiller() filler {
	b := make([]byte, 48<<10)
	rand.Read(b) // never fails
	return filler(base64.RawURLEncoding.EncodeToString(b))
}

// text returns n characters; successive seeds give unrelated texts.
func (f filler) text(n int, seed int64) string {
	const golden = 0x9E3779B97F4A7C15
	start := int((uint64(seed) * golden >> 32) % uint64(len(f)-n))
	return string(f[start : start+n])
}

// entitySize is the size in bytes of a row's JSON, and of a message.
const entitySize = 250

// overhead is the length of an entity's JSON without its text.
const overhead = len(`{"PartitionKey":"bench-device-000000","RowKey":"0000000000000000000",` +
	`"temperature":12.25,"humidity":34.5,"battery":3.75,"open":true,"text":""}`)

// entity returns a reading.
func (f filler) entity(partition string, n int64) tables.Entity {
	return tables.Entity{PartitionKey: partition, RowKey: rowKey(n), Properties: []tables.Property{
		{Name: "temperature", Value: tables.Double(float64(10+n%30) + .25)},
		{Name: "humidity", Value: tables.Double(float64(30+n%60) + .5)},
		{Name: "battery", Value: tables.Double(3.75)},
		{Name: "open", Value: tables.Boolean(true)},
		{Name: "text", Value: tables.String(f.text(entitySize-overhead, n))},
	}}
}
