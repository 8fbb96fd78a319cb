package commit

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
)

// counted counts requests, and the rows that they ask for at most.
type counted struct{ requests, rows int }

func (c *counted) Do(r *http.Request) (*http.Response, error) {
	c.requests++
	if top, err := strconv.Atoi(r.URL.Query().Get("$top")); err == nil {
		c.rows += top
	}
	return http.DefaultClient.Do(r)
}

// TestConflictReadsTheKeysConcerned: of a partition with the minutes of many devices, in which the keys of a
// transaction lie far apart.
func TestConflictReadsTheKeysConcerned(t *testing.T) {
	const devices, minutes = 20, 200
	in := azuretest.Local(t)
	account := must.Have(tables.ParseAccount(in.ConnectionString()))(t)
	through := &counted{}
	client := must.Have(tables.Connect(tables.Config{Account: account, Transport: through}))(t)
	table := client.Table("minutes")
	must.Succeed(t, table.Create(t.Context()))
	var ops []tables.Op
	var keys []string
	for d := range devices {
		for n := range minutes {
			e := tables.Entity{PartitionKey: "p", RowKey: fmt.Sprintf("d%02d!%04d", d, n)}
			ops = append(ops, tables.Insert(e))
		}
		// one that is there, one that is not
		keys = append(keys, fmt.Sprintf("d%02d!%04d", d, minutes-1), fmt.Sprintf("d%02d!%04d", d, minutes))
	}
	groups := must.Have(tables.Cut(ops))(t)
	for _, g := range groups {
		must.Have(table.Submit(t.Context(), g))(t)
	}
	*through = counted{}
	found, err := find(t.Context(), table, "p", keys)
	if err != nil || len(found) != devices {
		t.Fatalf("%d rows are found, %v", len(found), err)
	}
	if through.requests > devices+1 || through.rows > devices*(2*devices+8) {
		t.Errorf("%d requests for up to %d rows, of %d keys among %d rows", through.requests, through.rows, len(keys),
			len(ops))
	}
	t.Logf("%d requests for up to %d rows", through.requests, through.rows)
}
