package table

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"
)

// TestASASWritesABoundedPaceToEachPartition: beyond it, the client is told to wait for the next second. The account
// key is not bounded.
func TestASASWritesABoundedPaceToEachPartition(t *testing.T) {
	s := open(t)
	now := time.Unix(1_800_000_000, 0)
	insert := func(g *auth.Grant, partition string, from, n, bytes int) error {
		var ops []*operation
		for i := range n {
			ops = append(ops, &operation{table: "rows", partition: partition, row: fmt.Sprint(from + i)})
		}
		_, _, err := s.apply(&wire.Request{Clock: func() time.Time { return now }, BodySize: bytes}, g, ops)
		return err
	}
	owner, device := &auth.Grant{Owner: true}, byToken(t, s, now)
	for i := range maxPace / 100 {
		must.Succeed(t, insert(device, "d1", 100*i, 100, 100))
	}
	if err := insert(device, "d1", maxPace, 1, 1); !errors.Is(err, wire.ErrBusy) {
		t.Errorf("an entity beyond the pace: %v", err)
	}
	if err := errors.Join(insert(device, "d2", 0, 1, maxBody), insert(owner, "d1", maxPace, 100, 100)); err != nil {
		t.Errorf("another partition, or the account key: %v", err)
	}
	if err := insert(device, "d2", 1, 1, 1); !errors.Is(err, wire.ErrBusy) {
		t.Errorf("a byte beyond the pace: %v", err)
	}
	now = now.Add(time.Second)
	if err := errors.Join(insert(device, "d1", 2*maxPace, 1, 1),
		insert(device, "d1", 2*maxPace+1, 1, maxPaceBytes-1)); err != nil {
		t.Errorf("in the next second: %v", err)
	}
	if err := insert(device, "d1", 2*maxPace+2, 1, 1); !errors.Is(err, wire.ErrBusy) {
		t.Errorf("a byte beyond the pace of two requests: %v", err)
	}
}

// byToken is what a SAS for all of the table "rows" grants.
func byToken(t *testing.T, s *Service, now time.Time) *auth.Grant {
	t.Helper()
	r := &wire.Request{Request: httptest.NewRequest("POST", "/furrow/rows", nil), Service: wire.Table, Now: now,
		Query: wiretest.SAS(wire.Table, "rows", "tn", "rows", "sp", "a", "se", wiretest.Expiry)}
	g := must.Have(s.auth.Authorize(r, auth.Resource{Name: "rows"}))(t)
	return g
}
