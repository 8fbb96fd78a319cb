package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/cmd/internal/removal"
	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/jobs/rate"
	"furrow/jobs/rollup"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/commands"
	"furrow/tables/schema"
	"furrow/worker/answers"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// rowsOf returns the rows of a device in all tables: readings, outputs, rejects, commands and
// fleet.
func (f *fixture) rowsOf(id schema.DeviceID) (all []string) {
	f.t.Helper()
	for _, name := range []string{f.names.Readings(), f.names.Output("latest"), f.names.Output("rollups"),
		f.names.Output(rate.Table),
		f.names.Rejects(), f.names.Commands(), f.names.Fleet()} {
		for page, err := range f.client.Table(name).Rows(f.t.Context(), tables.Query{}) {
			must(f.t, err)
			for _, e := range page.Rows {
				if e.PartitionKey == string(id) || strings.HasPrefix(e.RowKey+"!", string(id)+"!") ||
					strings.HasSuffix(e.RowKey, "!"+string(id)) {
					all = append(all, name+" "+e.PartitionKey+" "+e.RowKey)
				}
			}
		}
	}
	return all
}

func TestRemovedDeviceLeavesTheFleetAndKeepsItsData(t *testing.T) {
	f := newFixture(t)
	f.must("enrollment add line4 --tenant=contoso")
	f.must("device add pump-7 --json")
	f.must("token pump-7 --json")
	f.must("device add pump-8 --json")
	f.refused(exitUsage, "1 device leaves the fleet, and its data is kept", "device remove pump-7")
	f.must("device remove pump-7 --yes")
	f.says(`"status":"removed"`, "device remove pump-7 --yes --json") // again
	if rows := f.rowsOf("pump-7"); len(rows) != 0 {
		t.Errorf("it still has %v", rows)
	}
	for _, line := range []string{"device show pump-7", "device restore pump-7", "device set pump-7 --site=x",
		"device revoke pump-7"} {
		f.refused(exitFailed, "device pump-7 is removed", line)
	}
	f.refused(exitFailed, "not registered", "token pump-7")
	f.refused(exitBlind, "device pump-7 is removed", "verify pump-7") // it does not say that nothing differs
	f.refused(exitFailed, "device pump-7 is removed", "rewind pump-7 --to -1d")
	f.refused(exitFailed, `no device "pump-9"; similar IDs: pump-`, "rewind pump-9 --to -1d")
	if out := f.must("device list --json"); strings.Contains(out, "pump-7") || !strings.Contains(out, "pump-8") {
		t.Errorf("the list is %s", out)
	}
	f.says("pump-7", "device list --status=removed --json")
	f.says(`"outcome":"added"`, "device add pump-7 --site=dock --json")
	d := jsonOf[answers.Record](t, f.must("device show pump-7 --json"))[0]
	if d.Status != string(schema.Active) || !*d.InFleet || d.Site != "dock" || len(d.Tokens) != 0 {
		t.Errorf("registered again it is %+v", d)
	}
	f.must("token pump-7 --json")
}

func TestRemovedDataIsGoneAndOfOthersNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.seed(3, 150)
	told := commands.Of(f.client, f.names)
	for _, id := range []schema.DeviceID{"acme:d0000", "acme:d0001"} {
		_, err := told.Send(t.Context(), schema.Command{Device: id, Body: "1"}, time.Hour)
		_, errDesired := told.SetDesired(t.Context(), id, "2", "ann")
		must(t, errors.Join(err, errDesired))
	}
	f.must("schedule --once")
	f.work()
	others := len(f.rowsOf("acme:d0000")) + len(f.rowsOf("acme:d0002"))
	if len(f.rowsOf("acme:d0001")) < 153 {
		t.Fatalf("it only has %v", f.rowsOf("acme:d0001"))
	}
	f.must("device remove acme:d0001 --yes") // its data can be deleted later, too
	r := jsonOf[removedLine](t, f.must("device remove acme:d0001 --data --yes --json"))[0]
	if r.Status != schema.Erased || r.Readings != 150 || r.Outputs < 3 || r.Commands != 3 {
		t.Errorf("%+v, %+v", r, r.Deleted)
	}
	if left := f.rowsOf("acme:d0001"); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
	if n := len(f.rowsOf("acme:d0000")) + len(f.rowsOf("acme:d0002")); n != others {
		t.Errorf("others have %d rows, and had %d", n, others)
	}
	f.refused(exitFailed, "acme:d0001", "query acme:d0001 --latest")
	f.must("schedule --once")
	f.work()
	if left := f.rowsOf("acme:d0001"); len(left) != 0 {
		t.Errorf("a run has made %v", left)
	}
}

