package coverage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"furrow/tables"
)

// A device is one as an engine sees it that does nothing but what package coverage says: rows, outputs, a ledger and
// time. Its days are short lists.
type device struct {
	random  *rand.Rand
	now     tables.Ticks
	last    tables.Ticks // checkpoint
	late    time.Duration
	stored  map[int]map[int]bool // rows of days
	outputs map[int]map[int]bool // rows that they were made of
	rebuild map[int]map[int]bool // of merging outputs, while they are rebuilt
	merged  map[int]map[int]bool // rows of merging outputs; false: under other settings
	counted map[int]int          // ledger
	old     map[int]bool         // days with outputs of other settings
	all     map[int]map[int]bool
	rows    int
	notes   []Window // imports that the pipeline does not know yet
	c       Coverage
}

func newDevice(random *rand.Rand) *device {
	set := func() map[int]map[int]bool { return map[int]map[int]bool{} }
	return &device{random: random, now: at(40), late: 8 * 24 * time.Hour, stored: set(), outputs: set(), rebuild: set(),
		merged: set(), counted: map[int]int{}, old: map[int]bool{}, all: set()}
}

func today(at tables.Ticks) int { return int(at / tables.Day) }

func put(in map[int]map[int]bool, day, row int) {
	if in[day] == nil {
		in[day] = map[int]bool{}
	}
	in[day][row] = true
}

// store has a row arrive.
func (d *device) store(day int) {
	d.rows++
	put(d.stored, day, d.rows)
	put(d.all, day, d.rows)
}

// admitted is the first day that tokens admit rows of.
func (d *device) admitted() int { return today(d.now.Add(-d.late)) }

// merge has merging outputs take a row. One that they have already tells them nothing new.
func (d *device) merge(day, row int) {
	if _, is := d.merged[day][row]; !is {
		put(d.merged, day, row)
	}
}

// live folds what lies above the checkpoint, after it has heeded imports.
func (d *device) live() {
	for _, w := range d.notes {
		d.c.Stale(Window{w.From, min(w.To, d.last)}, Import)
	}
	d.notes = nil
	from := today(d.last)
	for day := from; day < today(d.now); day++ {
		if len(d.stored[day]) == 0 || at(day) < d.c.Watermark {
			continue
		}
		d.c.Unseal(of(day, day+1), Uncounted)
		for row := range d.stored[day] {
			put(d.outputs, day, row)
			d.merge(day, row)
		}
		d.counted[day] = len(d.stored[day])
		d.last = at(day + 1)
	}
}

// make makes a day again, of the rows that it has.
func (d *device) make(day int, p Part) {
	rebuild := d.c.RebuildTo
	for row := range d.stored[day] {
		put(d.outputs, day, row)
		d.merge(day, row)
		if rebuild != 0 {
			put(d.rebuild, day, row)
		}
	}
	delete(d.old, day)
	if !p.Sealed {
		d.counted[day] = len(d.stored[day])
	}
}

// repair makes the first days again that are to be made.
func (d *device) repair() {
	w := d.c.Next()
	for day := today(w.From); at(day) < w.To && d.random.IntN(3) > 0; day++ {
		rebuild := d.c.RebuildTo
		d.make(day, d.c.Parts(of(day, day+1))[0])
		d.c.Made(of(day, day+1))
		if rebuild != 0 && d.c.RebuildTo == 0 {
			for above := today(rebuild); above < today(d.last); above++ {
				for row, is := range d.merged[above] {
					if is {
						put(d.rebuild, above, row)
					}
				}
			}
			for below := range today(d.c.Watermark) {
				for row := range d.merged[below] {
					put(d.rebuild, below, row)
				}
			}
			d.merged, d.rebuild = d.rebuild, map[int]map[int]bool{}
		}
	}
}

// noted reports whether an import that the pipeline does not know has a day.
func (d *device) noted(w Window) bool { return slices.ContainsFunc(d.notes, w.Meets) }

