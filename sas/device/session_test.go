package device_test

import (
	"encoding/json"
	"testing"
	"time"

	"furrow/sas/device"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestASessionGoesOnAsIfTheClientHadStayedOpen: with the token until that is to be renewed, with the time, and with the
// numbers of its readings.
func TestASessionGoesOnAsIfTheClientHadStayedOpen(t *testing.T) {
	f := newFixture(t)
	const wakes = 12 // ten minutes apart, so that two tokens of an hour are needed at least
	f.bubble(wakes, func() {
		var s *device.Session
		for range wakes {
			c := f.start(func(config *device.Config) { config.Session = s })
			f.mustStore(c)
			f.close(c)
			if s = c.Session(); s == nil {
				t.Fatal("nothing waits, and there is no session")
			}
			time.Sleep(10 * time.Minute)
		}
	})
	if _, tokens := f.counts(); tokens < 2 || tokens > 4 {
		t.Errorf("%d tokens", tokens)
	}
	boots := f.numbers()
	for _, numbers := range boots {
		if len(boots) != 1 || numbers[0] != 1 || numbers[wakes-1] != wakes {
			t.Errorf("the readings are numbered %v", boots)
		}
	}
}

// TestASessionKnowsWhichRowsAreLate: clients before have stored newer ones, and the late one itself.
func TestASessionKnowsWhichRowsAreLate(t *testing.T) {
	f := newFixture(t)
	f.bubble(2, func() {
		said, late := "", f.now().Add(-time.Hour)
		f.set(func(f *fixture) { f.rang = func(body string) { said = body } })
		var s *device.Session
		for _, of := range []struct {
			number int // in the order of times
			at     time.Time
		}{{2, f.now()}, {1, late}} {
			f.set(func(f *fixture) { f.next = of.number - 1 })
			c := f.start(func(config *device.Config) { config.Session = s })
			must.Succeed(t, f.sendOf(c, of.at))
			f.flush(c)
			f.close(c)
			s = c.Session()
		}
		c := f.start(func(config *device.Config) { config.Session = s })
		want := `{"ring":true,"late":"` + tables.TicksOf(late).String() + `"}`
		if err := c.Ring(t.Context()); err != nil || said != want {
			t.Errorf("%v: %s, want %s", err, said, want)
		}
	})
}

// TestNoSessionLosesReadings: there is none while readings wait, nor beside a file that keeps them.
func TestNoSessionLosesReadings(t *testing.T) {
	f := newFixture(t)
	f.bubble(1, func() {
		c := f.open(nil)
		f.mustSend(c)
		if c.Session() != nil {
			t.Error("a reading waits, and there is a session")
		}
		f.run(c)
	})
	if _, err := device.Open(device.Config{Endpoint: "https://endpoint.test", Device: id, Enrollment: "plant1",
		Key: f.key.Of(id).Base64(), File: t.TempDir() + "/readings", Session: new(device.Session)}); err == nil {
		t.Error("a file and a session are taken")
	}
}

// numbers returns the numbers of stored readings in their boots.
func (f *fixture) numbers() map[string][]uint64 {
	f.t.Helper()
	all := map[string][]uint64{}
	for pager := f.table.NewListEntitiesPager(nil); pager.More(); {
		for _, raw := range must.Have(pager.NextPage(f.t.Context()))(f.t).Entities {
			var e struct{ RowKey string }
			must.Succeed(f.t, json.Unmarshal(raw, &e))
			n, _ := must.Have(schema.ParseRowKey(e.RowKey))(f.t).Number()
			all[n.Boot] = append(all[n.Boot], n.N)
		}
	}
	return all
}
