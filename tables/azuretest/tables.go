package azuretest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func tables(t *testing.T, a Account) {
	check(t, a,
		createTwiceIsRefused,
		tableNamesIgnoreCase,
		badTableNamesAreRefused,
		deleteOfMissingTableIsRefused,
		missingTableSaysSo,
		recreatedTableIsEmpty,
		tablesAreListedByName,
	)
	entities(t, a)
	updates(t, a)
	types(t, a)
	queries(t, a)
	filters(t, a)
	randomFilters(t, a)
	pages(t, a)
	transactions(t, a)
	limits(t, a)
	policies(t, a)
	tableSAS(t, a)
	signing(t, a)
	tableProtocol(t, a)
}

// Creating a table that is there is 409, so a program that makes its tables at
// every start matches the code, TableAlreadyExists, and not the status:
// TableBeingDeleted is 409 too.
func createTwiceIsRefused(t *testing.T, a Account) {
	c := a.NewTable(t)
	_, err := c.CreateTable(t.Context(), nil)
	expect(t, a, "second create", answer(err), "409 TableAlreadyExists")
}

// Table names ignore case, and keep the case they were created with.
func tableNamesIgnoreCase(t *testing.T, a Account) {
	name := Name("CamelCase")
	c := a.Tables(t).NewClient(name)
	_, err := c.CreateTable(t.Context(), nil)
	must(t, err)
	cleanup(t, func(ctx context.Context) error { _, err := c.Delete(ctx, nil); return err })

	lower := a.Tables(t).NewClient(strings.ToLower(name))
	_, err = lower.CreateTable(t.Context(), nil)
	expect(t, a, "create in lower case", answer(err), "409 TableAlreadyExists")
	_, err = lower.AddEntity(t.Context(), row(t, "p", "r", nil), nil)
	expect(t, a, "insert by the lower-case name", answer(err), "ok",
		differs(Azurite, "404 TableNotFound", "finds a table by its exact name only"))
}

// Names are 3 to 63 letters and digits, a letter first.
func badTableNamesAreRefused(t *testing.T, a Account) {
	for _, name := range []string{"ab", "1abc", "with-dash", "with_line", strings.Repeat("a", 64)} {
		_, err := a.Tables(t).CreateTable(t.Context(), name, nil)
		expect(t, a, "create "+name, status(err), 400)
	}
}

// Deleting a table that is not there is 404 and ResourceNotFound.
func deleteOfMissingTableIsRefused(t *testing.T, a Account) {
	_, err := a.Tables(t).DeleteTable(t.Context(), Name("t"), nil)
	expect(t, a, "delete", answer(err), "404 ResourceNotFound")
}

// What is asked of a missing table answers TableNotFound, by which it can be
// told from a missing entity.
func missingTableSaysSo(t *testing.T, a Account) {
	c := a.Tables(t).NewClient(Name("t"))
	_, err := c.AddEntity(t.Context(), row(t, "p", "r", nil), nil)
	expect(t, a, "insert", answer(err), "404 TableNotFound")
	_, err = query(t, c, nil)
	expect(t, a, "query", answer(err), "404 TableNotFound")
	_, err = c.UpsertEntity(t.Context(), row(t, "p", "r", nil), nil)
	expect(t, a, "upsert", answer(err), "404 TableNotFound")
	_, err = c.SubmitTransaction(t.Context(), []aztables.TransactionAction{add(row(t, "p", "r", nil))}, nil)
	expect(t, a, "transaction", answer(err), "404 TableNotFound")
}

// A deleted table's rows do not come back with its name. (Azure keeps the name
// for half a minute or more, so this waits for no real account.)
func recreatedTableIsEmpty(t *testing.T, a Account) {
	if a.Kind == Azure {
		t.Skip("Azure keeps the name of a deleted table for a while")
	}
	c := a.NewTable(t)
	insert(t, c, "p", "r", nil)
	_, err := c.Delete(t.Context(), nil)
	must(t, err)
	_, err = c.CreateTable(t.Context(), nil)
	must(t, err)
	expect(t, a, "rows", keys(t, c, "RowKey ge ''"), "")
}

// Tables are listed in the order of their names, can be filtered by a range of
// names, and are paged with a token.
func tablesAreListedByName(t *testing.T, a Account) {
	prefix := Name("list")
	s := a.Tables(t)
	for _, end := range []string{"b", "c", "a"} {
		_, err := s.CreateTable(t.Context(), prefix+end, nil)
		must(t, err)
		cleanup(t, func(ctx context.Context) error { _, err := s.DeleteTable(ctx, prefix+end, nil); return err })
	}
	var names []string
	pages := 0
	o := &aztables.ListTablesOptions{
		Filter: to.Ptr("TableName ge " + quoted(prefix) + " and TableName lt " + quoted(prefix+"z")),
		Top:    to.Ptr[int32](2),
	}
	for p := s.NewListTablesPager(o); p.More(); pages++ {
		page, err := p.NextPage(t.Context())
		must(t, err)
		for _, table := range page.Tables {
			names = append(names, strings.TrimPrefix(*table.Name, prefix))
		}
	}
	expect(t, a, "names in order", slices.IsSorted(names), true)
	slices.Sort(names)
	expect(t, a, "names", strings.Join(names, " "), "a b c")
	expect(t, a, "pages of two", pages, 2)
}