// audit counts days, all of them or those that tokens admit no more, and seals.
func (d *device) audit() {
	d.c.Admit(Known{d.now, d.late})
	full := d.random.IntN(2) == 0
	floor := at(d.admitted())
	for _, w := range d.c.Sealable(Window{0, d.last}) {
		for day := today(w.From); day < today(w.To); day++ {
			if !full && at(day+1) > floor || len(d.stored[day]) <= d.counted[day] || d.noted(of(day, day+1)) {
				continue
			}
			if d.random.IntN(2) == 0 {
				d.c.Stale(of(day, day+1), Late)
			} else {
				d.make(day, Part{})
			}
		}
	}
	for _, w := range d.c.Sealable(Window{0, min(floor, d.last)}) {
		for day := today(w.From); day < today(w.To); day++ {
			if !d.noted(of(day, day+1)) && len(d.c.Seal(of(day, day+1), Known{d.now, d.late})) > 0 {
				delete(d.counted, day)
			}
		}
	}
}

// retain deletes what is older than some days, and checks that it was folded.
func (d *device) retain() error {
	c := d.c
	c.Admit(Known{d.now, d.late})
	to, _ := c.Open(min(d.last, at(d.admitted()-d.random.IntN(5))))
	for _, w := range d.notes {
		to = min(to, w.From)
	}
	for day := range today(max(to, 0)) {
		for row := range d.stored[day] {
			if _, merged := d.merged[day][row]; !d.outputs[day][row] || !merged || d.old[day] {
				return fmt.Errorf("row %d of day %d is deleted, which was not folded", row, day)
			}
		}
		if at(day) >= d.c.Watermark {
			delete(d.stored, day)
		}
	}
	d.c.Raise(to)
	return nil
}

// happen does one thing.
func (d *device) happen() error {
	switch d.random.IntN(12) {
	case 0, 1:
		d.now += tables.Ticks(d.random.IntN(40)) * tables.Hour
	case 2, 3:
		d.store(today(d.now))
	case 4:
		d.store(max(d.admitted(), today(d.c.Watermark), 0) + d.random.IntN(3))
	case 5:
		if d.random.IntN(4) == 0 {
			from := today(d.c.Watermark) + d.random.IntN(max(1, today(d.last-d.c.Watermark)))
			for day := from; day < from+3; day++ {
				d.store(day)
			}
			d.notes = append(d.notes, of(from, from+3))
		}
	case 6:
		if d.random.IntN(6) == 0 && d.last > 0 {
			d.c.Rebuild(d.last, Settings)
			d.rebuild = map[int]map[int]bool{}
			for day := today(d.c.Watermark); day < today(d.last); day++ {
				d.old[day] = true
				for row := range d.merged[day] {
					d.merged[day][row] = false
				}
			}
		}
	case 7:
		if d.random.IntN(6) == 0 {
			d.late += time.Duration(d.random.IntN(5)) * 24 * time.Hour
		}
	case 8:
		d.live()
	case 9:
		d.audit()
	case 10:
		d.repair()
	case 11:
		if d.random.IntN(3) == 0 {
			return d.retain()
		}
	}
	return nil
}

// settle lets time pass until no token admits what was stored.
func (d *device) settle() {
	for range 6 {
		d.now += tables.Ticks(d.late/100)/4 + tables.Day
		for range 3 {
			d.live()
			d.audit()
			for !d.c.Next().Empty() {
				d.repair()
			}
		}
	}
}

// TestNoRowIsLeftOutOrDeletedUnfolded: whatever happens to a device whose engine heeds its coverage, each row is in the
// outputs before it is deleted, and all of them in the end.
func TestNoRowIsLeftOutOrDeletedUnfolded(t *testing.T) {
	first := uint64(time.Now().UnixNano())
	t.Logf("seeds from %d on", first)
	for seed := first; seed < first+2000; seed++ {
		d := newDevice(rand.New(rand.NewPCG(seed, 0)))
		for n := range 300 {
			if err := d.happen(); err != nil {
				t.Fatalf("seed %d, after %d things: %v", seed, n, err)
			}
		}
		d.settle()
		for day, rows := range d.all {
			for row := range rows {
				if !d.outputs[day][row] || !d.merged[day][row] || d.old[day] && at(day) >= d.c.Watermark {
					t.Fatalf("seed %d: row %d of day %d is in outputs: %t, merged %t, of other settings %t", seed, row, day,
						d.outputs[day][row], d.merged[day][row], d.old[day])
				}
			}
		}
		if at, last := d.c.SealedTo(); at != last || at < d.last-tables.Ticks(d.late/100)-2*tables.Day {
			t.Fatalf("seed %d: days are sealed up to %d, of %d: %+v", seed, today(at), today(d.last), d.c.parts)
		}
	}
}
