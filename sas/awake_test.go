package sas_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// awake returns until when the membership of a device says that it may write.
func (y *fixture) awake(device schema.DeviceID) tables.Ticks {
	y.t.Helper()
	d := must.Have(y.registry.Get(y.t.Context(), device))(y.t)
	e := must.Have(y.registry.Fleet.Get(y.t.Context(), d.Month.String(), string(d.Member().Key())))(y.t)
	return must.Have(schema.MemberOf(e))(y.t).Awake
}

// TestNoTokenOutlivesItsNote: whatever issuers do at a time, and whatever becomes of their requests, the membership
// says nothing, or that the device may write until at least the end of every token that was handed out.
func TestNoTokenOutlivesItsNote(t *testing.T) {
	y := newFixture(t, nil)
	must.Have(y.registry.Register(t.Context(), sas.FirstContact("pump-7", y.enrollment, time.Now())))(t)
	var handed sync.Mutex
	last := tables.Ticks(0)
	var issuing sync.WaitGroup
	for n := range 4 {
		broken := &faults.Transport{Plan: faults.Random{Seed: uint64(n), Rates: map[faults.Fault]float64{
			faults.AnswerLost: .1, faults.Twice: .1, faults.ServerBusy: .1, faults.Cut: .1}}}
		config := y.issuer.IssuerConfig
		config.Registry = y.registryOf(y.connect(broken))
		other := must.Have(sas.NewIssuer(config))(t)
		issuing.Go(func() {
			for k := range 10 {
				e := y.enrollment
				e.Life = time.Duration(1+(7*k+3*n)%11) * time.Hour
				a, err := other.Issue(context.Background(), "pump-7", e)
				if err != nil {
					continue // the device asks again
				}
				handed.Lock()
				last = max(last, tables.TicksOf(a.Expires))
				if awake := y.awake("pump-7"); awake != 0 && awake < last {
					t.Errorf("a token ends at %v, and the note says %v", last.Time(), awake.Time())
				}
				handed.Unlock()
			}
		})
	}
	issuing.Wait()
	if y.mustIssue("pump-7"); y.awake("pump-7") < last || last == 0 {
		t.Errorf("afterwards the note says %v, and the last token ends at %v", y.awake("pump-7"), last.Time())
	}
}

