package device

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
)

func mustOpen(t testing.TB, path string) *buffer {
	t.Helper()
	b, _, err := openBuffer(Config{Device: "d", File: path, MaxBytes: 1 << 20}, time.Now())
	must.Succeed(t, err)
	return b
}

func mustAdd(t testing.TB, b *buffer, body string) {
	t.Helper()
	must.Succeed(t, b.add(stamp{}, rowOf(body)))
}

func rowOf(text string) (e tables.Entity) {
	e.Set("a", tables.String(text))
	return e
}

// waits returns the waiting readings of b as text.
func waits(b *buffer) string {
	var all []string
	for _, e := range b.entries {
		all = append(all, e.Row.Get("a").String())
	}
	return strings.Join(all, " ")
}

// The file is cut at every byte, as by a power cut, or has only zeros from there on. It then opens in the state after
// one of the steps that wrote it, with no damage to report, and accepts another reading.
func TestFileCutAtAnyByteOpensInAnEarlierState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "readings")
	b := mustOpen(t, path)
	states := []string{""}
	step := func() {
		states = append(states, waits(b))
	}
	for i := range 4 {
		mustAdd(t, b, fmt.Sprint(i))
		step()
	}
	b.remove(b.next(2)...)
	step()
	mustAdd(t, b, "4")
	step()
	b.remove(b.entries[1])
	step()
	must.Succeed(t, b.close())
	whole := bytes.TrimRight(must.Have(os.ReadFile(path))(t), "\x00")
	last, seen := [2]int{}, map[int]bool{}
	cut := filepath.Join(t.TempDir(), "cut")
	for i := range 2 * (len(whole) + 1) {
		n, zeros := i/2, make([]byte, i%2*len(whole))
		must.Succeed(t, os.WriteFile(cut, append(whole[:n:n], zeros...), 0o600))
		b, reports, err := openBuffer(Config{Device: "d", File: cut, MaxBytes: 1 << 20}, time.Now())
		must.Succeed(t, err)
		if len(reports) > 0 {
			t.Errorf("cut at %d, with %d zeros, it opens with %v", n, len(zeros), reports)
		}
		at := slices.Index(states, waits(b))
		if at < last[i%2] {
			t.Errorf("cut at %d it opens to %q, step %d after step %d", n, waits(b), at, last[i%2])
		}
		last[i%2], seen[at] = at, true
		mustAdd(t, b, "new")
		want := waits(b)
		b.close()
		b = mustOpen(t, cut)
		if got := waits(b); got != want {
			t.Errorf("cut at %d and opened again: %q, want %q", n, got, want)
		}
		b.close()
	}
	if len(seen) != len(states) {
		t.Errorf("%d of %d states were seen", len(seen), len(states))
	}
}

// A damaged record is lost and reported; the records after it are kept.
func TestDamageIsReportedAndLimitedToItsRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "readings")
	b := mustOpen(t, path)
	for i := range 5 {
		mustAdd(t, b, fmt.Sprint(i))
	}
	hit := must.Have(record{Reading: b.entries[2]}.encode())(t)
	b.remove(b.entries[4])
	b.close()
	whole := must.Have(os.ReadFile(path))(t)
	first := bytes.Index(whole, hit)
	for off := first; off < first+len(hit); off++ {
		data := slices.Clone(whole)
		data[off] ^= 0x41
		must.Succeed(t, os.WriteFile(path, data, 0o600))
		b, reports, err := openBuffer(Config{Device: "d", File: path, MaxBytes: 1 << 20}, time.Now())
		must.Succeed(t, err)
		if got := waits(b); got != "0 1 3" || len(reports) != 1 || reports[0].Reason != Damaged {
			t.Errorf("damaged at %d: %q, %v", off, got, reports)
		}
		b.close()
	}
}

func TestKeysNeverChangeAcrossRunsAndRewrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "readings")
	b := mustOpen(t, path)
	zero := time.Now().Round(0)
	for i := range 3 {
		mustAdd(t, b, strings.Repeat("x", i))
	}
	must.Succeed(t, b.anchor(zero, zero, nil))
	keys := func() (all []string) {
		for _, e := range b.entries {
			key, ok := e.key()
			if !ok {
				t.Fatal("a key is not known")
			}
			all = append(all, key.String())
		}
		return all
	}
	want := keys()
	for round := range 4 {
		b.close()
		b = mustOpen(t, path)
		must.Succeed(t, b.anchor(zero.Add(time.Duration(round+1)*time.Hour), zero.Add(24*time.Hour), nil))
		// Enough readings come and go for the file to be rewritten.
		files := b.journal.file
		for range 60 {
			mustAdd(t, b, strings.Repeat("y", 4000))
			b.remove(b.entries[3])
		}
		if b.journal.file == files {
			t.Error("the file was not rewritten")
		}
		if got := keys(); !slices.Equal(got, want) {
			t.Errorf("keys are %v, want %v", got, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 2*slack {
		t.Errorf("the file is %d bytes long, %v", info.Size(), err)
	}
	b.close()
}

func TestFileBelongsToOneProcessAndOneDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "readings")
	b := mustOpen(t, path)
	if _, _, err := openBuffer(Config{Device: "d", File: path}, time.Now()); err == nil ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("%v", err)
	}
	b.close()
	if _, _, err := openBuffer(Config{Device: "e", File: path}, time.Now()); err == nil ||
		!strings.Contains(err.Error(), `"d"`) {
		t.Errorf("%v", err)
	}
	mustOpen(t, path).close()
}

