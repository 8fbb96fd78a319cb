package azuretest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// Creating an existing table answers 409 TableAlreadyExists. A program that creates
// its tables at every start must compare the code, because TableBeingDeleted is 409 too.
func (tables) CreateTwiceIsRefused(t *testing.T, a Account) {
	c := a.NewTable(t)
	expect(t, a, "second create", outcome(c.CreateTable(t.Context(), nil)), "409 TableAlreadyExists")
}

// Table names are compared without case, and keep the case in which they were created.
func (tables) TableNamesIgnoreCase(t *testing.T, a Account) {
	name := Name("CamelCase")
	a.MakeTable(t, name)
	lower := a.Tables(t).NewClient(strings.ToLower(name))
	expect(t, a, "create in lower case", outcome(lower.CreateTable(t.Context(), nil)), "409 TableAlreadyExists")
	expect(t, a, "insert by the lower-case name", tryInsert(t, lower, "p", "r", nil), "ok",
		differs(Azurite, "404 TableNotFound", "finds a table by its exact name only"))
}

// Names have 3 to 63 letters and digits, a letter first.
func (tables) BadTableNamesAreRefused(t *testing.T, a Account) {
	for _, name := range []string{"ab", "1abc", "with-dash", "with_line", strings.Repeat("a", 64)} {
		expect(t, a, "create "+name, refusal(a.Tables(t).CreateTable(t.Context(), name, nil)), 400)
	}
}

// Deleting a table that does not exist answers 404 ResourceNotFound.
func (tables) DeleteOfMissingTableIsRefused(t *testing.T, a Account) {
	expect(t, a, "delete", outcome(a.Tables(t).DeleteTable(t.Context(), Name("t"), nil)), "404 ResourceNotFound")
}

// Operations on a missing table answer TableNotFound, unlike those on a missing entity.
func (tables) MissingTableSaysSo(t *testing.T, a Account) {
	c := a.Tables(t).NewClient(Name("t"))
	expect(t, a, "insert", tryInsert(t, c, "p", "r", nil), "404 TableNotFound")
	expect(t, a, "query", outcome(query(t, c, nil)), "404 TableNotFound")
	expect(t, a, "upsert", outcome(c.UpsertEntity(t.Context(), row(t, "p", "r", nil), nil)), "404 TableNotFound")
	expect(t, a, "transaction", answer(submit(t, c, add(row(t, "p", "r", nil)))), "404 TableNotFound")
}

// A table that is created again is empty. (Azure reserves the name for half a minute or
// more, so the test skips real accounts.)
func (tables) RecreatedTableIsEmpty(t *testing.T, a Account) {
	if a.Kind == Azure {
		t.Skip("Azure reserves the name of a deleted table for a while")
	}
	c := a.NewTable(t)
	insert(t, c, "p", "r", nil)
	must(t, errOf(c.Delete(t.Context(), nil)))
	must(t, errOf(c.CreateTable(t.Context(), nil)))
	expect(t, a, "rows", keys(t, c, "RowKey ge ''"), "")
}

// Tables are listed by name, page by page, and can be filtered by a range of names.
func (tables) TablesAreListedByName(t *testing.T, a Account) {
	prefix := Name("list")
	s := a.Tables(t)
	for _, end := range []string{"b", "c", "a"} {
		must(t, errOf(s.CreateTable(t.Context(), prefix+end, nil)))
		cleanup(t, func(ctx context.Context) error { return errOf(s.DeleteTable(ctx, prefix+end, nil)) })
	}
	var names []string
	pages := 0
	o := &aztables.ListTablesOptions{
		Filter: to.Ptr("TableName ge " + quoted(prefix) + " and TableName lt " + quoted(prefix+"z")),
		Top:    to.Ptr[int32](2),
	}
	for page := range pagesOf(t, s.NewListTablesPager(o)) {
		pages++
		for _, table := range page.Tables {
			names = append(names, strings.TrimPrefix(*table.Name, prefix))
		}
	}
	expect(t, a, "names in order", slices.IsSorted(names), true)
	slices.Sort(names)
	expect(t, a, "names", strings.Join(names, " "), "a b c")
	expect(t, a, "pages of two", pages, 2)
}
