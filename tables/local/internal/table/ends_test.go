package table

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/odata"
	"furrow/tables/local/internal/wire"
)

// Writers add and remove rows in some partitions. One reader follows each: it asks for what comes after the last row
// that it has seen, as a worker does. It sees each row that was acknowledged before it asked.
func TestReadersMissNoRowOfAPartitionWhoseEndIsKnown(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const partitions, rows = 6, 300
	s := open(t)
	owner := &auth.Grant{Owner: true}
	put := func(partition, row string, k kind) {
		op := &operation{kind: k, table: "rows", partition: partition, row: row}
		if _, _, err := s.apply(&wire.Request{Clock: time.Now}, owner, []*operation{op}); err != nil {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	for p := range partitions {
		partition := fmt.Sprint("device-", p)
		var mu sync.Mutex
		written := 0
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(p)))
			for i := range rows {
				time.Sleep(time.Duration(random.IntN(300)) * time.Microsecond)
				put(partition, fmt.Sprintf("%04d", i), insert)
				if random.IntN(4) == 0 {
					put(partition, "9999", insertOrReplace)
					put(partition, "9999", remove)
				}
				mu.Lock()
				written = i + 1
				mu.Unlock()
			}
		})
		all.Go(func() {
			seen := 0
			for seen < rows {
				mu.Lock()
				want := written
				mu.Unlock()
				filter := fmt.Sprintf("PartitionKey eq '%s' and RowKey gt '%04d' and RowKey lt '9'", partition, seen-1)
				found, _ := ask(t, s, owner, filter)
				if seen += len(found); seen < want {
					t.Errorf("%s: %d rows are seen after %d were acknowledged", partition, seen, want)
					return
				}
			}
		})
	}
	all.Wait()
}

// Whatever is known of ends, a write finds the row that it would double, and none that was deleted.
func TestWritesFindTheRowsThatAreThere(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := open(t)
	there := map[string]bool{}
	owner := &auth.Grant{Owner: true}
	id := must.Have(s.find("rows"))(t).ID
	for n := range 5000 {
		// Most rows are new ones at the end, as those of devices are.
		row := fmt.Sprintf("%04d", 100+n-random.IntN(3)*random.IntN(20))
		op := &operation{kind: insert, table: "rows", partition: fmt.Sprint(random.IntN(3)), row: row}
		if random.IntN(4) == 0 {
			op.kind, op.ifMatch = remove, "*"
		}
		if random.IntN(2) == 0 { // as before a write by SAS
			s.knowEnd(entityKey(id, op.partition, ""), row)
		}
		key := op.partition + " " + row
		_, _, err := s.apply(&wire.Request{Clock: time.Now}, owner, []*operation{op})
		if found := (op.kind == remove) == (err == nil); found != there[key] {
			t.Fatalf("operation %d on row %s: it is there: %t, found: %t (%v)", n, key, there[key], found, err)
		}
		there[key] = op.kind == insert
		if random.IntN(10) == 0 {
			ask(t, s, owner, fmt.Sprintf("PartitionKey eq '%s' and RowKey ge '%s'", op.partition, row))
		}
		if random.IntN(500) == 0 {
			s.ends = newEnds() // as after a restart
		}
	}
}

func TestQueriesInVainAreAnsweredFromMemory(t *testing.T) {
	s := open(t, "a")
	owner := &auth.Grant{Owner: true}
	known := func(filter string) bool {
		m := must.Have(s.find("rows"))(t)
		keys := odata.KeysOf(must.Have(odata.Parse(filter))(t))
		lower, upper, _, err := s.span(&wire.Request{}, owner, m, keys)
		must.Succeed(t, err)
		partition, row, one := partitionOf(lower, upper)
		return one && s.ends.before(partition, row)
	}
	for _, c := range []struct {
		filter string
		learns bool
	}{
		{"PartitionKey eq 'a'", false},
		{"PartitionKey eq 'a' and RowKey gt '98'", false},
		{"PartitionKey eq 'a' and RowKey gt '05' and RowKey lt '06'", false}, // rows follow
		{"PartitionKey ge 'b' and RowKey gt '99'", false},                    // any partition
		{"PartitionKey eq 'a' and RowKey gt '99'", true},
		{"PartitionKey eq 'a' and RowKey gt '99' and RowKey lt '999'", true},
		{"PartitionKey eq 'b' and RowKey gt '99' and RowKey le '999'", true},
	} {
		ask(t, s, owner, c.filter)
		if known(c.filter) != c.learns {
			t.Errorf("%s: an answer from memory: %t, want %t", c.filter, !c.learns, c.learns)
		}
	}
	op := &operation{kind: insert, table: "rows", partition: "a", row: "990"}
	if _, _, err := s.apply(&wire.Request{Clock: time.Now}, owner, []*operation{op}); err != nil {
		t.Fatal(err)
	}
	if known("PartitionKey eq 'a' and RowKey gt '99'") || !known("PartitionKey eq 'a' and RowKey gt '990'") {
		t.Error("a new row does not move the end behind itself")
	}
}

