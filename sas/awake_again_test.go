package sas_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// slept lets a device's last token have ended an hour ago.
func (y *fixture) slept(device schema.DeviceID) {
	y.t.Helper()
	d := must.Have(y.registry.Get(y.t.Context(), device))(y.t)
	d.Noted, d.Tokens = tables.TicksOf(time.Now().Add(-time.Hour)), nil
	e := must.Have(d.Entity())(y.t)
	must.Have(y.registry.Devices.Do(y.t.Context(), tables.Replace(e, tables.AnyETag)))(y.t)
}

// wakes has an endpoint that knows nothing of the device issue its next token, and returns what it asks the tables of
// records and memberships for.
func (y *fixture) wakes(device schema.DeviceID) (requests []string) {
	y.t.Helper()
	config := y.issuer.IssuerConfig
	config.Registry = y.registryOf(y.connect(faults.Func(func(r *http.Request) (*http.Response, error) {
		table := "records"
		if strings.Contains(r.URL.Path, y.registry.Fleet.Name) {
			table = "memberships"
		}
		requests = append(requests, r.Method+" "+table)
		return http.DefaultTransport.RoundTrip(r)
	})))
	a := must.Have(must.Have(sas.NewIssuer(config))(y.t).Issue(y.t.Context(), device, y.enrollment))(y.t)
	if got := y.awake(device); got < tables.TicksOf(a.Expires) {
		y.t.Errorf("its token ends at %v, and it is awake until %v", a.Expires, got.Time())
	}
	return requests
}

// TestADeviceThatWakesIsNotedInOneRequest, whichever endpoint it asks.
func TestADeviceThatWakesIsNotedInOneRequest(t *testing.T) {
	y := newFixture(t, nil)
	y.mustIssue("pump-7")
	y.slept("pump-7")
	y.wakes("pump-7")
	for range 3 {
		y.slept("pump-7")
		want := []string{"GET records", "PATCH memberships", "PUT records"}
		if got := y.wakes("pump-7"); !slices.Equal(got, want) {
			t.Errorf("a device that wakes takes %q, want %q", got, want)
		}
	}
}

// TestWhatHappensToASleepingDeviceIsHeeded: what changes its record or its membership while no token of it is valid
// stands after the next one, and is completed where it was interrupted.
func TestWhatHappensToASleepingDeviceIsHeeded(t *testing.T) {
	for name, change := range map[string]func(y *fixture, d schema.Device){
		"a ring": func(y *fixture, d schema.Device) { must.Succeed(y.t, y.issuer.Ring(y.t.Context(), d.ID, 0)) },
		"a lost membership": func(y *fixture, d schema.Device) {
			of := d.Member().Place()
			must.Have(y.registry.Fleet.Do(y.t.Context(), tables.Delete(of.Month.String(), string(of.Key),
				tables.AnyETag)))(y.t)
		},
		"half a change of the site": func(y *fixture, d schema.Device) {
			y.update(d.ID, func(d *schema.Device) { d.Site = "roof" })
		},
		"a change of the site": func(y *fixture, d schema.Device) {
			must.Have(y.registry.Change(y.t.Context(), d.ID, func(d *schema.Device) error { d.Site = "roof"; return nil }))(y.t)
		},
		"a move": func(y *fixture, d schema.Device) {
			must.Have(y.registry.Move(y.t.Context(), sas.Move{Device: d.ID, To: "fabrikam"}))(y.t)
		},
		"half a move": func(y *fixture, d schema.Device) {
			ended := false
			cut := faults.Func(func(r *http.Request) (*http.Response, error) {
				if ended && strings.Contains(r.URL.Path, y.registry.Devices.Name) {
					return nil, http.ErrAbortHandler
				}
				ended = ended || r.Method == http.MethodPost
				return http.DefaultTransport.RoundTrip(r)
			})
			if _, err := y.registryOf(y.connect(cut)).Move(y.t.Context(), sas.Move{Device: d.ID, To: "fabrikam"}); err == nil {
				y.t.Error("the move was not interrupted")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			y := newFixture(t, nil)
			y.mustIssue("pump-7")
			y.slept("pump-7")
			y.wakes("pump-7")
			y.slept("pump-7")
			change(y, must.Have(y.registry.Get(t.Context(), "pump-7"))(t))
			y.wakes("pump-7")
			d := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
			if m := y.member("pump-7"); !m.Agrees(d.Member()) || m.Next != "" {
				t.Errorf("the record is %+v, and the membership %+v", d, m)
			}
			moved, placed := strings.HasSuffix(name, "move"), strings.HasSuffix(name, "site")
			if moved && d.Tenant != "fabrikam" || placed && d.Site != "roof" {
				t.Errorf("the record is %+v", d)
			}
		})
	}
}

// TestRandomLivesAreNoted: an endpoint, another one that loses requests and answers, and those who change
// devices, in random order. No token that was handed out outlives the note, and in the end the membership agrees with
// the record.
func TestRandomLivesAreNoted(t *testing.T) {
	for n := range 4 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Logf("seed %d", seed)
			y, random := newFixture(t, nil), rand.New(rand.NewPCG(seed, 0))
			config := y.issuer.IssuerConfig
			config.Registry = y.registryOf(y.connect(&faults.Transport{Plan: faults.Random{Seed: seed,
				Rates: map[faults.Fault]float64{faults.AnswerLost: .1, faults.Twice: .1, faults.Cut: .1}}}))
			broken := must.Have(sas.NewIssuer(config))(t)
			y.mustIssue("pump-7")
			tenants, last := []schema.Tenant{"contoso", "fabrikam", "tailspin"}, tables.Ticks(0)
			for range 60 {
				switch issuer := []*sas.Issuer{y.issuer, broken}[random.IntN(2)]; random.IntN(6) {
				case 0:
					y.slept("pump-7")
					last = 0
				case 1:
					_ = issuer.Ring(t.Context(), "pump-7", 0) // faults may prevent it, and all that follows
				case 2:
					_, _ = issuer.Registry.Change(t.Context(), "pump-7", func(d *schema.Device) error {
						d.Site = schema.Site(fmt.Sprint("site", random.IntN(3)))
						return nil
					})
				case 3:
					_, _ = issuer.Registry.Move(t.Context(), sas.Move{Device: "pump-7", To: tenants[random.IntN(3)]})
				default:
					e := y.enrollment
					e.Life = time.Duration(1+random.IntN(10)) * time.Hour
					a, err := issuer.Issue(t.Context(), "pump-7", e)
					if err != nil {
						continue
					}
					last = max(last, tables.TicksOf(a.Expires))
					if got := y.awake("pump-7"); got != 0 && got < last {
						t.Fatalf("a token ends at %v, and it is awake until %v", last.Time(), got.Time())
					}
				}
			}
			y.slept("pump-7")
			y.wakes("pump-7")
			if d, m := must.Have(y.registry.Get(t.Context(), "pump-7"))(t), y.member("pump-7"); m.Next != "" {
				t.Errorf("the record is %+v, and the membership %+v", d, m)
			}
		})
	}
}