func TestAfterADiskErrorNothingIsAccepted(t *testing.T) {
	b := mustOpen(t, filepath.Join(t.TempDir(), "readings"))
	mustAdd(t, b, "1")
	b.journal.fail(errors.New("input/output error"))
	for range 2 {
		if err := b.add(stamp{}, rowOf("2")); err == nil || !strings.Contains(err.Error(), "input/output error") {
			t.Errorf("%v", err)
		}
	}
	if got := waits(b); got != "1" {
		t.Errorf("%s", got)
	}
	b.close()
}

func TestManySendersKeepTheirReadings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "readings")
	b := mustOpen(t, path)
	var senders sync.WaitGroup
	for i := range 8 {
		senders.Go(func() {
			for j := range 20 {
				mustAdd(t, b, fmt.Sprint(100*i+j))
				if j%2 == 0 {
					b.remove(b.next(1)...)
				}
			}
		})
	}
	senders.Wait()
	want := waits(b)
	b.close()
	b = mustOpen(t, path)
	if got := waits(b); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.close()
}

func FuzzFile(f *testing.F) {
	path := filepath.Join(f.TempDir(), "readings")
	b := mustOpen(f, path)
	mustAdd(f, b, "1")
	mustAdd(f, b, "2")
	b.remove(b.entries[0])
	must.Succeed(f, b.anchor(time.Now(), time.Now(), nil))
	b.close()
	data := must.Have(os.ReadFile(path))(f)
	f.Add(data)
	f.Add([]byte(title("d") + "\n00000000 {}\n\n" + checksum([]byte("{}")) + " {}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, damage, good := scan(data)
		if good > int64(len(data)) || len(damage) > len(found) {
			t.Fatalf("%d good bytes of %d, %d damaged parts before %d records", good, len(data), len(damage), len(found))
		}
		again, _, sameGood := scan(data[:good])
		if len(again) != len(found) || sameGood != good {
			t.Errorf("the good part has %d records, the whole %d", len(again), len(found))
		}
		var b buffer
		b.load(found)
		for _, e := range b.entries {
			line, err := record{Reading: e}.encode()
			r, ok := decode(bytes.TrimSpace(line))
			if err != nil || !ok || r.Reading.id() != e.id() || !reflect.DeepEqual(r.Reading.Row, e.Row) {
				t.Errorf("%+v reads back as %+v, %v", e, r.Reading, err)
			}
		}
	})
}

func BenchmarkAddToAFile(b *testing.B) {
	buffer := mustOpen(b, filepath.Join(b.TempDir(), "readings"))
	buffer.max = 1 << 40
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			mustAdd(b, buffer, "21.5")
		}
	})
	buffer.close()
}

// After a small backward correction of the server's time, readings stay in order. A large one
// is followed at once.
func TestCorrectionOfTheTimeKeepsReadingsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now)
		noon := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
		c.learn(noon, 0, 0)
		at := func() time.Time { return tables.Ticks(c.stamp(time.Time{}).At).Time() }
		if got := at(); !got.Equal(noon) {
			t.Errorf("%s", got)
		}
		c.learn(noon.Add(-10*time.Second), 0, 0)
		time.Sleep(time.Second)
		if got := at(); !got.Equal(noon) {
			t.Errorf("%s", got)
		}
		time.Sleep(10 * time.Second)
		if got := at(); !got.Equal(noon.Add(time.Second)) {
			t.Errorf("%s", got)
		}
		c.learn(noon.Add(-time.Hour), c.since(), c.since())
		if got := at(); !got.Equal(noon.Add(-time.Hour)) {
			t.Errorf("%s", got)
		}
	})
}

// Times in a synctest bubble have no monotonic clock reading, so this test runs outside.
func TestReadingsWithTheirOwnTime(t *testing.T) {
	c := newClock(time.Now)
	sampled := c.start.Add(-time.Minute)
	if got := c.stamp(sampled); got.Timed || got.At != -int64(time.Minute) {
		t.Errorf("%+v", got)
	}
	noon := time.Date(2036, time.November, 21, 12, 0, 0, 0, time.UTC)
	c.learn(noon, 0, 0)
	foreign := noon.Add(-24 * time.Hour)
	for _, one := range []struct{ given, want time.Time }{{sampled, noon.Add(-time.Minute)}, {foreign, foreign},
		{time.Time{}, noon}} {
		got := c.stamp(one.given)
		late := tables.Ticks(got.At).Time().Sub(one.want)
		if !got.Timed || late < 0 || late > 30*time.Second || late > 0 && !one.given.IsZero() {
			t.Errorf("%s is stamped late by %s", one.given, late)
		}
	}
}
