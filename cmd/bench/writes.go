package main

import (
	"context"
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
	w := storageWorkload{workload: workload{
		name: "insert", about: "Insert one row with a token that can only add to the client's own partition",
	}}
	w.prepare = func(ctx context.Context, e *endpoint) (operation, error) {
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
	}
	return w
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
	w := storageWorkload{workload: workload{
		name: "transaction", about: "Insert 100 rows into the client's own partition, all or none", rows: perTransaction,
	}}
	w.prepare = func(ctx context.Context, e *endpoint) (operation, error) {
		name, err := e.newTable(ctx)
		if err != nil {
			return nil, err
		}
		rows := e.newRows()
		return func(ctx context.Context, client int, _ func()) error {
			return insertTogether(ctx, e.tables.Table(name), rows.many(client, perTransaction))
		}, nil
	}
	return w
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