func TestEndsTakeBoundedMemory(t *testing.T) {
	e := newEnds()
	for i := range 3 * maxEnds * len(e.shards) {
		e.learn(fmt.Appendf(nil, "partition %d", i), []byte("row"))
	}
	n := 0
	for i := range e.shards {
		n += len(e.shards[i].known)
	}
	if n > maxEnds*len(e.shards) || n < maxEnds*len(e.shards)*9/10 {
		t.Errorf("%d ends are known, want at most %d and not many fewer", n, maxEnds*len(e.shards))
	}
}

// Workers ask for all devices of a fleet in turn. Of one that is twice as large as what can be known, nearly half is.
func TestTheEndsOfALargeFleetStayKnown(t *testing.T) {
	e := newEnds()
	n, known := 2*maxEnds*len(e.shards), 0
	for round := range 3 {
		known = 0
		for i := range n {
			partition, row := fmt.Appendf(nil, "partition %d", i), []byte("row")
			if e.before(partition, row) {
				known++
			} else if _, worth := e.has(partition); worth {
				e.learn(partition, row)
			}
		}
		if round == 0 && known > 0 {
			t.Errorf("%d ends were known before anybody asked", known)
		}
	}
	if known < n*4/10 {
		t.Errorf("%d of %d ends are known in the third round, want nearly half", known, n)
	}
}

func TestLongKeysAreNotKept(t *testing.T) {
	s := open(t)
	e, partition, long := s.ends, []byte("partition"), strings.Repeat("r", maxKeys)
	s.findEnd(partition, []byte(long))
	if known, _ := e.has(partition); known {
		t.Error("a long row key is kept")
	}
	e.learn(partition, []byte("a"))
	e.raise(partition, []*operation{{row: long}})
	if known, _ := e.has(partition); known {
		t.Error("after a row with a long key, an end is known")
	}
	e.learn(partition, []byte("a"))
	ops := []*operation{{row: "a" + long}, {row: "b"}}
	if _, rising := e.raise(partition, ops); rising {
		t.Error("a long key before a short one is kept")
	}
	e.learn(partition, []byte("a"))
	ops = []*operation{{row: "a"}, {row: "b"}}
	before, _ := e.raise(partition, ops)
	e.settle(partition, before, ops, []entity.Stored{{1}, {2}})
	rows, known := e.since(partition, []byte("a"+long))
	from, _ := e.shard(partition).known[string(partition)].from()
	if !known || len(rows) != 1 || len(from) > len("a")+1 {
		t.Errorf("after a query with a long key: known %t, %d rows, from %.9q of %d bytes", known, len(rows), from, len(from))
	}
}

// BenchmarkQueryInVain asks for rows after the last one of many partitions, for what is known and for what is not.
func BenchmarkQueryInVain(b *testing.B) {
	s := open(b, slices.Collect(func(yield func(string) bool) {
		for i := range 500 {
			yield(fmt.Sprintf("device-%03d", i))
		}
	})...)
	m := must.Have(s.find("rows"))(b)
	for _, known := range []bool{false, true} {
		b.Run(fmt.Sprintf("known=%t", known), func(b *testing.B) {
			i := 0
			for b.Loop() {
				lower := entityKey(m.ID, fmt.Sprintf("device-%03d", i%500), "99-")
				i++
				p := &page{top: 1000, render: &entity.Renderer{Table: "rows"}}
				read := s.fill
				if known {
					read = s.look
				}
				must.Succeed(b, read(p, lower, entityKey(m.ID, string(lower[9:19]), "999")))
			}
		})
	}
}
