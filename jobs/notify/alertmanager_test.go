package notify_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs/notify"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A postedAlert is an alert as Alertmanager's API has it.
type postedAlert struct {
	Labels, Annotations map[string]string
	StartsAt, EndsAt    time.Time
}

// An alertmanager keeps alerts by their labels, as the real one does, until it is restarted.
type alertmanager struct {
	server *httptest.Server
	mu     sync.Mutex
	alerts map[string]postedAlert
	posts  int
	refuse int // so many posts
	most   int // alerts that it takes in a post; zero: any number
}

func newAlertmanager(t *testing.T) *alertmanager {
	am := &alertmanager{}
	am.restart()
	am.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var all []postedAlert
		if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
			t.Error(err)
		}
		am.mu.Lock()
		defer am.mu.Unlock()
		if am.posts++; am.most > 0 && len(all) > am.most {
			w.WriteHeader(http.StatusGatewayTimeout)
			return
		}
		if am.refuse > 0 {
			am.refuse--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		for _, a := range all {
			if !a.EndsAt.After(a.StartsAt) {
				t.Errorf("%v begins at %v and ends at %v", a.Labels, a.StartsAt, a.EndsAt)
			}
			am.alerts[fmt.Sprint(a.Labels)] = a
		}
	}))
	t.Cleanup(am.server.Close)
	return am
}

// restart makes it forget all alerts. Alertmanager keeps only silences, and what it has sent.
func (am *alertmanager) restart() { am.alerts = map[string]postedAlert{} }

// target returns one that is this Alertmanager.
func (am *alertmanager) target() notify.Target {
	return notify.Target{Name: "am", Kind: &notify.Alertmanager{URL: am.server.URL, Private: true},
		GroupBy: []string{"rule"}, GroupWait: time.Second}
}

// firing returns the devices whose alerts fire at a time.
func (am *alertmanager) firing(at time.Time) (devices map[string]bool) {
	am.mu.Lock()
	defer am.mu.Unlock()
	devices = map[string]bool{}
	for _, a := range am.alerts {
		if a.EndsAt.After(at) {
			devices[a.Labels["device"]] = true
		}
	}
	return devices
}

// TestAlertmanagerThatWasRestartedHasTheOpenAlertsAgain: also those that are acknowledged or muted here, and none that
// have closed. Nothing is written for each alert meanwhile.
func TestAlertmanagerThatWasRestartedHasTheOpenAlertsAgain(t *testing.T) {
	f, am := newFixture(t), newAlertmanager(t)
	n := f.notifier(f.client, am.target())
	incidents := f.client.Table(f.names.Output("incidents"))
	for i := range 4 {
		tr := f.transition(fmt.Sprint("pump-", i), 1)
		f.happen(n, "am", tr)
		must.Have(incidents.Do(t.Context(), tables.Insert(tr.IndexEntity())))(t)
	}
	f.advance(time.Minute)
	deliver(t, n, "am")
	ack := schema.Note{ID: "x", What: schema.Acknowledged, Number: 1, At: tables.TicksOf(f.now()), Who: "me"}
	must.Have(incidents.Do(t.Context(), tables.Insert(must.Have(ack.Entity(f.home, f.transition("pump-0", 1).ID))(t))))(t)
	mute := schema.Mute{ID: "m", Device: "pump-1", From: tables.TicksOf(start),
		Until: tables.TicksOf(start.Add(10 * time.Hour))}
	must.Have(incidents.Do(t.Context(), tables.Insert(must.Have(mute.Entity())(t))))(t)
	pk, rk := f.transition("pump-2", 2).IndexRow() // it closes, and its rule names the target no longer
	must.Have(incidents.Do(t.Context(), tables.Delete(pk, rk, tables.AnyETag)))(t)

	rows := len(f.all(f.names.Output("incidents")))
	for range 100 {
		am.restart()
		f.advance(notify.AlertmanagerRepeat)
		r := deliver(t, n, "am")
		if got := fmt.Sprint(am.firing(f.now())); got != "map[pump-0:true pump-1:true pump-3:true]" {
			t.Fatalf("firing after a restart: %s", got)
		}
		if !r.Again || r.After > notify.AlertmanagerRepeat {
			t.Fatalf("next: %+v", r)
		}
	}
	if n := len(f.all(f.names.Output("incidents"))); n != rows {
		t.Errorf("%d rows more", n-rows)
	}

	posts := am.posts
	f.advance(time.Second)
	must.Have(n.Wake(t.Context(), "am"))(t)
	deliver(t, n, "am")
	if am.posts != posts {
		t.Error("posted again although it is too early")
	}
	for _, d := range []string{"pump-0", "pump-3"} {
		f.happen(n, "am", f.transition(d, 2)) // the index still has them, as the job that closes them has died
	}
	f.advance(2 * notify.AlertmanagerRepeat)
	for range 3 {
		deliver(t, n, "am")
		f.advance(time.Minute)
	}
	if got := fmt.Sprint(am.firing(f.now())); got != "map[pump-1:true]" {
		t.Errorf("firing after two have closed: %s", got)
	}
	for _, a := range am.alerts {
		if a.Labels["device"] == "pump-1" && a.EndsAt.Sub(f.now()) > 2*time.Hour {
			t.Errorf("without Furrow, an alert would fire until %v", a.EndsAt)
		}
	}
	if left := f.rows("am"); len(left) != 1 {
		t.Errorf("left: %+v", left)
	}
}

