package bench

import (
	"context"
	"net/http"

	"furrow/tables"
)

// bareInserts is inserts, and bareTransactions is transactions, without a client that takes part of the time.
func bareInserts() storageWorkload {
	return bareWrites(workload{name: "bare-insert",
		about: "As insert, but prepared requests over connections without a client"}, 1)
}

func bareTransactions() storageWorkload {
	return bareWrites(workload{name: "bare-transaction", rows: perTransaction,
		about: "As transaction, but prepared requests over connections without a client"}, perTransaction)
}

func bareWrites(w workload, perRequest int) storageWorkload {
	prepare := func(ctx context.Context, e *endpoint, _ int) (operation, error) {
		write, err := e.preparer(ctx)
		if err != nil {
			return nil, err
		}
		rows := e.newRows()
		clients := make([]*bareClient, e.clients)
		for i := range clients {
			b := &bareClient{dial: dialer(e.http)}
			b.make = func(ctx context.Context) (*http.Request, error) { return write(ctx, rows.templates(i, perRequest)) }
			b.rows = func() []tables.Entity { return rows.many(i, perRequest) }
			e.cleanups = append(e.cleanups, func(context.Context) error { b.close(); return nil })
			clients[i] = b
		}
		return func(ctx context.Context, client int, _ func()) error { return clients[client].send(ctx) }, nil
	}
	return storageWorkload{workload: w, bare: true, prepare: prepare}
}

// A preparer returns the request that writes rows of one partition, without sending it.
type preparer func(ctx context.Context, rows []tables.Entity) (*http.Request, error)

// preparer returns one for a new table. It writes one row as a device does, and several as a worker does.
func (e *endpoint) preparer(ctx context.Context) (preparer, error) {
	if e.influx != "" {
		return e.influxPreparer(ctx)
	}
	name, err := e.newTable(ctx)
	return func(ctx context.Context, rows []tables.Entity) (*http.Request, error) {
		kept := &capture{}
		if len(rows) == 1 {
			device, err := e.device(name, rows[0].PartitionKey, kept)
			if err == nil {
				_, err = device.Do(ctx, tables.Insert(rows[0]))
			}
			return kept.request(err)
		}
		client, err := e.connect(e.account, kept)
		if err != nil {
			return nil, err
		}
		return kept.request(insertTogether(ctx, client.Table(name), rows))
	}, err
}
