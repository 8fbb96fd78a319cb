package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"furrow/sas"
	"furrow/tables"
)

// inserts adds rows as devices do: each client to its own partition, with a token
// that allows nothing else.
func inserts() storageWorkload {
	w := workload{
		name: "insert", about: "Insert one row with a token that can only add to the client's own partition",
	}
	return storageWorkload{w, func(ctx context.Context, e *endpoint) (operation, error) {
		name, err := e.newTable(ctx)
		if err != nil {
			return nil, err
		}
		devices := make([]*tables.Table, e.clients)
		for i := range devices {
			if devices[i], err = e.device(name, partition(i)); err != nil {
				return nil, err
			}
		}
		rows := e.newRows()
		return func(ctx context.Context, client int, _ func()) error {
			_, err := devices[client].Do(ctx, tables.Insert(rows.next(client)))
			return err
		}, nil
	}}
}

// device returns a client that can add rows to one partition and nothing else.
func (e *endpoint) device(table, partition string) (*tables.Table, error) {
	grant := sas.Grant{
		Table: table, Permissions: "a", Expiry: time.Now().Add(24 * time.Hour),
		StartPartition: partition, EndPartition: partition,
	}
	if strings.HasPrefix(e.account.Table, "http:") {
		grant.Protocol = sas.HTTPSAndHTTP
	}
	key, err := base64.StdEncoding.DecodeString(e.account.Key)
	if err != nil {
		return nil, fmt.Errorf("account key: %w", err)
	}
	token, err := grant.Sign(e.account.Name, key)
	if err != nil {
		return nil, err
	}
	client, err := e.connect(tables.Account{Name: e.account.Name, SAS: token, Table: e.account.Table})
	if err != nil {
		return nil, err
	}
	return client.Table(table), nil
}

// perTransaction is the most rows that Azure takes in one.
const perTransaction = 100

// transactions are signed with the account's key: Azurite refuses a SAS for them.
func transactions() storageWorkload {
	w := workload{
		name: "transaction", about: "Insert 100 rows into the client's own partition, all or none", rows: perTransaction,
	}
	return storageWorkload{w, func(ctx context.Context, e *endpoint) (operation, error) {
		name, err := e.newTable(ctx)
		if err != nil {
			return nil, err
		}
		rows := e.newRows()
		return func(ctx context.Context, client int, _ func()) error {
			return insertTogether(ctx, e.tables.Table(name), rows.many(client, perTransaction))
		}, nil
	}}
}

func insertTogether(ctx context.Context, to *tables.Table, rows []tables.Entity) error {
	ops := make([]tables.Op, len(rows))
	for i := range ops {
		ops[i] = tables.Insert(rows[i])
	}
	_, err := to.Submit(ctx, ops)
	return err
}

// rows give each client row keys that rise and are never used again, neither in another round nor
// in another run.
type rows struct {
	filler
	last []int64
}

func (e *endpoint) newRows() *rows {
	r := &rows{newFiller(), make([]int64, e.clients)}
	for i := range r.last {
		r.last[i] = int64(tables.TicksOf(time.Now()))
	}
	return r
}

func (r *rows) next(client int) tables.Entity {
	r.last[client]++
	return r.entity(partition(client), r.last[client])
}

func (r *rows) many(client, n int) []tables.Entity {
	many := make([]tables.Entity, n)
	for i := range many {
		many[i] = r.next(client)
	}
	return many
}

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
