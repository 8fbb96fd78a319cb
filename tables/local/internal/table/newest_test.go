package table

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/odata"
	"furrow/tables/local/internal/wire"
)

// put applies operations of an owner on the table "rows".
func put(s *Service, ops ...*operation) error {
	for _, op := range ops {
		op.table = "rows"
	}
	_, _, err := s.apply(&wire.Request{Clock: time.Now}, &auth.Grant{Owner: true}, ops)
	return err
}

// text returns a property of so many bytes.
func text(size int) []entity.Property {
	return []entity.Property{{Name: "text", Value: entity.Value{Type: entity.String, Raw: make([]byte, size)}}}
}

// pageOf returns the first page of a query, from memory if possible, or from the database.
func pageOf(t *testing.T, s *Service, filter string, top int, memory bool) *page {
	t.Helper()
	e := must.Have(odata.Parse(filter))(t)
	m := must.Have(s.find("rows"))(t)
	lower, upper, _, err := s.span(&wire.Request{}, &auth.Grant{Owner: true}, m, odata.KeysOf(e))
	must.Succeed(t, err)
	p := &page{filter: e, top: top, render: &entity.Renderer{Table: "rows"}, start: time.Now()}
	read := s.fill
	if memory {
		read = s.look
	}
	must.Succeed(t, read(p, lower, upper))
	return p
}

// Whatever is written, and whatever is asked for, a page from memory is the page from the database.
func TestTheNewestRowsAreThoseOfTheDatabase(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := open(t)
	fromMemory, newest := 0, 100
	for n := range 5_000 {
		partition := fmt.Sprint(random.IntN(3))
		near := func() string { return fmt.Sprintf("%06d", newest-random.IntN(6)) }
		switch random.IntN(8) {
		case 0: // rows of a transaction, that rise or do not
			var ops []*operation
			for _, i := range random.Perm(3) {
				if random.IntN(2) == 0 {
					i = len(ops)
				}
				row := fmt.Sprintf("%06d", newest+i)
				if len(ops) == 0 || ops[len(ops)-1].row != row {
					ops = append(ops, &operation{partition: partition, row: row, kind: insertOrReplace,
						properties: text(random.IntN(400))})
				}
			}
			_ = put(s, ops...) // which is refused if a row is in it twice
			newest += 3
		case 1:
			kinds := []kind{insertOrMerge, insertOrReplace, insert, remove}
			_ = put(s, &operation{partition: partition, row: near(), kind: kinds[random.IntN(len(kinds))], ifMatch: "*",
				properties: text(random.IntN(50))}) // which is refused if the row is there, or is not
		case 2, 3, 4:
			newest++
			must.Succeed(t, put(s, &operation{partition: partition, row: fmt.Sprintf("%06d", newest), kind: insert,
				properties: text(random.IntN(50))}))
		default:
			after := near()
			filter := fmt.Sprintf("PartitionKey eq '%s' and RowKey gt '%s'", partition, after)
			if random.IntN(3) == 0 {
				filter += fmt.Sprintf(" and RowKey lt '%s'", near())
			}
			top := 1 + random.IntN(4)
			m := must.Have(s.find("rows"))(t)
			if rows, known := s.ends.since(entityKey(m.ID, partition, ""), []byte(after+"\x00")); known && len(rows) > 0 {
				fromMemory++
			}
			got, want := pageOf(t, s, filter, top, true), pageOf(t, s, filter, top, false)
			if string(got.body) != string(want.body) || got.more != want.more || got.next != want.next ||
				got.scanned != want.scanned {
				t.Fatalf("step %d, %s: from memory %s (more %t, %v), from the database %s (more %t, %v)", n, filter,
					got.body, got.more, got.next, want.body, want.more, want.next)
			}
		}
	}
	if fromMemory < 300 {
		t.Errorf("%d answers were from memory, want many", fromMemory)
	}
}

// A worker folds one row after the other of a device, and never looks for one in the database once it knows its end.
func TestAFollowerReadsNewRowsFromMemory(t *testing.T) {
	s := open(t, "device")
	pageOf(t, s, "PartitionKey eq 'device' and RowKey gt '98'", 1000, true) // learns the end behind row 99
	partition := entityKey(must.Have(s.find("rows"))(t).ID, "device", "")
	last := "99"
	for n := range 9 {
		row := fmt.Sprint(990 + n)
		must.Succeed(t, put(s, &operation{partition: "device", row: row, kind: insert, properties: text(9)}))
		rows, known := s.ends.since(partition, afterRow([]byte(last), true))
		if !known || len(rows) != 1 || string(rows[0].key) != row {
			t.Fatalf("row %s: known %t, %d rows", row, known, len(rows))
		}
		last = row
	}
	if _, known := s.ends.since(partition, []byte("99")); known {
		t.Error("all rows from 99 on are known, though the first ones were read")
	}
}

func TestTheNewestRowsTakeBoundedMemory(t *testing.T) {
	e := newEnds()
	for _, size := range []int{10, 300, 2000} {
		for i := range maxEnds * len(e.shards) {
			partition := fmt.Appendf(nil, "partition %d", i)
			e.learn(partition, []byte("row"))
			op := &operation{row: strings.Repeat("s", 1+i%3)}
			before, rising := e.raise(partition, []*operation{op})
			if rising {
				e.settle(partition, before, []*operation{op}, []entity.Stored{make([]byte, size)})
			}
		}
		for i := range e.shards {
			s := &e.shards[i]
			sum := 0
			for _, at := range s.known {
				if at.size() > maxNewest {
					t.Fatalf("%d bytes of a partition are kept", at.size())
				}
				sum += at.size()
			}
			if sum != s.size || sum > maxShardNewest {
				t.Fatalf("%d bytes are kept, counted are %d", sum, s.size)
			}
		}
	}
}
