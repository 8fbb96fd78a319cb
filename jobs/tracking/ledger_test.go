package tracking

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"furrow/jobs/coverage"
	"furrow/tables"
	"furrow/tables/schema"
)

func TestRowKeyLiesWhereTextOrderHasIt(t *testing.T) {
	for key, want := range map[string]tables.Ticks{
		"0638000000000000000":    638000000000000000,
		"0638000000000000000-a":  638000000000000000,
		"06380000000000000005":   638000000000000000,
		"0638":                   637999999999999999,
		"0638-x":                 637999999999999999,
		"0638x":                  638999999999999999,
		"":                       0,
		"-":                      0,
		"x":                      tables.MaxTicks,
		"9999999999999999999":    tables.MaxTicks,
		tables.MaxTicks.String(): tables.MaxTicks,
		"0000000000000000000":    0,
	} {
		if got := tables.TicksBefore(key); got != want {
			t.Errorf("%q lies at %d, want %d", key, got, want)
		}
	}
}

// FuzzTicksBefore: the tick's text is the last that is not after the key.
func FuzzTicksBefore(f *testing.F) {
	f.Add("0638000000000000000-a")
	f.Add("31553789759999999999")
	f.Fuzz(func(t *testing.T, key string) {
		got := tables.TicksBefore(key)
		if got > 0 && got.String() > key {
			t.Fatalf("%q is before %s", key, got)
		}
		if got < tables.MaxTicks && (got+1).String() <= key {
			t.Fatalf("%q is not before %s", key, got+1)
		}
	})
}

func TestLedgerCountsAreKeptThroughCompaction(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	now := tables.TicksOf(time.Date(2026, 11, 20, 12, 34, 0, 0, time.UTC))
	var l Ledger
	counted := map[tables.Ticks]int64{} // by hour
	for range 5000 {
		at := now - tables.Ticks(random.Int64N(int64(40*tables.Day)))
		l.Add(schema.RowKey{Ticks: at, Suffix: "x"}.String())
		counted[at-at%tables.Hour]++
		if random.IntN(50) == 0 {
			l.Compact(now)
		}
	}
	l.Compact(now)
	total := int64(0)
	for _, s := range l.Spans() {
		want := int64(0)
		for at := s[0]; at < s[1]; at += tables.Hour {
			want += counted[at]
		}
		if got := l.Count(s[0], s[1]); got != want {
			t.Fatalf("%s to %s: %d rows, want %d", s[0], s[1], got, want)
		}
		if long := s[1]-s[0] == tables.Day; long != (s[1] <= now-keepHours-(now-keepHours)%tables.Day) {
			t.Fatalf("%s to %s is a span of the wrong length", s[0].Time(), s[1].Time())
		}
		total += want
	}
	if total != 5000 {
		t.Errorf("%d rows are in the spans, of 5000", total)
	}
	b := l.Append(nil)
	again, err := ParseLedger(b)
	if err != nil || !reflect.DeepEqual(*again, l) || len(b) > 4000 {
		t.Errorf("%d bytes are read back as another ledger: %v", len(b), err)
	}
}

func TestRefoldReplacesCounts(t *testing.T) {
	var l, counted Ledger
	for i := range tables.Ticks(48) {
		l.add(i*tables.Hour, 1)
	}
	counted.add(3*tables.Hour, 7)
	more := l.replace(coverage.Window{To: tables.Day}, &counted)
	first, fourth := l.Count(0, 2*tables.Day), l.Count(3*tables.Hour, 4*tables.Hour)
	if got := fmt.Sprint(more, first, fourth, len(l.Spans())); got != "-17 31 7 25" {
		t.Errorf("counts are %s", got)
	}
	l.Drop(coverage.Window{To: tables.Day + 4*tables.Hour})
	if got := fmt.Sprint(l.Count(0, 2*tables.Day), len(l.Spans())); got != "20 20" {
		t.Errorf("after a drop: %s", got)
	}
}

// FuzzLedger: no bytes crash the reader, and what it reads is written the same.
func FuzzLedger(f *testing.F) {
	var l Ledger
	l.Add("0638000000000000000")
	l.Add("0639000000000000000")
	l.Compact(tables.MaxTicks)
	f.Add(l.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseLedger(b)
		if err != nil {
			return
		}
		again, err := ParseLedger(l.Append(nil))
		if err != nil || !bytes.Equal(again.Append(nil), l.Append(nil)) {
			t.Fatalf("%x is read as %+v, and back as %+v, %v", b, l, again, err)
		}
		l.Compact(639000000000000000)
		l.Add("0638000000000000000")
	})
}

// TestLedgerOfAllThatTokensMayAdmitFitsItsProperty has a row a second in each day of the longest backfill, and in each
// hour that is kept.
func TestLedgerOfAllThatTokensMayAdmitFitsItsProperty(t *testing.T) {
	now := tables.TicksOf(time.Date(2026, 11, 20, 23, 59, 0, 0, time.UTC))
	l := &Ledger{}
	for at := now.Add(-schema.MaxBackfill - schema.MaxLife); at < now; at += tables.Hour {
		l.add(at, 3600)
	}
	l.Compact(now)
	if n := len(l.Append(nil)); n > stateChunk/2 {
		t.Errorf("it takes %d bytes of %d", n, stateChunk)
	}
}
