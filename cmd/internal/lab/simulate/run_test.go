package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/sas"
	"furrow/sas/device"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/commands"
	"furrow/tables/schema"
)

// told counts the readings that devices accepted, by device and time.
type told struct {
	mu       sync.Mutex
	accepted map[string]int
}

func (o *told) watch(c *Config) {
	o.accepted = map[string]int{}
	c.OnAccepted = func(m Member, r device.Reading) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.accepted[name(m.ID, tables.TicksOf(r.Time))]++
	}
}

// away is a service that is always busy.
type away struct{}

func (away) Fault(int) faults.Fault { return faults.ServerBusy }

func name(device schema.DeviceID, at tables.Ticks) string { return fmt.Sprint(device, " ", at) }

// check compares the table with what devices were told. As many readings as they reported may be missing.
func (o *told) check(t *testing.T, rows []tables.Entity, aside int64) {
	t.Helper()
	for _, e := range rows {
		ticks, _, _ := strings.Cut(e.RowKey, "-")
		key := e.PartitionKey + " " + ticks
		if o.accepted[key]--; o.accepted[key] < 0 {
			t.Fatalf("row %s is in the table too often", key)
		}
	}
	for _, n := range o.accepted {
		aside -= int64(n)
	}
	if aside != 0 {
		t.Fatalf("of the readings that were set aside, %d too many are in the table", aside)
	}
}

// TestAcknowledgedReadingsAreInTheTableOnce runs a dirty fleet through a network that loses, repeats and delays.
func TestAcknowledgedReadingsAreInTheTableOnce(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	y := newFixture(t, "contoso", "fabrikam")
	until := time.Now().UTC().Truncate(time.Second)
	f := Fleet{Seed: seed, Devices: 30, Months: 3, Until: until, Every: 12 * time.Minute, Dirt: Much()}
	f.Dirt.Clocks = 1 // every clock is wrong for a part of each half day, and the span contains a whole one
	members := f.Members()
	must.Succeed(t, Register(t.Context(), y.registry, y.enrollment, members, nil))
	c := y.config(members)
	lossy := &faults.Transport{Next: c.Transport, Plan: faults.Random{Seed: seed,
		Rates: map[faults.Fault]float64{faults.AnswerLost: 0.02, faults.Twice: 0.05, faults.Cut: 0.02}}}
	c.Transport, c.Wall = lossy, f.Wall
	c.Sendings = func(m Member) Stream { return f.Sendings(m, until.Add(-24*time.Hour), until) }
	var o told
	o.watch(&c)
	s := must.Have(Run(t.Context(), c))(t)
	rows := y.rows()
	t.Logf("%+v", s)
	if s.Waiting != 0 || s.Made != s.Accepted+s.Refused || s.Accepted != s.Stored+s.SetAside[device.OutsideWindow] ||
		int(s.Stored) != len(rows) || s.Booted != 30 {
		t.Errorf("%d rows of %+v", len(rows), s)
	}
	if s.Made < 30*120 || s.SetAside[device.OutsideWindow] == 0 {
		t.Errorf("too little dirt in %+v", s)
	}
	o.check(t, rows, s.SetAside[device.OutsideWindow])
}

func TestDevicesAreRegisteredWithTheirMonthAndPlace(t *testing.T) {
	t.Parallel()
	y := newFixture(t, "contoso", "fabrikam")
	f := Fleet{Seed: 4, Devices: 20, Months: 12, Until: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)}
	members := f.Members()
	done := map[sas.Outcome]int{}
	for range 2 { // it may be repeated
		must.Succeed(t, Register(t.Context(), y.registry, y.enrollment, members,
			func(_ schema.DeviceID, o sas.Outcome) { done[o]++ }))
	}
	if done[sas.Added] != 20 || done[sas.Same] != 20 {
		t.Errorf("%v done", done)
	}
	for _, m := range members {
		d := must.Have(y.registry.Get(t.Context(), m.ID))(t)
		if d.Tenant != m.Tenant || d.Site != m.Site || *d.Position != *m.Position || d.Labels["place"] == "" ||
			!strings.HasPrefix(fmt.Sprint(d.Month), m.Deployed.Format("2006-01")) {
			t.Errorf("%s is registered as %+v", m.ID, d)
		}
	}
	stranger := Member{ID: members[0].ID, Tenant: "fabrikam"}
	if err := Register(t.Context(), y.registry, y.enrollment, []Member{stranger}, nil); err == nil {
		t.Error("a device changes its tenant")
	}
}

func TestStoppedRunSendsWhatItAcceptedAndReportsTheRest(t *testing.T) {
	t.Parallel()
	y := newFixture(t, "contoso", "fabrikam")
	f := Fleet{Seed: 1, Devices: 10, Every: 100 * time.Millisecond}
	members := f.Members()
	c := y.config(members)
	from := time.Now()
	c.Sendings = func(m Member) Stream { return f.Sendings(m, from, time.Time{}) }
	var o told
	o.watch(&c)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c.Progress = func(s Summary) {
		if s.Made >= 50 {
			stop()
		}
	}
	s := must.Have(Run(ctx, c))(t)
	if s.Made < 50 || s.Waiting != 0 || s.Stored != s.Made {
		t.Errorf("%+v", s)
	}
	o.check(t, y.rows(), 0)

	// Storage that is not available.
	c = y.config(members)
	c.Sendings = func(m Member) Stream { return f.Sendings(m, from, time.Time{}) }
	c.Grace = 100 * time.Millisecond
	c.Transport = &faults.Transport{Next: c.Transport, Plan: away{}}
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	c.Progress = func(s Summary) {
		if s.Made > 0 {
			stop()
		}
	}
	s = must.Have(Run(ctx, c))(t)
	if s.Waiting == 0 || s.Waiting != s.Made || s.Newest == nil || s.Behind == 0 {
		t.Errorf("%+v", s)
	}
}

