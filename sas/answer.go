package sas

import (
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// RowKeyFormat is what an Answer calls the form of a reading's row key: 19
// digits of ticks (100 ns since 0001-01-01 UTC), and where several readings
// share one, a dash and a suffix.
const RowKeyFormat = "ticks19[-suffix]"

// An Answer is what a device is told when it gets a token: how to write, what it
// may write, and what time it is. As JSON it is the body of the endpoint's 200;
// members may be added, none changes.
type Answer struct {
	Device       schema.DeviceID `json:"device"`
	URL          string          `json:"url"` // of its readings table
	SAS          string          `json:"sas"` // the query that opens it: the token
	PartitionKey schema.DeviceID `json:"partitionKey"`
	RowKeyFormat string          `json:"rowKeyFormat"`

	// The row keys that the token admits, both included.
	EarliestRowKey tables.Ticks `json:"earliestRowKey"`
	LatestRowKey   tables.Ticks `json:"latestRowKey"`

	Expires    time.Time `json:"expires"`
	RenewAfter time.Time `json:"renewAfter"`
	ServerTime time.Time `json:"serverTime"`

	SendEvery int `json:"sendEvery"` // seconds; a suggestion
	Batch     int `json:"batch"`     // rows a transaction; a suggestion
}
