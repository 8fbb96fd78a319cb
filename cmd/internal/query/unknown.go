package query

import (
	"context"
	"fmt"
	"furrow/tables/schema"
	"sort"
	"strings"
)

// An UnknownError says that no device has an id, or begins with it.
type UnknownError struct {
	ID     string
	Near   []schema.DeviceID // a few that share the longest beginning with it
	Prefix bool              // those near begin with the whole of it
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("there is no device %q", e.ID)
	if len(e.Near) == 0 {
		return text + "; the fleet has none at all"
	}
	var ids []string
	for _, id := range e.Near {
		ids = append(ids, string(id))
	}
	list := strings.Join(ids, ", ")
	if e.Prefix {
		return text + "; there are ids that begin with it (--prefix asks for all of them): " + list
	}
	return text + "; near it are: " + list
}

// fewNear is how many ids are named that the user may have meant.
const fewNear = 5

// unknown looks for what is near an id: the ids with the longest prefix of it
// that any id has, found by halving.
func (s Source) unknown(ctx context.Context, id string) error {
	unknown := &UnknownError{ID: id}
	var failed error
	lengths := sort.Search(len(id), func(n int) bool {
		near, err := s.some(ctx, id[:n+1])
		if failed = err; err != nil || len(near) == 0 {
			return true
		}
		unknown.Near = near
		return false
	})
	if failed == nil && lengths == 0 {
		unknown.Near, failed = s.some(ctx, "")
	}
	if failed != nil {
		return failed
	}
	unknown.Prefix = lengths == len(id)
	return unknown
}

// some are the first few ids with a prefix.
func (s Source) some(ctx context.Context, prefix string) (ids []schema.DeviceID, err error) {
	keys, err := schema.IDsWithPrefix(prefix)
	if err != nil {
		return nil, err
	}
	if prefix == "" {
		keys.From = "-" // before all other ids
	}
	for m, err := range s.members(ctx, keys, fewNear) {
		if err != nil {
			return nil, err
		}
		if ids = append(ids, m.Device); len(ids) == fewNear {
			break
		}
	}
	return ids, nil
}