// TestAcknowledgementsAreNoReadings: what was made and stored agrees, and with acknowledgements it is what the table
// has.
func TestAcknowledgementsAreNoReadings(t *testing.T) {
	t.Parallel()
	y := newFixture(t, "contoso")
	f := Fleet{Seed: 1, Devices: 1, Tenants: 1}
	members := f.Members()
	must.Succeed(t, Register(t.Context(), y.registry, y.enrollment, members, nil))
	must.Have(commands.Of(y.client, schema.Names{}).Send(t.Context(), schema.Command{Device: members[0].ID, Body: "1"},
		time.Hour))(t)
	c := y.config(members)
	c.OnCommand = func(Member, device.Command) (any, error) { return nil, nil }
	var once sync.Once
	acknowledged := make(chan struct{})
	c.Progress = func(s Summary) {
		if s.Acks == 2 { // received, and succeeded
			once.Do(func() { close(acknowledged) })
		}
	}
	now := time.Now()
	c.Sendings = func(Member) Stream {
		return func(yield func(Sending) bool) {
			reading := device.Reading{Values: map[string]any{"bar": 1.5}}
			if !yield(Sending{now, reading}) {
				return
			}
			select {
			case <-acknowledged:
				yield(Sending{now, reading})
			case <-t.Context().Done():
			}
		}
	}
	s := must.Have(Run(t.Context(), c))(t)
	if s.Made != 2 || s.Accepted != 2 || s.Stored != 2 || s.Acks != 2 || len(y.rows()) != 4 {
		t.Errorf("%d rows of %+v", len(y.rows()), s)
	}
}

// TestRevokedDevicesDelayNoOther has as many revoked devices as there are lanes, and they come first.
func TestRevokedDevicesDelayNoOther(t *testing.T) {
	t.Parallel()
	y := newFixture(t, "contoso", "fabrikam")
	until := time.Now()
	f := Fleet{Seed: 2, Devices: lanes + 5, Every: time.Minute, Until: until}
	members := f.Members()
	must.Succeed(t, Register(t.Context(), y.registry, y.enrollment, members, nil))
	for _, m := range members[:lanes] {
		must.Have(y.registry.Update(t.Context(), m.ID,
			func(d *schema.Device) error { d.Status = schema.Revoked; return nil }))(t)
	}
	c := y.config(members)
	c.Patience, c.Grace = 500*time.Millisecond, time.Second
	c.Sendings = func(m Member) Stream { return f.Sendings(m, until.Add(-time.Hour), until) }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c.Progress = func(s Summary) {
		if s.Stored == 5*60 && s.Denied == lanes {
			stop()
		}
	}
	s := must.Have(Run(ctx, c))(t)
	if s.Stored != 5*60 || s.Denied != lanes || s.Waiting != lanes*60 || s.Behind != lanes {
		t.Errorf("%+v", s)
	}
}

func TestPaceAppliesUntilTheFleetHasCaughtUp(t *testing.T) {
	began := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	r := &runner{Config: Config{Pace: 10, From: began.Add(-9 * time.Hour)}, began: began}
	for due, want := range map[time.Duration]time.Duration{ // since the beginning
		-9 * time.Hour: 0,
		-8 * time.Hour: 6 * time.Minute,
		0:              54 * time.Minute,
		time.Hour:      time.Hour, // 10 hours at ten times the pace: now
		2 * time.Hour:  2 * time.Hour,
	} {
		if got := r.when(began.Add(due)).Sub(began); got != want {
			t.Errorf("due at %v: sent at %v, want %v", due, got, want)
		}
	}
	r.Pace = 0
	if got := r.when(began.Add(-time.Hour)); !got.Equal(began.Add(-time.Hour)) {
		t.Errorf("without a pace, %v", got)
	}
}

// TestDevicesBootInTurn: so many ask for their first token at once, in the order in which they came, and one that gets
// none for long keeps no other waiting.
func TestDevicesBootInTurn(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	b := boots{since: map[*life]time.Time{}}
	lives := make([]life, 3*booting)
	for i := range lives {
		if first := b.begin(&lives[i], now); first != (i < booting) {
			t.Fatalf("device %d may boot: %v", i, first)
		}
	}
	if b.end(&lives[0], false, now) != nil || b.end(&lives[booting], true, now) != nil {
		t.Error("a device boots, and none is done")
	}
	for i := range booting {
		if next := b.end(&lives[i], true, now); next != &lives[booting+i] {
			t.Fatalf("after device %d it is not the turn of device %d", i, booting+i)
		}
	}
	for i := range booting {
		l := &lives[booting+i]
		if !b.begin(l, now) || b.end(l, false, now.Add(bootTime-1)) != nil {
			t.Fatalf("device %d has no time", booting+i)
		}
		if next := b.end(l, false, now.Add(bootTime)); next != &lives[2*booting+i] {
			t.Fatalf("device %d keeps others waiting", booting+i)
		}
	}
}

func TestMissingEndpointIsAnError(t *testing.T) {
	t.Parallel()
	y := newFixture(t, "contoso", "fabrikam")
	f := Fleet{Seed: 1, Devices: 2}
	c := y.config(f.Members())
	c.Sendings = func(m Member) Stream { return slices.Values([]Sending(nil)) }
	c.Endpoint = "http://127.0.0.1:1"
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "is it running?") {
		t.Errorf("%v", err)
	}
	c.Endpoint, c.Members = y.url, []Member{{ID: "pump/7", Tenant: "contoso"}}
	if _, err := Run(t.Context(), c); err == nil {
		t.Error("an invalid device ID is accepted")
	}
}
