package query

import (
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

// unknown returns an UnknownError. It finds the longest known prefix by binary search.
func (f Devices) unknown(ctx context.Context, id string) error {
	unknown := &UnknownError{ID: id}
	var failed error
	lengths := sort.Search(len(id), func(n int) bool {
		near, err := f.some(ctx, id[:n+1])
		if failed = err; err != nil || len(near) == 0 {
			return true
		}
		unknown.Near = near
		return false
	})
	if failed == nil && lengths == 0 {
		unknown.Near, failed = f.some(ctx, "")
	}
	if failed != nil {
		return failed
	}
	unknown.Prefix = lengths == len(id)
	return unknown
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
	for d, err := range Readable(f.Records(ctx, keys, fewNear), &Skipped{}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, d.ID)
	}
	return ids, nil
}
