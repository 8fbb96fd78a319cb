package azuretest

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func upsert(t *testing.T, c *aztables.Client, mode aztables.UpdateMode, b []byte) azcore.ETag {
	t.Helper()
	resp := value(c.UpsertEntity(t.Context(), b, &aztables.UpsertEntityOptions{UpdateMode: mode}))(t)
	return resp.ETag
}

func update(t *testing.T, c *aztables.Client, mode aztables.UpdateMode, etag azcore.ETag,
	b []byte) (azcore.ETag, error) {
	t.Helper()
	resp, err := c.UpdateEntity(t.Context(), b, &aztables.UpdateEntityOptions{IfMatch: &etag, UpdateMode: mode})
	return resp.ETag, err
}

// Insert-or-replace creates the row, or replaces all of it.
func (tables) UpsertReplaceForgetsTheOldRow(t *testing.T, a Account) {
	c := a.NewTable(t)
	upsert(t, c, aztables.UpdateModeReplace, row(t, "p", "r", props{"A": "1", "B": "1"}))
	etag := upsert(t, c, aztables.UpdateModeReplace, row(t, "p", "r", props{"A": "2"}))
	p, got := stored(t, c, "p", "r")
	expect(t, a, "properties", fmt.Sprint(p), "map[A:2]")
	expect(t, a, "etag", etag, got)
}

// Insert-or-merge creates the row, or adds to it.
func (tables) UpsertMergeKeepsOtherProperties(t *testing.T, a Account) {
	c := a.NewTable(t)
	upsert(t, c, aztables.UpdateModeMerge, row(t, "p", "r", props{"A": "1", "B": "1"}))
	upsert(t, c, aztables.UpdateModeMerge, row(t, "p", "r", props{"A": "2", "C": "2"}))
	p, _ := stored(t, c, "p", "r")
	expect(t, a, "properties", fmt.Sprint(p), "map[A:2 B:1 C:2]")
}

// Update and merge have If-Match (the SDK sends * by default) and never create a row.
func (tables) UpdateNeedsTheEntity(t *testing.T, a Account) {
	c := a.NewTable(t)
	for _, mode := range []aztables.UpdateMode{aztables.UpdateModeReplace, aztables.UpdateModeMerge} {
		for _, etag := range []azcore.ETag{azcore.ETagAny, staleETag} {
			expect(t, a, fmt.Sprintf("%s with If-Match %s", mode, etag),
				outcome(update(t, c, mode, etag, row(t, "p", "r", nil))), "404 ResourceNotFound")
		}
	}
}

// A stale ETag is 412 and UpdateConditionNotSatisfied, and changes nothing.
func (tables) UpdateOnStaleETagIsRefused(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", props{"V": "first"})
	for _, mode := range []aztables.UpdateMode{aztables.UpdateModeReplace, aztables.UpdateModeMerge} {
		expect(t, a, string(mode), outcome(update(t, c, mode, staleETag, row(t, "p", "r", props{"V": "second"}))),
			"412 UpdateConditionNotSatisfied")
	}
	p, _ := stored(t, c, "p", "r")
	expect(t, a, "value", p["V"], any("first"))
}

// An update returns the ETag for the next one, so no read is necessary between them.
func (tables) UpdateReturnsTheNextETag(t *testing.T, a Account) {
	c := a.NewTable(t)
	etag := insert(t, c, "p", "r", props{"N": 0})
	for n := range 4 {
		mode := aztables.UpdateModeReplace
		if n%2 == 0 {
			mode = aztables.UpdateModeMerge
		}
		next := value(update(t, c, mode, etag, row(t, "p", "r", props{"N": n + 1})))(t)
		etag = next
	}
	p, got := stored(t, c, "p", "r")
	expect(t, a, "count", p["N"], any(int32(4)))
	expect(t, a, "etag", etag, got)
}

// A null in a merge is ignored: it neither removes nor changes the property.
func (tables) NullInMergeChangesNothing(t *testing.T, a Account) {
	c := a.NewTable(t)
	etag := insert(t, c, "p", "r", props{"A": "1", "B": "1"})
	must(t, errOf(update(t, c, aztables.UpdateModeMerge, etag, row(t, "p", "r", props{"A": nil, "B": "2"}))))
	p, _ := stored(t, c, "p", "r")
	expect(t, a, "properties", fmt.Sprint(p), "map[A:1 B:2]")
}

// One of many concurrent updates on one ETag succeeds, and the others are 412.
func (tables) OneOfManyUpdatesSucceeds(t *testing.T, a Account) {
	c := a.NewTable(t)
	etag, entity := insert(t, c, "p", "r", nil), row(t, "p", "r", props{"V": "x"})
	expect(t, a, "answers", concurrently(func(int) string {
		return outcome(c.UpdateEntity(t.Context(), entity,
			&aztables.UpdateEntityOptions{IfMatch: &etag, UpdateMode: aztables.UpdateModeReplace}))
	}), "map[412 UpdateConditionNotSatisfied:7 ok:1]")
}

// An entity can be written back as it was read. Its odata properties and its Timestamp
// are not stored as properties.
func (tables) ReadEntityCanBeWrittenBack(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", everyType())
	full := aztables.MetadataFormatFull
	for _, format := range []*aztables.MetadataFormat{nil, &full} {
		resp := value(c.GetEntity(t.Context(), "p", "r", &aztables.GetEntityOptions{Format: format}))(t)
		must(t, errOf(update(t, c, aztables.UpdateModeReplace, resp.ETag, resp.Value)))
		p, _ := stored(t, c, "p", "r")
		sameProps(t, "written back", p, everyType())
	}
}

// A client that asks not to overwrite a row does not find it overwritten: If-None-Match is for no update, merge or
// delete, and a method in X-HTTP-Method for POST alone.
func (tables) HeadersThatWouldBeIgnoredAreRefused(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", props{"V": "first"})
	with := func(name, value string) context.Context {
		return policy.WithHTTPHeader(t.Context(), http.Header{name: {value}})
	}
	replaced := row(t, "p", "r", props{"V": "second"})
	o := &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeReplace}
	const ignored = "ignores it"
	for what, err := range map[string]error{
		"upsert with If-None-Match": errOf(c.UpsertEntity(with("If-None-Match", "*"), replaced, nil)),
		"update with both":          errOf(c.UpdateEntity(with("If-None-Match", "*"), replaced, o)),
		"delete with both":          errOf(c.DeleteEntity(with("If-None-Match", string(staleETag)), "p", "r", nil)),
	} {
		expect(t, a, what, answer(err), "400 InvalidInput", differs(Azurite, "ok", ignored))
	}
	err := errOf(c.UpsertEntity(with("X-HTTP-Method", "MERGE"), replaced, nil))
	expect(t, a, "X-HTTP-Method with PATCH", answer(err), "400 XMethodNotUsingPost", differs(Azurite, "ok", ignored))
	err = errOf(c.AddEntity(with("X-HTTP-Method", "READ"), replaced, nil))
	expect(t, a, "an unknown X-HTTP-Method", answer(err), "400 XMethodIncorrectValue",
		differs(Azurite, "409 EntityAlreadyExists", ignored))
}