// TestADeviceIsAsleepUntilItsFirstToken: its membership says so from the registration on, unless an issuer was faster,
// whose note stands. Of a device without an enrollment, nobody knows.
func TestADeviceIsAsleepUntilItsFirstToken(t *testing.T) {
	y := newFixture(t, nil)
	first := sas.FirstContact("pump-7", y.enrollment, time.Now())
	d := must.Have(y.registry.Register(t.Context(), first))(t)
	if got := y.awake(d.ID); got != schema.NeverAwake {
		t.Errorf("without a token it is awake until %d", got)
	}
	if a := y.mustIssue(d.ID); y.awake(d.ID) < tables.TicksOf(a.Expires) {
		t.Errorf("its first token ends at %v, and it is awake until %v", a.Expires, y.awake(d.ID).Time())
	}

	var expires time.Time
	asked := faults.Func(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, y.registry.Fleet.Name) && expires.IsZero() {
			expires = y.mustIssue("pump-8").Expires // between the record and its membership
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	first.ID = "pump-8"
	must.Have(y.registryOf(y.connect(asked)).Register(t.Context(), first))(t)
	if got := y.awake("pump-8"); expires.IsZero() || got < tables.TicksOf(expires) {
		t.Errorf("its token ends at %v, and it is awake until %v", expires, got.Time())
	}

	first.ID, first.Enrollment = "pump-9", ""
	must.Have(y.registry.Register(t.Context(), first))(t)
	if got := y.awake("pump-9"); got != 0 {
		t.Errorf("without an enrollment it is awake until %d", got)
	}
}

// TestTheFirstTokenIsNoted: a device that registers itself with its first token, and asks for no other, rests when that
// has ended. Where another issuer inserts its membership, nobody knows until when it may write.
func TestTheFirstTokenIsNoted(t *testing.T) {
	y := newFixture(t, nil)
	a := y.mustIssue("pump-7")
	if got := y.awake("pump-7"); got != tables.TicksOf(a.Expires) {
		t.Errorf("its first token ends at %v, and it is awake until %v", a.Expires, got.Time())
	}

	var other, own sas.Answer
	asked := faults.Func(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, y.registry.Fleet.Name) && other.Device == "" {
			y.enrollment.Life += time.Hour
			other = y.mustIssue("pump-8") // between the record and its membership
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	config := y.issuer.IssuerConfig
	config.Registry = y.registryOf(y.connect(asked))
	own = must.Have(must.Have(sas.NewIssuer(config))(t).Issue(t.Context(), "pump-8", y.enrollment))(t)
	last := max(tables.TicksOf(own.Expires), tables.TicksOf(other.Expires))
	if got := y.awake("pump-8"); other.Device == "" || got != 0 && got < last {
		t.Errorf("its tokens end at %v and %v, and it is awake until %v", own.Expires, other.Expires, got.Time())
	}
}

// TestADeviceThatIsAlwaysAwakeIsNotedSeldom: forty renewals in an hour take two notes.
func TestADeviceThatIsAlwaysAwakeIsNotedSeldom(t *testing.T) {
	var requests recorder
	y := newFixture(t, &requests)
	y.enrollment.Life = time.Minute
	y.mustIssue("pump-7")
	y.enrollment.Life = 2 * time.Minute
	requests = nil
	for range 40 {
		y.mustIssue("pump-7")
	}
	notes := 0
	for _, method := range requests {
		if method == "PATCH" {
			notes++
		}
	}
	// Tokens end at a full second: where one passes meanwhile, the first note is followed by the one that is hours ahead.
	if notes < 1 || notes > 2 || len(requests) != 40+2*notes {
		t.Errorf("%d notes in %d requests: %v", notes, len(requests), requests[:4])
	}
	d := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
	d.Noted = tables.TicksOf(time.Now().Add(-time.Minute)) // it has just passed
	y.update("pump-7", func(stored *schema.Device) { stored.Noted, stored.Tokens = d.Noted, nil })
	requests = nil
	fresh := must.Have(sas.NewIssuer(y.issuer.IssuerConfig))(t)
	for range 40 {
		must.Have(fresh.Issue(t.Context(), "pump-7", y.enrollment))(t)
	}
	if ahead := time.Until(y.awake("pump-7").Time()); ahead < time.Hour || !slices.Contains(requests, "PATCH") {
		t.Errorf("a device that asks all the time is noted for %v", ahead)
	}
}

// TestARingChangesTheNote, whenever it is, by less than matters; a device without one is looked at anyway.
func TestARingChangesTheNote(t *testing.T) {
	y := newFixture(t, nil)
	unknown := sas.FirstContact("pump-9", y.enrollment, time.Now())
	unknown.Enrollment = ""
	must.Have(y.registry.Register(t.Context(), unknown))(t)
	must.Succeed(t, y.issuer.Ring(t.Context(), "pump-9", 0))
	if got := y.awake("pump-9"); got != 0 {
		t.Errorf("nobody knew until when the device may write, and after a ring it is %v", got.Time())
	}
	y.mustIssue("pump-7")
	for range 3 {
		before := y.awake("pump-7")
		must.Succeed(t, y.issuer.Ring(t.Context(), "pump-7", 0))
		if got := y.awake("pump-7"); got <= before || got > before.Add(time.Second) {
			t.Errorf("a ring changes the note from %v to %v", before.Time(), got.Time())
		}
	}
	if err := y.issuer.Ring(t.Context(), "pump-8", 0); !errors.Is(err, tables.ErrNotFound) {
		t.Errorf("a device that is not registered: %v", err)
	}
}

// TestLateRowsAreNoted on all memberships, in one note for each pipeline to fold them again.
func TestLateRowsAreNoted(t *testing.T) {
	y := newFixture(t, nil)
	a := y.mustIssue("pump-7")
	late := a.EarliestRowKey + 7
	must.Succeed(t, y.issuer.Ring(t.Context(), "pump-7", late))
	must.Succeed(t, y.issuer.Ring(t.Context(), "pump-7", late+1))
	must.Succeed(t, y.issuer.Ring(t.Context(), "pump-7", late-1))
	notes := y.member("pump-7").Imports
	if len(notes) != 1 || !notes[0].Late || notes[0].From != late-1 || notes[0].To < a.LatestRowKey ||
		notes[0].Until != 0 {
		t.Errorf("the membership says %+v", notes)
	}
}

// TestTokensOfAnEarlierReleaseCount: their ends are in the record, and nobody has noted them.
func TestTokensOfAnEarlierReleaseCount(t *testing.T) {
	y := newFixture(t, nil)
	y.mustIssue("pump-7")
	long := tables.TicksOf(time.Now().Add(30 * 24 * time.Hour))
	y.update("pump-7", func(d *schema.Device) { d.Tokens[0].Expiry = long })
	issuer := must.Have(sas.NewIssuer(y.issuer.IssuerConfig))(t)
	must.Have(issuer.Issue(t.Context(), "pump-7", y.enrollment))(t)
	if got := y.awake("pump-7"); got < long {
		t.Errorf("one ends at %v, and the note says %v", long.Time(), got.Time())
	}
}

// TestAMoveMakesTheNoteUnknown: the membership that the device comes back to may have one that is long over, while its
// record says that it is noted.
func TestAMoveMakesTheNoteUnknown(t *testing.T) {
	y := newFixture(t, nil)
	y.mustIssue("pump-7")
	y.mustIssue("pump-7")
	if y.awake("pump-7") == 0 {
		t.Fatal("nothing is noted")
	}
	for n, to := range []schema.Tenant{"fabrikam", "contoso", "fabrikam"} {
		at := tables.TicksOf(time.Now().Add(time.Duration(n-10) * time.Second))
		must.Have(y.registry.Move(t.Context(), sas.Move{Device: "pump-7", To: to, At: at}))(t)
		if got := y.awake("pump-7"); got != 0 {
			t.Errorf("%s: after the move the note says %v", fmt.Sprint(to), got.Time())
		}
	}
}
