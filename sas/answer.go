package sas

import (
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// RowKeyFormat names the format of a reading's row key: 19 digits of ticks (100 ns since
// 0001-01-01 UTC), and if several readings share a tick, a dash and a suffix.
const RowKeyFormat = "ticks19[-suffix]"

// An Answer is a token and how to use it. As JSON it is the endpoint's response. Members may
// be added, but none changes.
type Answer struct {
	Device       schema.DeviceID `json:"device"`
	URL          string          `json:"url"` // of the device's readings table
	SAS          string          `json:"sas"` // the token: the query of the URL
	PartitionKey schema.DeviceID `json:"partitionKey"`
	RowKeyFormat string          `json:"rowKeyFormat"`

	// The first and the last row key that the token admits.
	EarliestRowKey tables.Ticks `json:"earliestRowKey"`
	LatestRowKey   tables.Ticks `json:"latestRowKey"`

	Expires    time.Time `json:"expires"`
	RenewAfter time.Time `json:"renewAfter"`
	ServerTime time.Time `json:"serverTime"`

	SendEvery int `json:"sendEvery"` // suggested seconds between sends
	Batch     int `json:"batch"`     // suggested rows in a transaction

	// A second token, if the device's enrollment has commands: it reads the device's partition of the table of commands,
	// and nothing else. It expires with the first. These members have names of their own and are no object, so that
	// small devices can search for them.
	CommandsURL     string `json:"commandsUrl,omitzero"`     // of the table of commands
	CommandsSAS     string `json:"commandsSas,omitzero"`     // the token: the query of the URL
	CommandsEvery   int    `json:"commandsEvery,omitzero"`   // suggested seconds between reads
	CommandsWaiting int    `json:"commandsWaiting,omitzero"` // how many commands wait now; absent: none
}