// TestRefreshThatFailsHoldsBackNoNewAlert: a post of all open alerts takes the Alertmanager too long, and one of a new
// alert does not.
func TestRefreshThatFailsHoldsBackNoNewAlert(t *testing.T) {
	f, am := newFixture(t), newAlertmanager(t)
	n := f.notifier(f.client, am.target())
	happens := func(device string) {
		tr := f.transition(device, 1)
		f.happen(n, "am", tr)
		must.Have(f.client.Table(f.names.Output("incidents")).Do(t.Context(), tables.Insert(tr.IndexEntity())))(t)
	}
	happens("pump-0")
	happens("pump-1")
	f.advance(time.Minute)
	deliver(t, n, "am")
	for am.most = 1; f.now().Before(start.Add(time.Hour)); f.advance(30 * time.Second) {
		deliver(t, n, "am")
	}
	happens("pump-2")
	for end := f.now().Add(10 * time.Minute); f.now().Before(end); f.advance(30 * time.Second) {
		deliver(t, n, "am")
	}
	if !am.firing(f.now())["pump-2"] {
		t.Errorf("after 10 minutes, the new alert has not arrived; the target is %+v", f.state("am"))
	}
}

// TestRefreshReadsTenantsAtATime: one after the other, those of a large fleet would take longer than a job may, so the
// Alertmanager would get nothing any more.
func TestRefreshReadsTenantsAtATime(t *testing.T) {
	f, am := newFixture(t), newAlertmanager(t)
	var mu sync.Mutex
	at, most, together := 0, 0, make(chan struct{})
	n := f.notifier(f.connect(faults.Func(func(r *http.Request) (*http.Response, error) {
		if !strings.Contains(r.URL.RawQuery, "open") {
			return http.DefaultTransport.RoundTrip(r)
		}
		mu.Lock()
		if at++; at > most {
			if most = at; most == 4 {
				close(together)
			}
		}
		mu.Unlock()
		select {
		case <-together:
		case <-time.After(30 * time.Second): // they come one after the other; no machine is so busy
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		mu.Lock()
		defer mu.Unlock()
		at--
		return resp, err
	})), am.target())
	for i := range 4 {
		tr := f.transition(fmt.Sprint("pump-", i), 1)
		tr.Home.Tenant = schema.Tenant(fmt.Sprint("tenant-", i))
		f.happen(n, "am", tr)
		must.Have(f.client.Table(f.names.Output("incidents")).Do(t.Context(), tables.Insert(tr.IndexEntity())))(t)
	}
	f.advance(time.Minute)
	deliver(t, n, "am")
	am.restart()
	f.advance(notify.AlertmanagerRepeat)
	deliver(t, n, "am")
	if fires := len(am.firing(f.now())); fires != 4 || most != 4 {
		t.Errorf("%d alerts of 4 tenants; %d tenants are read at a time", fires, most)
	}
}

// TestAlertmanagerHasWhatIsOpenWhateverHappens: incidents open and close again and again, workers are killed and lose
// answers, and the Alertmanager is restarted. In the end, it has the alerts that are open, and no other.
func TestAlertmanagerHasWhatIsOpenWhateverHappens(t *testing.T) {
	first := cmp.Or(*seedFrom, uint64(time.Now().UnixNano()))
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprint("seed=", first+seed), func(t *testing.T) {
			t.Parallel()
			alertsOfARandomLife(t, first+seed)
		})
	}
}

func alertsOfARandomLife(t *testing.T, seed uint64) {
	f, am := newFixture(t), newAlertmanager(t)
	calm := f.notifier(f.client, am.target())
	random, numbers := rand.New(rand.NewPCG(seed, 2)), map[string]int{}
	incidents := f.client.Table(f.names.Output("incidents"))
	for range 15 {
		for i := range 5 {
			device := fmt.Sprint("pump-", i)
			if random.IntN(3) > 0 {
				continue
			}
			numbers[device]++
			tr := f.transition(device, numbers[device])
			tr.Labels["moved"] = fmt.Sprint(random.IntN(3))
			f.happen(calm, "am", tr)
			op := tables.Insert(tr.IndexEntity())
			if pk, rk := tr.IndexRow(); !tr.Opens() {
				op = tables.Delete(pk, rk, tables.AnyETag)
			}
			must.Have(incidents.Do(t.Context(), op))(t)
		}
		ctx, kill := context.WithCancel(t.Context())
		storm := &faults.Transport{Delay: time.Millisecond, Plan: faults.Random{Seed: random.Uint64(),
			Rates: map[faults.Fault]float64{faults.AnswerLost: .03, faults.Twice: .03, faults.Cut: .02, faults.ServerBusy: .03,
				faults.EmptyPage: .1}}}
		left := random.IntN(60) // requests until it is killed
		n := f.notifier(f.connect(faults.Func(func(r *http.Request) (*http.Response, error) {
			if left--; left < 0 {
				kill()
				return nil, ctx.Err()
			}
			return storm.RoundTrip(r)
		})), am.target())
		_, _ = n.Deliver(ctx, "am") // storage fails, and the worker may die
		kill()
		f.advance(time.Duration(1+random.IntN(200)) * time.Second)
		if random.IntN(3) == 0 {
			am.restart()
		}
	}
	want := map[string]bool{}
	for device, number := range numbers {
		if number%2 == 1 {
			want[device] = true
		}
	}
	for range 10 {
		f.advance(notify.AlertmanagerRepeat)
		deliver(t, calm, "am")
	}
	if got := am.firing(f.now()); !maps.Equal(got, want) || len(f.rows("am")) != len(want) {
		t.Errorf("firing: %v; want %v, rows %+v", got, want, f.rows("am"))
	}
	for _, a := range am.alerts {
		if a.EndsAt.Sub(f.now()) > 2*time.Hour {
			t.Errorf("%v fires until %v", a.Labels, a.EndsAt)
		}
	}
}
