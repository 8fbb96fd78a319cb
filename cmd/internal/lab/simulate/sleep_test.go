package simulate

import (
	"slices"
	"testing"
	"time"

	"furrow/sas/device"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestASleepingDeviceGoesOnAsOneThatIsAwake: it has no client and no stream between two readings that are an hour
// apart, and then uses its token, and numbers its readings on.
func TestASleepingDeviceGoesOnAsOneThatIsAwake(t *testing.T) {
	t.Parallel()
	y := newFixture(t, "contoso")
	members := Fleet{Seed: 1, Devices: 1, Tenants: 1}.Members()
	must.Succeed(t, Register(t.Context(), y.registry, y.enrollment, members, nil))
	c := y.config(members)
	began := time.Now()
	asked := []time.Time{}
	c.Resume = func(_ Member, from time.Time) Stream {
		asked = append(asked, from)
		return func(yield func(Sending) bool) {
			for at := from; ; at = at.Add(time.Hour) {
				due := began
				if at != from { // whatever it resumes with is due, and the next one is not
					due = began.Add(time.Hour)
				}
				if !yield(Sending{due, device.Reading{Time: at, Values: map[string]any{"bar": 1.5}}}) {
					return
				}
			}
		}
	}
	first := began.Add(-12 * time.Hour).Round(0)
	c.Sendings = func(m Member) Stream { return c.Resume(m, first) }
	r := newRunner(c)
	r.living, r.began = t.Context(), began.Add(-time.Minute)
	l := &r.lives[0]
	const wakes = 3
	for n := range int64(wakes) {
		for l.client != nil || r.summary().Stored == n {
			if _, more, err := r.turn(t.Context(), l); !more || err != nil {
				t.Fatal(more, err)
			}
		}
		if l.session == nil || l.stream != nil {
			t.Error("it keeps its stream, and no session")
		}
	}
	must.Succeed(t, r.endAll())
	if s := r.summary(); s.Stored != wakes || s.Tokens != 1 || s.Booted != 1 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
	for i, e := range y.rows() {
		key := must.Have(schema.ParseRowKey(e.RowKey))(t)
		if number, is := key.Number(); !is || number.N != uint64(i+1) {
			t.Errorf("row %d has the number %+v", i, number)
		}
	}
	want := []time.Time{first, first.Add(time.Hour), first.Add(2 * time.Hour)}
	if !slices.EqualFunc(asked, want, time.Time.Equal) {
		t.Errorf("resumed with %v, want %v", asked, want)
	}
}
