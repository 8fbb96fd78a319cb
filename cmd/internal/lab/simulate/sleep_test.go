package simulate

import (
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"furrow/sas/device"
	"furrow/tables/azuretest/effort"
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

// TestASleepingDeviceKeepsLessThanAKilobyte, with all that the simulation knows of it: a million of them fit a machine.
func TestASleepingDeviceKeepsLessThanAKilobyte(t *testing.T) {
	effort.Alone(t)
	y := newFixture(t, "contoso", "fabrikam")
	f := Fleet{Seed: 3, Devices: 500, Every: time.Hour, Until: time.Now()}
	c := y.config(f.Members())
	must.Succeed(t, Register(t.Context(), y.registry, y.enrollment, c.Members, nil))
	c.Resume = func(m Member, from time.Time) Stream { return f.Sendings(m, from, time.Time{}) }
	c.Sendings = func(m Member) Stream { return c.Resume(m, f.Until.Add(-59*time.Minute)) }
	r := newRunner(c)
	r.living = t.Context()
	asleep := 0
	for i := range r.lives {
		for l := &r.lives[i]; l.client != nil || l.stream == nil && l.resume.IsZero(); {
			must.Succeed(t, func() error { _, _, err := r.turn(t.Context(), l); return err }())
			r.boots.end(l, r.booted(l), time.Now())
		}
		if r.lives[i].session != nil {
			asleep++
		}
	}
	used := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	with := used()
	for i := range r.lives {
		r.lives[i].session = nil
	}
	session := (with - used()) / int64(asleep)
	const id = 32 // bytes of its text
	own := id + int64(unsafe.Sizeof(life{})+unsafe.Sizeof(event{})+unsafe.Sizeof(Member{})+
		unsafe.Sizeof(schema.Position{}))
	t.Logf("%d sleep: %d bytes of a session, and %d besides", asleep, session, own)
	if asleep < 400 || session+own > 1024 {
		t.Errorf("%d of 500 devices sleep, and each has %d bytes of a session and %d besides", asleep, session, own)
	}
	runtime.KeepAlive(c.Members)
}
