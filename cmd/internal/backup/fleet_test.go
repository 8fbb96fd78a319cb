package backup_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"furrow/cmd/internal/backup"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/local"
)

var (
	rounds = flag.Int("backup.rounds", 2, "backups that are taken, restored, run and audited")
	seed   = flag.Uint64("backup.seed", 0, "seed of the moments; 0 takes one from the clock")
)

// TestRestoredBackupIsExact takes backups at random moments while devices write, and workers fold and are killed. Each
// is restored and worked on. It has every reading that was acknowledged before, and its outputs are those of a new
// fleet that folds the same readings.
func TestRestoredBackupIsExact(t *testing.T) {
	t.Parallel()
	chosen := cmp.Or(*seed, uint64(time.Now().UnixNano()))
	t.Logf("seed %d", chosen)
	random := rand.New(rand.NewPCG(chosen, 0))
	account := azuretest.Local(t)
	world := jobstest.NewWorldIn(t, account, 2*time.Hour, 4, 40)
	fleet := world.NewFleet(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	d := &writers{world: world}
	running.Go(func() { d.write(ctx, t) })
	dying := random.Uint64()
	running.Go(func() { workAndDie(ctx, t, fleet, dying) })
	for round := range *rounds {
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond) // the random moment is the test
		least := d.acknowledged()
		from := must.Have(local.FetchBackup(t.Context(), http.DefaultClient, account.Name, account.Key, account.BlobURL))(t)
		dir := t.TempDir()
		_, err := backup.Take(filepath.Join(dir, "backup"), from, "", nil)
		must.Succeed(t, errors.Join(err, from.Close()))
		to := filepath.Join(dir, "restored")
		must.Have(backup.Restore(filepath.Join(dir, "backup"), to, func(r io.Reader) io.Reader { return r },
			func(string) error { return nil }))(t)
		mustEndRight(t, round, to, fleet, least)
	}
	stop()
	running.Wait()
	t.Logf("%d rows were written meanwhile", d.acknowledged())
}

// writers write ever newer rows of the world's devices.
type writers struct {
	world *jobstest.World
	mu    sync.Mutex
	done  int // rows
}

func (w *writers) acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done
}

// rowOf returns the nth row; every seventh comes an hour late.
func (w *writers) rowOf(n int, began time.Time) tables.Entity {
	at := began.Add(-time.Minute + time.Duration(n)*time.Millisecond)
	if n%7 == 0 {
		at = at.Add(-time.Hour)
	}
	e := tables.Entity{PartitionKey: string(w.world.Devices[n%len(w.world.Devices)]),
		RowKey: fmt.Sprintf("%s-w%06d", tables.TicksOf(at), n)}
	e.Set("temperature", tables.Double(float64(n%50)))
	return e
}

func (w *writers) write(ctx context.Context, t *testing.T) {
	table, began := w.world.Connect(t, nil).Table(w.world.Readings), time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		time.Sleep(10 * time.Millisecond) // so that the readings of long rounds stay few
		_, err := table.Do(ctx, tables.Insert(w.rowOf(n, began)))
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		w.mu.Lock()
		w.done++
		w.mu.Unlock()
	}
}

// workAndDie has workers fold and audit until each of them is killed after a moment. Most of them live long enough to
// commit: a claim holds twice as long each time that a worker dies with it, and whoever comes next waits.
func workAndDie(ctx context.Context, t *testing.T, f *jobstest.Fleet, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for ctx.Err() == nil {
		life, kill := context.WithTimeout(ctx, time.Duration(1+random.IntN(600))*time.Millisecond)
		if err := f.Settle(life, f.Pipeline(t, nil)); err != nil && life.Err() == nil {
			t.Error(err)
		}
		kill()
	}
}

// mustEndRight works on a restored directory until nothing is left to do.
func mustEndRight(t *testing.T, round int, dir string, of *jobstest.Fleet, least int) {
	t.Helper()
	served := must.Have(local.Start(local.Config{Dir: dir}))(t)
	defer func() { must.Succeed(t, served.Close()) }()
	restored := &jobstest.World{Account: must.Have(tables.ParseAccount(served.ConnectionString()))(t),
		Readings: of.World.Readings, Devices: of.World.Devices}
	got := 0
	for _, e := range jobstest.Rows(t, restored.Connect(t, nil).Table(restored.Readings), tables.Query{}) {
		var n int
		if _, err := fmt.Sscanf(e.RowKey[min(19, len(e.RowKey)):], "-w%d", &n); err == nil {
			got++
		}
	}
	if got < least {
		t.Errorf("round %d: %d rows of the writers are there, and %d were acknowledged before the backup", round, got, least)
	}
	again := &jobstest.Fleet{World: restored, Readings: of.Readings, Names: of.Names, Batch: of.Batch}
	must.Succeed(t, again.Settle(t.Context(), again.Pipeline(t, nil)))
	fresh := restored.NewFleet(t)
	must.Succeed(t, fresh.Settle(t.Context(), fresh.Pipeline(t, nil)))
	jobstest.SameEnds(t, jobstest.WithoutHistory(again.Ends(t)), jobstest.WithoutHistory(fresh.Ends(t)), "round ", round)
	t.Logf("round %d: %d rows, %d acknowledged before; %d outputs", round, got, least, len(fresh.Ends(t)))
}
