package table

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"furrow/tables/local/internal/auth"

	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/odata"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestPowerCutKeepsAcknowledgedWrites takes the power away while transactions
// run: of what was not flushed to disk, none, half or all survives.
func TestPowerCutKeepsAcknowledgedWrites(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for round, survives := range []int{0, 50, 100, 0, 50, 100} {
		random := rand.New(rand.NewPCG(seed, uint64(round)))
		disk := vfs.NewCrashableMem()
		s := openOn(t, disk)
		if err := s.Add("rows"); err != nil {
			t.Fatal(err)
		}
		acked := s.transactions(t, func() *vfs.MemFS {
			return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: survives, RNG: random})
		}, random.IntN(300))
		after := openOn(t, acked.disk)
		for worker, n := range acked.last {
			count := after.countRows(t, fmt.Sprint("p", worker))
			if count%10 != 0 || count < 10*n {
				t.Errorf("round %d, seed %d: partition %d has %d rows after the cut, acknowledged were %d transactions of 10",
					round, seed, worker, count, n)
			}
		}
	}
}

func openOn(t testing.TB, disk vfs.FS) *Service {
	t.Helper()
	st, _ := wiretest.OpenStore(t, disk, "db")
	s, err := New(st, wiretest.Account, []byte(wiretest.Key))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// crash is a disk as it was left, and how many transactions each worker had
// been told of by then.
type crash struct {
	disk *vfs.MemFS
	last [4]int
}

// transactions runs transactions of ten rows until the power is cut, after the
// given number of them.
func (s *Service) transactions(t *testing.T, cut func() *vfs.MemFS, after int) (c crash) {
	var mu sync.Mutex
	var acked [4]int
	total := 0
	var running sync.WaitGroup
	for worker := range acked {
		running.Go(func() {
			r := &wire.Request{Clock: time.Now}
			for n := 0; ; n++ {
				var ops []*operation
				for i := range 10 {
					ops = append(ops, &operation{table: "rows", partition: fmt.Sprint("p", worker),
						row: fmt.Sprintf("%05d-%d", n, i),
						properties: []entity.Property{{Name: "n",
							Value: entity.Value{Type: entity.Int32, Num: int64(i)}}}})
				}
				if _, _, err := s.apply(r, &auth.Grant{Owner: true}, ops); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acked[worker]++
				total++
				if c.disk == nil && total > after {
					c = crash{last: acked, disk: cut()}
				}
				done := c.disk != nil
				mu.Unlock()
				if done {
					return
				}
			}
		})
	}
	running.Wait()
	return c
}

func (s *Service) countRows(t *testing.T, partition string) int {
	t.Helper()
	m, err := s.find("rows")
	if err != nil {
		t.Fatal(err)
	}
	lower, upper := keySpan(m.ID, odata.Keys{Partition: odata.Interval{Low: odata.Bound{Key: partition, Set: true},
		High: odata.Bound{Key: partition, Set: true}}})
	p := &page{id: m.ID, top: 1 << 30, render: &entity.Renderer{Level: entity.NoMetadata, Select: []string{}},
		start: time.Now()}
	if err := s.fill(p, lower, upper); err != nil {
		t.Fatal(err)
	}
	return p.rows
}
