package azuretest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func upsert(t *testing.T, c *aztables.Client, mode aztables.UpdateMode, b []byte) azcore.ETag {
	t.Helper()
	resp, err := c.UpsertEntity(t.Context(), b, &aztables.UpsertEntityOptions{UpdateMode: mode})
	must(t, err)
	return resp.ETag
}

func update(t *testing.T, c *aztables.Client, mode aztables.UpdateMode, etag azcore.ETag, b []byte) (azcore.ETag,
	error) {
	t.Helper()
	resp, err := c.UpdateEntity(t.Context(), b, &aztables.UpdateEntityOptions{IfMatch: &etag, UpdateMode: mode})
	return resp.ETag, err
}

// Insert-or-replace makes the row or replaces all of it.
func (tables) UpsertReplaceForgetsTheOldRow(t *testing.T, a Account) {
	c := a.NewTable(t)
	upsert(t, c, aztables.UpdateModeReplace, row(t, "p", "r", props{"A": "1", "B": "1"}))
	etag := upsert(t, c, aztables.UpdateModeReplace, row(t, "p", "r", props{"A": "2"}))
	p, got := stored(t, c, "p", "r")
	expect(t, a, "properties", fmt.Sprint(p), "map[A:2]")
	expect(t, a, "etag", etag, got)
}

// Insert-or-merge makes the row or adds to it.
func (tables) UpsertMergeKeepsWhatIsNotNamed(t *testing.T, a Account) {
	c := a.NewTable(t)
	upsert(t, c, aztables.UpdateModeMerge, row(t, "p", "r", props{"A": "1", "B": "1"}))
	upsert(t, c, aztables.UpdateModeMerge, row(t, "p", "r", props{"A": "2", "C": "2"}))
	p, _ := stored(t, c, "p", "r")
	expect(t, a, "properties", fmt.Sprint(p), "map[A:2 B:1 C:2]")
}

// Update and merge, which carry If-Match (the SDK sends * for none), never make a row.
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

// An update answers the ETag on which the next one can be made, without a read between.
func (tables) UpdateAnswersTheNextETag(t *testing.T, a Account) {
	c := a.NewTable(t)
	etag := insert(t, c, "p", "r", props{"N": 0})
	for n := range 4 {
		mode := aztables.UpdateModeReplace
		if n%2 == 0 {
			mode = aztables.UpdateModeMerge
		}
		next, err := update(t, c, mode, etag, row(t, "p", "r", props{"N": n + 1}))
		must(t, err)
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

// Of many swaps on one ETag exactly one succeeds, and the others are 412.
func (tables) OneOfManySwapsWins(t *testing.T, a Account) {
	c := a.NewTable(t)
	etag := insert(t, c, "p", "r", nil)
	answers := make([]string, 8)
	var all sync.WaitGroup
	for i := range answers {
		entity := row(t, "p", "r", props{"Winner": i})
		all.Go(func() {
			answers[i] = outcome(c.UpdateEntity(t.Context(), entity,
				&aztables.UpdateEntityOptions{IfMatch: to.Ptr(etag), UpdateMode: aztables.UpdateModeReplace}))
		})
	}
	all.Wait()
	count := map[string]int{}
	for _, s := range answers {
		count[s]++
	}
	expect(t, a, "answers", fmt.Sprint(count), "map[412 UpdateConditionNotSatisfied:7 ok:1]")
}

// An entity may be sent back as it came, with its odata properties and its
// Timestamp: they are not stored as properties of its own.
func (tables) WhatWasReadCanBeWritten(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", everyType())
	full := aztables.MetadataFormatFull
	for _, format := range []*aztables.MetadataFormat{nil, &full} {
		resp, err := c.GetEntity(t.Context(), "p", "r", &aztables.GetEntityOptions{Format: format})
		must(t, err)
		must(t, errOf(update(t, c, aztables.UpdateModeReplace, resp.ETag, resp.Value)))
		p, _ := stored(t, c, "p", "r")
		sameProps(t, "written back", p, everyType())
	}
}