// TestDeviceThatIsNamedTwiceIsRemovedOnce, as a list of two imports may name it.
func TestDeviceThatIsNamedTwiceIsRemovedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must("enrollment add plant1 --tenant acme")
	f.must("device add pump-7 --enrollment plant1")
	file := filepath.Join(t.TempDir(), "registered.txt")
	writeFile(t, file, "pump-7\n\npump-7\n")
	f.refused(exitUsage, "1 device leaves the fleet", "device remove --file "+file)
	if out := f.must("device remove --yes --file " + file); strings.Count(out, "pump-7") != 1 {
		t.Error(out)
	}
}

// TestRemovedDataIsGoneOnceNoImportCanAddMore: one that runs goes on for a while, with the account's key.
func TestRemovedDataIsGoneOnceNoImportCanAddMore(t *testing.T) {
	f := newFixture(t)
	f.must("enrollment add line4 --tenant=contoso")
	r := sas.NewRegistry(f.client, f.names)
	at := tables.TicksOf(time.Now().Add(-time.Hour))
	row := func(id schema.DeviceID, n int) []tables.Op {
		key := (at + tables.Ticks(n)).String()
		return []tables.Op{tables.Insert(tables.Entity{PartitionKey: string(id), RowKey: key})}
	}
	writing := map[schema.DeviceID]*sas.PastWriter{}
	for _, id := range []schema.DeviceID{"pump-7", "pump-8"} {
		f.must("device add " + string(id))
		device, err := r.Get(t.Context(), id)
		must(t, err)
		writing[id] = r.WritePast(device, f.client.Table(device.Readings), schema.Import{From: at, To: at + 10})
		must(t, writing[id].Insert(t.Context(), row(id, 0)))
	}
	must(t, writing["pump-8"].End(t.Context()))
	f.refused(exitFailed, "device pump-7 is not completely removed: history is being imported for it",
		"device remove pump-7 --data --yes")
	f.must("device remove pump-8 --data --yes")
	must(t, writing["pump-7"].Insert(t.Context(), row("pump-7", 1)))
	if left := f.rowsOf("pump-8"); len(left) != 0 {
		t.Errorf("of pump-8, whose import has ended, are left %v", left)
	}
	f.refused(exitFailed, "repeat the command later", "device remove pump-7 --data --yes")
	f.says("pump-7", "device list --status=removing --json")
}

