package sas_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// issuerThrough returns an issuer of another endpoint, with faults.
func (y *fixture) issuerThrough(plan faults.Plan) *sas.Issuer {
	y.t.Helper()
	config := y.issuer.IssuerConfig
	config.Registry = y.registryOf(y.connect(&faults.Transport{Plan: plan}))
	issuer := must.Have(sas.NewIssuer(config))(y.t)
	return issuer
}

// registered returns which devices of an enrollment have a record, and checks that each has a place.
func (y *fixture) registered() (n int) {
	y.t.Helper()
	for page, err := range y.registry.Devices.Rows(y.t.Context(), tables.Query{}) {
		must.Succeed(y.t, err)
		for _, row := range page.Rows {
			n++
			place := schema.PlaceOf(y.enrollment.ID, schema.DeviceID(row.PartitionKey))
			if _, err := y.registry.Places.Get(y.t.Context(), place.PartitionKey, place.RowKey); err != nil {
				y.t.Errorf("%s registered itself without a place: %v", row.PartitionKey, err)
			}
		}
	}
	return n
}

func (y *fixture) mustHavePlaces(when string, want int) {
	y.t.Helper()
	n, err := y.registry.Places.SelfRegistered(y.t.Context(), y.enrollment.ID)
	if must.Succeed(y.t, err); n != want {
		y.t.Errorf("%s: %d places, want %d", when, n, want)
	}
}

// Two endpoints with lost, late and repeated answers admit exactly as many devices as the limit says, although more ask
// at once and again.
func TestNeverMoreDevicesRegisterThanTheLimit(t *testing.T) {
	for seed := range uint64(6) {
		y := newFixture(t, nil)
		y.enrollment.MaxDevices = 7
		var asking sync.WaitGroup
		for endpoint := range uint64(2) {
			issuer := y.issuerThrough(faults.Random{Seed: 2*seed + endpoint, Rates: map[faults.Fault]float64{
				faults.AnswerLost: 0.1, faults.Twice: 0.1, faults.TimedOutDone: 0.1, faults.Cut: 0.05, faults.ServerBusy: 0.05}})
			for i := range 20 {
				asking.Go(func() {
					for range 3 {
						_, err := issuer.Issue(t.Context(), schema.DeviceID(fmt.Sprint("pump-", i)), y.enrollment)
						if err == nil || errors.Is(err, sas.ErrFull) {
							return
						}
					}
				})
			}
		}
		asking.Wait()
		full := 0
		for i := range 20 {
			switch _, err := y.issuer.Issue(t.Context(), schema.DeviceID(fmt.Sprint("pump-", i)), y.enrollment); {
			case errors.Is(err, sas.ErrFull):
				full++
			case err != nil:
				t.Errorf("seed %d: pump-%d: %v", seed, i, err)
			}
		}
		if n := y.registered(); n != 7 || full != 13 {
			t.Errorf("seed %d: %d devices are registered and %d refused", seed, n, full)
		}
		y.mustHavePlaces(fmt.Sprint("seed ", seed), 7)
		y.mustNumberPlaces(fmt.Sprint("seed ", seed), 7)
	}
}

// mustNumberPlaces checks the number that endpoints go by.
func (y *fixture) mustNumberPlaces(when string, want int) {
	y.t.Helper()
	row := must.Have(y.registry.Places.Get(y.t.Context(), string(y.enrollment.ID), schema.PlacesRow))(y.t)
	p, err := schema.PlacesOf(row)
	if must.Succeed(y.t, err); p.Number != want {
		y.t.Errorf("%s: the number of places is %d, want %d", when, p.Number, want)
	}
}

func TestLimitCountsDevicesThatRegisteredBeforeIt(t *testing.T) {
	y := newFixture(t, nil)
	for i := range 3 {
		y.mustIssue(schema.DeviceID(fmt.Sprint("pump-", i)))
	}
	_, _, err := y.registry.Import(t.Context(), y.enrollment, sas.Delivery{Device: "imported"})
	must.Succeed(t, err)
	y.enrollment.MaxDevices = 4
	y.mustIssue("imported")
	y.mustIssue("pump-3")
	if _, err := y.issuer.Issue(t.Context(), "pump-4", y.enrollment); !errors.Is(err, sas.ErrFull) {
		t.Errorf("the fifth device: %v", err)
	}
	y.mustIssue("pump-0") // registered devices are not affected

	y.enrollment.MaxDevices = 0 // registrations are not counted
	y.mustIssue("pump-4")
	must.Succeed(t, y.registry.Places.Forget(t.Context(), y.enrollment.ID))
	y.enrollment.MaxDevices = 5
	if _, err := y.issuer.Issue(t.Context(), "pump-5", y.enrollment); !errors.Is(err, sas.ErrFull) {
		t.Errorf("the sixth device: %v", err)
	}
}

// For a minute after a limit was set, other endpoints may not know it, and register devices without counting them.
func TestNewLimitCountsWhatOthersRegister(t *testing.T) {
	y := newFixture(t, nil)
	limited := y.enrollment
	limited.MaxDevices = 3
	must.Have(y.issuer.Issue(t.Context(), "pump-0", limited))(t)
	y.mustIssue("pump-1")
	y.mustIssue("pump-2")
	if _, err := y.issuer.Issue(t.Context(), "pump-3", limited); !errors.Is(err, sas.ErrFull) {
		t.Errorf("the fourth device: %v", err)
	}
	// Later the number is kept: it is not counted again.
	p := schema.Places{Enrollment: y.enrollment.ID, Number: 3, Since: tables.TicksOf(time.Now().Add(-time.Hour))}
	must.Have(y.registry.Places.Do(t.Context(), tables.InsertOrReplace(p.Entity())))(t)
	limited.MaxDevices = 5
	must.Have(y.issuer.Issue(t.Context(), "pump-3", limited))(t)
	row := must.Have(y.registry.Places.Get(t.Context(), string(y.enrollment.ID), schema.PlacesRow))(t)
	if p, err := schema.PlacesOf(row); err != nil || !p.Final || p.Number != 4 {
		t.Errorf("after a minute it is %+v, %v", p, err)
	}
}
