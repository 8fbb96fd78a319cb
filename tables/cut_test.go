package tables

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

func TestCutReturnsTransactionsThatStorageAccepts(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	table := (&script{}).table(t)
	for range 20 {
		var ops []Op
		for i := range 1 + random.IntN(350) {
			e := row("p", fmt.Sprintf("%04d", i))
			switch random.IntN(4) {
			case 0:
				e.Set("B", Binary(make([]byte, random.IntN(MaxProperty))))
			case 1:
				e.Set("S", String(strings.Repeat("\x01", random.IntN(MaxProperty/2))))
			}
			ops = append(ops, Insert(e))
		}
		groups := must.Have(Cut(ops))(t)
		i := 0
		for _, group := range groups {
			body, _, err := table.transaction(group)
			if err != nil || len(body) > cutAt || len(group) == 0 || len(group) > MaxOps {
				t.Fatalf("seed %d: %d operations in %d bytes, %v", seed, len(group), len(body), err)
			}
			for _, op := range group {
				if op.Entity.RowKey != ops[i].Entity.RowKey {
					t.Fatalf("seed %d: operation %d is out of order", seed, i)
				}
				i++
			}
		}
		if i != len(ops) {
			t.Fatalf("seed %d: %d of %d operations are left", seed, i, len(ops))
		}
	}
}

func TestTheLargestEntityFitsATransaction(t *testing.T) {
	e := row("p", "r")
	for i := range 15 {
		e.Set(fmt.Sprintf("P%d", i), String(strings.Repeat("\x01", MaxProperty/2)))
	}
	must.Succeed(t, e.Check())
	body, _, err := (&script{}).table(t).transaction([]Op{Insert(e)})
	if err != nil || len(body) > maxTransaction {
		t.Errorf("it has %d bytes, %v", len(body), err)
	}
	if groups, err := Cut([]Op{Insert(e), Insert(row("p", "s"))}); err != nil || len(groups) < 1 {
		t.Errorf("%d groups, %v", len(groups), err)
	}
}

func TestInvalidTransactionsAreRefused(t *testing.T) {
	for want, ops := range map[string][]Op{
		"no operations":                        nil,
		`operation 1 is in partition "q"`:      {Insert(row("p", "a")), Insert(row("q", "b"))},
		`operation 1: row "a" occurs twice`:    {Insert(row("p", "a")), Delete("p", "a", AnyETag)},
		"operation 1: \"p\" \"b\": no version": {Insert(row("p", "a")), Merge(row("p", "b"), "")},
		"operation 0: row key is empty":        {Insert(row("p", ""))},
	} {
		if _, err := Cut(ops); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Cut() = %v, want %q", err, want)
		}
		s := &script{}
		if _, err := s.table(t).Submit(t.Context(), ops); err == nil || len(s.requests) > 0 {
			t.Errorf("Submit() = %v after %v", err, s.requests)
		}
	}
	var many []Op
	for i := range MaxOps + 1 {
		many = append(many, Insert(row("p", fmt.Sprint(i))))
	}
	_, err := (&script{}).table(t).Submit(t.Context(), many)
	if err == nil || !strings.Contains(err.Error(), "cut them first") {
		t.Errorf("101 operations: %v", err)
	}
}

func row(pk, rk string) Entity { return Entity{PartitionKey: pk, RowKey: rk} }

// TestSizeIsAnUpperBound compares it with what is sent.
func TestSizeIsAnUpperBound(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	text := func() string {
		var s []rune
		for range random.IntN(50) {
			s = append(s, []rune("a\"\\\x00\x1f\n\u2028é€😀\x7f<")[random.IntN(12)])
		}
		return string(s)
	}
	values := func() []Value {
		return []Value{String(text()), Binary([]byte(text())), Int32(math.MinInt32), Int64(math.MinInt64), Boolean(false),
			Double(-math.MaxFloat64 / 3), Double(math.Inf(-1)), Double(-math.SmallestNonzeroFloat64),
			DateTime(TicksOf(time.Now())), GUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")}
	}
	for range 200 {
		e := row(strings.Repeat("é '", random.IntN(20))+"p", strings.Repeat("%", random.IntN(20))+"r")
		for i, v := range values() {
			e.Set(fmt.Sprintf("P%d", i), v)
		}
		for _, op := range []Op{Insert(e), Replace(e, "W/\"datetime'2026-11-24T00%3A00%3A00.0000000Z'\""),
			Delete(e.PartitionKey, e.RowKey, AnyETag)} {
			request := must.Have(op.appendRequest(nil, "https://furrow.table.core.windows.net/readings",
				string(appendPathLiteral([]byte("(PartitionKey="), e.PartitionKey))+",RowKey=", "?sig=x"))(t)
			if most := op.size() - around + 400; len(request) > most {
				t.Fatalf("seed %d: %d bytes are bounded by %d: %s", seed, len(request), most, request)
			}
		}
	}
}
