package query

import (
	"cmp"
	"context"
	"fmt"
	"sort"
	"strings"

	"furrow/tables/schema"
)

// An UnknownError means that no device has an ID, or an ID with a prefix.
type UnknownError struct {
	ID     string
	Near   []schema.DeviceID // a few that share the longest prefix with it
	Prefix bool              // the IDs in Near begin with ID
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("no device %q", e.ID)
	if len(e.Near) == 0 {
		return text + ": the fleet has no devices"
	}
	var ids []string
	for _, id := range e.Near {
		ids = append(ids, string(id))
	}
	list := strings.Join(ids, ", ")
	if e.Prefix {
		return text + "; these IDs begin with it (--prefix selects all of them): " + list
	}
	return text + "; similar IDs: " + list
}

// fewNear is the number of IDs that are suggested.
const fewNear = 5

// unknown returns an UnknownError. It looks for the ID in other cases, too.
func (f Devices) unknown(ctx context.Context, id string) error {
	unknown, longest := &UnknownError{ID: id}, 0
	for _, form := range []string{id, strings.ToUpper(id), strings.ToLower(id)} {
		length, near, err := f.longestKnown(ctx, form)
		if err != nil {
			return err
		}
		if length > longest {
			longest, unknown.Near, unknown.Prefix = length, near, form == id && length == len(id)
		}
	}
	if longest > 0 {
		return unknown
	}
	var err error
	if unknown.Near, err = f.some(ctx, ""); err != nil {
		return err
	}
	return unknown
}

// longestKnown returns the length of the longest prefix of an ID that others have, and some of these. It is found by
// binary search.
func (f Devices) longestKnown(ctx context.Context, id string) (length int, near []schema.DeviceID, err error) {
	length = sort.Search(len(id), func(n int) bool {
		found, failed := f.some(ctx, id[:n+1])
		if failed != nil || len(found) == 0 {
			err = cmp.Or(err, failed)
			return true
		}
		near = found
		return false
	})
	return length, near, err
}

// some returns the first few IDs with a prefix.
func (f Devices) some(ctx context.Context, prefix string) (ids []schema.DeviceID, err error) {
	keys, err := schema.IDsWithPrefix(prefix)
	if err != nil {
		return nil, err
	}
	if prefix == "" {
		keys.From = "-" // before all IDs
	}
	id := func(d schema.Device) schema.DeviceID { return d.ID }
	return Collect(Mapped(f.Records(ctx, keys, fewNear), id), &Skipped{})
}
