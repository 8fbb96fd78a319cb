package main

import (
	"context"
	"flag"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/jobs/jobstest"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/schema"
)

// The long form of TestHostileDeviceHoldsUpNobody, for a machine that does nothing else:
//
// go test ./cmd/furrow -run HostileDevice -v -timeout 30m -hostile.devices 1000 -hostile.rows 10000 -hostile.cadence 5s
// -hostile.slots 2
var (
	hostileDevices = flag.Int("hostile.devices", 50,
		"number of honest devices beside the one of TestHostileDeviceHoldsUpNobody")
	hostileRows    = flag.Int("hostile.rows", 300, "number of rows that the hostile device sends")
	hostileCadence = flag.Duration("hostile.cadence", time.Second,
		"cadence of the pipeline; honest devices send at half this pace")
	hostileSlots = flag.Int("hostile.slots", 60,
		"most slots until a reading is folded, with those that are skipped on a busy machine")
)

const (
	hostileSettle = 2 * time.Second
	hostileMemory = 300 << 10        // kB, at the peak of a worker
	hostileStop   = 10 * time.Second // until a worker has ended
	hostileWait   = 10 * time.Minute
)

// TestHostileDeviceHoldsUpNobody has one device send rows that once stopped every worker, with its own token
// and in one batch with honest devices. Their readings are folded within two runs, each row of the hostile
// device is folded or rejected, and workers stay small and end when they are told to.
func TestHostileDeviceHoldsUpNobody(t *testing.T) {
	effort.OnlyLong(t, "package jobs rejects what a hostile device may send")
	t.Parallel()
	if testing.Short() {
		t.Skip("it measures memory, and the race detector takes several times as much")
	}
	h := newHostile(t)
	sending, enough := context.WithCancel(t.Context())
	defer enough()
	var honest sync.WaitGroup
	honest.Go(func() {
		if sum, err := simulate.Run(sending, h.fleet); err != nil || sum.Waiting > 0 {
			t.Errorf("honest devices: %+v, %v", sum, err)
		}
	})
	folds := watchFolds(h.fixture, 100*time.Millisecond)
	h.send(t, *hostileRows, func() {
		h.awaitHostile(t, "live", 1)
		h.stopWorker(t)
		h.worker = startWorker(t, &h.log, "--storage", h.storage)
	})
	t.Logf("storage took %d of %d rows of %s", h.taken, *hostileRows, h.device)
	h.awaitHostile(t, "live", h.taken)
	h.awaitHostile(t, "archive", h.taken)
	enough()
	honest.Wait()
	h.checkPace(t, folds)
	h.must("audit run --wait") // for readings that arrived after the settle time
	h.checkAll()
	h.checkCommands(t)
	h.stopWorker(t)
	t.Logf("storage and the endpoint had %s of memory at the peak", peakMemory(h.up.Process.Pid))
}

// A hostile is a soak whose worker is a process of its own, and a device that sends hostile rows.
type hostile struct {
	*soak
	device schema.DeviceID
	member simulate.Member
	worker *exec.Cmd
	log    lockedBuffer
	taken  int64 // rows that storage has accepted
	slots  []schema.Run

	rejected int64 // rows, by the pipeline that has rejected most
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	now := time.Now().UTC()
	f := simulate.Fleet{Seed: uint64(now.UnixNano()), Devices: *hostileDevices + 1, Tenants: 1, Months: 1, Until: now,
		Every: 2 * *hostileCadence}
	times := "cadence: " + hostileCadence.String() + ", settle: " + hostileSettle.String()
	h := &hostile{soak: newSoakOf(t, f, "pipelines: [{name: live, "+times+
		", processors: [latest, rollup: {windows: [1m, 1h, 1d]}]},"+
		" {name: archive, "+times+", processors: [archive: {closeAfter: 1h}]}]\n", "--no-worker")}
	middle := len(h.fleet.Members) / 2 // so that it has neighbours
	h.member = h.fleet.Members[middle]
	h.device = h.member.ID
	h.fleet.Members = append(h.fleet.Members[:middle:middle], h.fleet.Members[middle+1:]...)
	h.except = map[schema.DeviceID]bool{h.device: true}
	h.worker = startWorker(t, &h.log, "--storage", h.storage)
	return h
}

// stopWorker ends the worker as a service manager does, and looks at its memory.
func (h *hostile) stopWorker(t *testing.T) {
	t.Helper()
	peak, _, _ := strings.Cut(peakMemory(h.worker.Process.Pid), " ")
	if kB, err := strconv.Atoi(peak); err == nil && kB >= hostileMemory {
		t.Errorf("the worker had %d kB of memory at the peak; want less than %d", kB, hostileMemory)
	}
	began := time.Now()
	must(t, h.worker.Process.Signal(syscall.SIGTERM))
	err := h.worker.Wait()
	took := time.Since(began)
	t.Logf("the worker had %s kB of memory at the peak, and ended %v after SIGTERM", peak, took.Round(time.Millisecond))
	if err != nil || took > hostileStop {
		t.Errorf("the worker ended after %v: %v\n%s", took, err, &h.log)
	}
}

// send inserts rows one after another, with times of the days before, and calls half
// when half of them are sent.
func (h *hostile) send(t *testing.T, rows int, half func()) {
	t.Helper()
	token := h.token(t)
	const since = 6 * 24 * time.Hour // the enrollment admits 7 days
	at, n := time.Now().Add(-since), 0
	for row := range jobstest.ChainRows(uint64(at.UnixNano()), rows) {
		if n++; n == rows/2 {
			half()
		}
		at = at.Add((since - time.Hour) / time.Duration(rows))
		body := jobstest.ChainBody(string(h.device), tables.TicksOf(at).String(), row)
		if status := post(t, token.URL+"?"+token.SAS, body, http.Header{"Prefer": {"return-no-content"}},
			nil); status/100 == 2 {
			h.taken++
		} else if status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge {
			t.Fatalf("storage answers %d to row %d", status, n)
		}
	}
}

// token asks the endpoint for one, as a device does.
func (h *hostile) token(t *testing.T) (a sas.Answer) {
	t.Helper()
	id, text := h.fleet.Credential(h.member)
	key, err := sas.ParseKey(text)
	must(t, err)
	await(t, "a token", func() bool {
		proof := key.Prove(string(id)+"/registrations/"+string(h.device), time.Now().Add(time.Hour))
		url := h.fleet.Endpoint + "/v1/devices/" + string(h.device) + "/token"
		return post(t, url, nil, http.Header{"Authorization": {proof}}, &a) == http.StatusOK
	})
	return a
}
