package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"furrow/tables/azuretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// ignore drops an error with a code.
func ignore(err error, code string) error {
	if err != nil && strings.Contains(err.Error(), code) {
		return nil
	}
	return err
}

// row returns a row whose content follows from its key and version.
func row(partition, key string, version int) []byte {
	b, err := json.Marshal(map[string]any{"PartitionKey": partition, "RowKey": key, "Version": version,
		"Content": strings.Repeat(fmt.Sprint(partition, key, version, " "), 10)})
	if err != nil {
		panic(err)
	}
	return b
}

// rows reads the versions of a partition by row key, and checks the contents.
func rows(ctx context.Context, c *aztables.Client, partition string) (map[string]int, error) {
	found := map[string]int{}
	filter := "PartitionKey eq '" + partition + "'"
	pages := c.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Entities {
			var got struct {
				RowKey, Content string
				Version         int
			}
			if err := json.Unmarshal(e, &got); err != nil {
				return nil, err
			}
			if want := strings.Repeat(fmt.Sprint(partition, got.RowKey, got.Version, " "), 10); got.Content != want {
				return nil, fmt.Errorf("row %s/%s holds %q, want %q", partition, got.RowKey, got.Content, want)
			}
			found[got.RowKey] = got.Version
		}
	}
	return found, nil
}

// A rowLoad inserts single rows or, if size > 1, transactions of size rows that also replace
// a counter.
type rowLoad struct {
	worker, size int
	table        *aztables.Client
	tried        int
	acked        map[int]bool
}

func (l *rowLoad) partition() string { return fmt.Sprintf("rows%dx%d", l.worker, l.size) }

func (l *rowLoad) prepare(t *testing.T, a azuretest.Account) error {
	if l.acked == nil {
		l.acked = map[int]bool{}
	}
	l.table = a.Tables(t).NewClient(fmt.Sprint("rows", l.worker%2))
	return ignore(done(l.table.CreateTable(t.Context(), nil)), "TableAlreadyExists")
}

func (l *rowLoad) step(ctx context.Context) error {
	l.tried++
	if err := l.write(ctx); err != nil {
		return err
	}
	l.acked[l.tried] = true
	return nil
}

func (l *rowLoad) write(ctx context.Context) error {
	if l.size == 1 {
		return done(l.table.AddEntity(ctx, row(l.partition(), fmt.Sprintf("%08d", l.tried), l.tried), nil))
	}
	actions := []aztables.TransactionAction{{ActionType: aztables.TransactionTypeInsertReplace,
		Entity: row(l.partition(), "counter", l.tried)}}
	for i := range l.size {
		actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd,
			Entity: row(l.partition(), fmt.Sprintf("%08d-%02d", l.tried, i), l.tried)})
	}
	return done(l.table.SubmitTransaction(ctx, actions, nil))
}

func (l *rowLoad) verify(ctx context.Context) error {
	found, err := rows(ctx, l.table, l.partition())
	if err != nil {
		return err
	}
	counter, last, count := found["counter"], 0, map[int]int{}
	delete(found, "counter")
	for _, version := range found {
		count[version]++
		last = max(last, version)
	}
	for n := 1; n <= l.tried; n++ {
		if c := count[n]; c != l.size && (c != 0 || l.acked[n]) {
			return fmt.Errorf("write %d to %s has %d of %d rows (acknowledged: %v)", n, l.partition(), c, l.size, l.acked[n])
		}
	}
	if l.size > 1 && counter != last {
		return fmt.Errorf("the counter of %s is %d, its last transaction is %d", l.partition(), counter, last)
	}
	return nil
}
