package schema_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// The number of generations and the size of their texts do not matter.
func TestNewestConfigurationIsFoundWithOneRequest(t *testing.T) {
	storage := azuretest.Local(t)
	var counts tables.Counter
	client := must.Have(tables.Connect(tables.Config{Account: tables.Account{Name: storage.Name, Key: storage.Key,
		Table: storage.TableURL}, OnOperation: counts.Count}))(t)
	table := client.Table(schema.Names{}.Config())
	must.Succeed(t, table.Create(t.Context()))
	all := []schema.Configuration{
		{Generation: 1, Text: "", ID: "a", By: "ann", Change: "the first one"},
		{Generation: 2, Text: strings.Repeat("ä", 40<<10), ID: "b", By: "bob"},
		{Generation: 10, Text: strings.Repeat("#\n", schema.MaxConfiguration/2), ID: "c", By: "cy",
			Change: strings.Repeat("é", 2000)},
	}
	for _, c := range all {
		e := must.Have(c.Entity())(t)
		if _, err := table.Do(t.Context(), tables.Insert(e)); err != nil {
			t.Fatalf("generation %d: %v", c.Generation, err)
		}
		if _, err := table.Do(t.Context(), tables.Insert(e)); !errors.Is(err, tables.ErrExists) {
			t.Errorf("inserted again: %v", err)
		}
	}
	for after, want := range map[int64]int64{0: 10, 1: 10, 9: 10, 10: 0, 11: 0} {
		before := counts.Counts()[tables.KindQuery]
		got := int64(0)
		for page, err := range table.Rows(t.Context(), tables.Query{Range: schema.ConfigurationsAfter(after), Size: 1}) {
			must.Succeed(t, err)
			for _, e := range page.Rows {
				c := must.Have(schema.ConfigurationOf(e))(t)
				i := slices.IndexFunc(all, func(o schema.Configuration) bool { return o.Generation == c.Generation })
				if got = c.Generation; c.Text != all[i].Text || c.ID != all[i].ID || c.By != all[i].By || c.Stored == 0 {
					t.Errorf("generation %d is not what was stored", c.Generation)
				}
			}
			break
		}
		if n := counts.Counts()[tables.KindQuery] - before; got != want || n != 1 {
			t.Errorf("after %d: generation %d with %d queries, want %d with one", after, got, n, want)
		}
	}
}

func TestConfigurationThatWasTamperedWithIsRefused(t *testing.T) {
	for what, spoil := range map[string]func(*tables.Entity){
		"text":       func(e *tables.Entity) { e.Set("Text00", tables.Binary([]byte("other"))) },
		"generation": func(e *tables.Entity) { e.Set("Generation", tables.Int64(3)) },
		"key":        func(e *tables.Entity) { e.RowKey = "x" },
	} {
		e := must.Have(schema.Configuration{Generation: 2, Text: "one", ID: "a"}.Entity())(t)
		must.Have(schema.ConfigurationOf(e))(t)
		spoil(&e)
		if c, err := schema.ConfigurationOf(e); err == nil {
			t.Errorf("another %s is read as %+v", what, c)
		}
	}
	for _, c := range []schema.Configuration{{Generation: 0}, {Generation: -1}, {Generation: schema.MaxGeneration + 1},
		{Generation: 1, Text: strings.Repeat("x", schema.MaxConfiguration+1)}} {
		if _, err := c.Entity(); err == nil {
			t.Errorf("generation %d of %d bytes is written", c.Generation, len(c.Text))
		}
	}
}