// TestRemovedDataIsGoneOnceNoTokenCanAddMore: no revocation ends the tokens of the enrollment, and none is needed.
func TestRemovedDataIsGoneOnceNoTokenCanAddMore(t *testing.T) {
	f := newFixture(t)
	f.must("enrollment add line4 --tenant=contoso --revocation=at-expiry")
	f.must("enrollment add line5 --tenant=contoso")
	neighbour := schema.DeviceID("pump-0")
	for n := 1; neighbour == "pump-7" || sas.Cohort(neighbour) != sas.Cohort("pump-7"); n++ {
		neighbour = schema.DeviceID(fmt.Sprint("pump-", n))
	}
	f.must("device add pump-7 --enrollment=line4 --json")
	f.must("device add --enrollment=line5 --json", string(neighbour))
	f.must("token pump-7 --json")
	f.must("token --json", string(neighbour))
	f.refused(exitUsage, "0 other devices must request a new token", "device remove pump-7")
	f.refused(exitFailed, "its last token expires at", "device remove pump-7 --data --yes")
	f.refused(exitFailed, "its last token expires at", "device remove pump-7 --data --yes") // again
	f.must("device remove pump-7 --yes")
	f.refused(exitFailed, "its last token expires at", "device remove pump-7 --data --yes")
	if d := jsonOf[answers.Record](t, f.must("device show --json", string(neighbour)))[0]; d.Tokens[0].Ended {
		t.Error("the token of another device has ended")
	}
	for _, enrollment := range []string{"line4", "line5"} { // it comes back, and may do so elsewhere
		f.must("device remove pump-7 --yes")
		f.must("device add pump-7 --json --enrollment=" + enrollment)
		f.refused(exitFailed, "its last token expires at", "device remove pump-7 --data --yes")
	}
	f.must("device remove pump-7 --yes")
	f.must("device add pump-7 --json --enrollment=line5")
	f.must("token pump-7 --json")
	f.says("the last one that no revocation ends expires at 2", "device revoke pump-7")
	f.must("device restore pump-7")

	_, err := f.client.Table(f.names.Readings()).Do(t.Context(), tables.Insert(reading("pump-7", time.Now(), 21.5)))
	must(t, err)
	_, err = sas.NewRegistry(f.client, f.names).Update(t.Context(), "pump-7", func(d *schema.Device) error {
		d.Tokens[0].Expiry = tables.TicksOf(time.Now().Add(-time.Second))
		return nil
	})
	must(t, err)
	f.must("device remove pump-7 --data --yes")
	if left := f.rowsOf("pump-7"); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

// TestRemovedDataIsGoneOfATenantThatTheRecordDoesNotName: a move was killed after it gave the device to the tenant, and
// runs have folded its readings for that since.
func TestRemovedDataIsGoneOfATenantThatTheRecordDoesNotName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.seed(1, 50)
	f.fold()
	id := f.devices[0].ID
	account, err := tables.ParseAccount(text(t, f.storage+"/connection"))
	must(t, err)
	killed := false
	client, err := tables.Connect(tables.Config{Account: account,
		Transport: doer(func(r *http.Request) (*http.Response, error) {
			if killed {
				return nil, context.Canceled
			}
			killed = strings.HasSuffix(r.URL.Path, "/$batch")
			return http.DefaultTransport.RoundTrip(r)
		}), Retry: policy.RetryOptions{MaxRetries: -1}})
	must(t, err)
	at := tables.TicksOf(time.Now().Add(-90 * time.Second)) // its readings begin before, and end after it
	if _, err := sas.NewRegistry(client, f.names).Move(t.Context(), sas.Move{Device: id, To: "fabrikam",
		At: at}); err == nil {
		t.Fatal("nothing has killed the move")
	}
	f.followMove("fabrikam")
	if rows := strings.Join(f.rowsOf(id), "\n"); !strings.Contains(rows, "latest fabrikam") {
		t.Fatalf("nothing was folded for the new tenant: %s", rows)
	}
	f.must("device remove " + string(id) + " --data --yes")
	if left := f.rowsOf(id); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

// A stepper ends a context at a request.
type stepper struct {
	left int
	kill context.CancelFunc
}

func (s *stepper) Do(r *http.Request) (*http.Response, error) {
	if s.left--; s.left < 0 {
		s.kill()
		return nil, context.Canceled
	}
	return http.DefaultTransport.RoundTrip(r)
}

// pipelineOf is the pipeline that fixtures fold with, through a client.
func (f *fixture) pipelineOf(client *tables.Client) *jobs.Pipeline {
	return &jobs.Pipeline{Name: "live", Client: client, Names: f.names, Processors: []fold.Configured{
		latest.Processor.Default(), rollup.Processor.Default(), rate.Processor.Default()}}
}

// The process is killed at each of its requests in turn, and the removal is repeated.
func TestKilledRemovalIsCompletedByARepeat(t *testing.T) {
	f := newFixture(t)
	f.seed(1, 250)
	f.fold()
	id := f.devices[0].ID
	account, err := tables.ParseAccount(text(t, f.storage+"/connection"))
	must(t, err)
	for n := 0; ; n++ {
		ctx, kill := context.WithCancel(t.Context())
		client, err := tables.Connect(tables.Config{Account: account, Transport: &stepper{n, kill}})
		must(t, err)
		err = func() error {
			registry := sas.NewRegistry(client, f.names)
			d, err := registry.Get(ctx, id)
			if err != nil {
				return err
			}
			if err := (&sas.Policies{Client: client, Names: f.names}).Remove(ctx, d); err != nil {
				return err
			}
			eraser := removal.Eraser{Tables: client, Names: f.names, Pipelines: []*jobs.Pipeline{f.pipelineOf(client)}}
			if _, err := eraser.Erase(ctx, d); err != nil {
				return err
			}
			return registry.Left(ctx, id, schema.Erased)
		}()
		kill()
		if err == nil {
			t.Logf("killed at %d requests", n)
			break
		}
		if n > 200 {
			t.Fatal(err)
		}
	}
	if left := f.rowsOf(id); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
	d, err := sas.NewRegistry(f.client, f.names).Get(t.Context(), id)
	if must(t, err); d.Status != schema.Erased {
		t.Errorf("it is %s", d.Status)
	}
}

// A job has read the device, and claims it or writes for it while the device is being removed.
func TestJobUnderWayRestoresNothingOfARemovedDevice(t *testing.T) {
	t.Parallel()
	for stalls := range 4 { // at which of its writes
		t.Run(fmt.Sprint("write=", stalls), func(t *testing.T) {
			t.Parallel() // each waits for a claim to end
			f := newFixture(t)
			f.seed(1, 50)
			d := f.devices[0]
			account, err := tables.ParseAccount(text(t, f.storage+"/connection"))
			must(t, err)
			stalled, resume := make(chan struct{}), make(chan struct{})
			writes := 0
			client, err := tables.Connect(tables.Config{Account: account,
				Transport: doer(func(r *http.Request) (*http.Response, error) {
					if r.Method != http.MethodGet {
						if writes++; writes == stalls+1 {
							close(stalled)
							<-resume
						}
					}
					return http.DefaultTransport.RoundTrip(r)
				})})
			must(t, err)
			job := f.pipelineOf(client)
			job.Hold = 8 * time.Second // for what the job does once it is resumed, on a busy machine
			var running sync.WaitGroup
			running.Go(func() { // its error or result does not matter
				_, _ = job.Run(t.Context(), jobs.Batch{First: d.Member().Place(), Last: d.Member().Place()})
			})
			<-stalled
			must(t, (&sas.Policies{Client: f.client, Names: f.names}).Remove(t.Context(), d))
			goOn := sync.OnceFunc(func() { close(resume) })
			erasing, err := tables.Connect(tables.Config{Account: account,
				Transport: doer(func(r *http.Request) (*http.Response, error) {
					answer, err := http.DefaultTransport.RoundTrip(r)
					if r.Method != http.MethodGet { // it has taken the claim away, and waits for its end
						goOn()
					}
					return answer, err
				})})
			must(t, err)
			eraser := removal.Eraser{Tables: erasing, Names: f.names, Pipelines: []*jobs.Pipeline{f.pipelineOf(erasing)}}
			_, err = eraser.Erase(t.Context(), d)
			must(t, err)
			must(t, sas.NewRegistry(f.client, f.names).Left(t.Context(), d.ID, schema.Erased))
			running.Wait()
			if left := f.rowsOf(d.ID); len(left) != 0 {
				t.Errorf("stalled at write %d, a job has written %v", stalls, left)
			}
		})
	}
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }
