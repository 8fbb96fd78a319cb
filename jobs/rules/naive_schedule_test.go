package rules

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// changesOfClock are days around which clocks of a zone change, twice a year.
var changesOfClock = map[string][]string{
	"Europe/Rome":         {"2026-03-29", "2026-10-25"},
	"America/New_York":    {"2026-03-08", "2026-11-01"},
	"Australia/Lord_Howe": {"2026-10-04", "2026-04-05"},
}

// A naiveDose is a time of a day, as a clock on the wall showed it.
type naiveDose struct {
	at, wall time.Time // when it comes, and what the clock shows then
	of       time.Time // what it should show: another time if the clock skips that
}

// naiveDoses watches a clock on the wall, minute by minute, from one time to another. A time that the clock skips comes
// as long after the skip as it would have come without it.
func naiveDoses(times []string, zone *time.Location, from, to time.Time) (all []naiveDose) {
	shown := func(at time.Time) time.Time {
		at = at.In(zone)
		return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
	}
	seen := map[time.Time]bool{}
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		wall, before := shown(at), shown(at.Add(-time.Minute))
		for skipped := before.Add(time.Minute); skipped.Before(wall); skipped = skipped.Add(time.Minute) {
			if slices.Contains(times, skipped.Format("15:04")) && !seen[skipped] {
				seen[skipped] = true
				late := skipped.Sub(before) - time.Minute
				all = append(all, naiveDose{at.Add(late), wall.Add(late), skipped})
			}
		}
		if slices.Contains(times, wall.Format("15:04")) && !seen[wall] {
			seen[wall] = true
			all = append(all, naiveDose{at, wall, wall})
		}
	}
	slices.SortStableFunc(all, func(a, b naiveDose) int { return a.at.Compare(b.at) })
	for i := len(all) - 1; i > 0; i-- { // two that come at once are one
		if all[i].at.Equal(all[i-1].at) {
			all = slices.Delete(all, i-1, i)
		}
	}
	return all
}

// A scheduled is what happens to a device with a schedule: it takes doses, moves to other zones, and jobs run.
type scheduled struct {
	times         []string
	before, after time.Duration
	zones         []string // at each job
	jobs, taken   []time.Time
}

// naive judges each dose when it is over.
func (s scheduled) naive(t *testing.T) (said []string) {
	first, last := s.jobs[0], s.jobs[len(s.jobs)-1]
	doses := map[string][]naiveDose{}
	var judged time.Time // the last dose that was, by the wall
	open, watched := false, first
	met := map[time.Time]bool{} // by the wall
	rest := s.taken
	say := func(what string, at time.Time, about string) {
		said = append(said, strings.TrimSpace(fmt.Sprintf("%s %s %s", what, at.UTC().Format("02 15:04"), about)))
	}
	for i, job := range s.jobs {
		zone := s.zones[i]
		if doses[zone] == nil {
			location := must.Have(time.LoadLocation(zone))(t)
			doses[zone] = naiveDoses(s.times, location, first.Add(-72*time.Hour), last.Add(72*time.Hour))
		}
		n := 0
		for n < len(rest) && !rest[n].After(job) {
			n++
		}
		own := rest[:n]
		rest = rest[n:]
		if i > 0 && zone != s.zones[i-1] {
			if watched = job; len(own) > 0 {
				watched = own[0]
			}
		}
		waiting := func() (all []naiveDose) {
			for _, d := range doses[zone] {
				if d.wall.After(judged) && !d.at.Add(-s.before).Before(first) && !d.at.Add(s.after).Before(watched) {
					all = append(all, d)
				}
			}
			return all
		}
		judge := func(until time.Time) {
			for all := waiting(); len(all) > 0 && !all[0].at.Add(s.after).After(until); all = all[1:] {
				d := all[0]
				judged = d.wall
				if met[d.wall] {
					continue
				}
				over := d.at.Add(s.after)
				if open {
					say("closed", over, reasonNext)
				}
				say("opened", over, d.of.Format("15:04"))
				open = true
			}
		}
		for _, at := range own {
			judge(at)
			for _, d := range waiting() {
				if !met[d.wall] && !at.Before(d.at.Add(-s.before)) && at.Before(d.at.Add(s.after)) {
					met[d.wall] = true
					break
				}
			}
			if open {
				say("closed", at, "")
				open = false
			}
		}
		judge(job)
	}
	return said
}

// fold has a bench do the same.
func (s scheduled) fold(t *testing.T) (said []string) {
	b := newBench(t, rule("dose", &Schedule{Times: strings.Join(s.times, ","), Zone: "labels.tz", Before: s.before,
		After: s.after, Expect: where(t, "taken > 0")}))
	b.known.Heard = tables.TicksOf(s.jobs[0])
	rest := s.taken
	for i, job := range s.jobs {
		b.member.Labels = map[string]string{"tz": s.zones[i]}
		var own []fold.Sample
		for ; len(rest) > 0 && !rest[0].After(job); rest = rest[1:] {
			own = append(own, sample(tables.TicksOf(rest[0]), "taken", 1))
		}
		b.run(tables.TicksOf(job), own...)
	}
	for _, one := range b.all {
		if one.What == schema.Announced {
			continue
		}
		about := one.Value
		if one.What == schema.Closed {
			about = one.Reason
		}
		said = append(said, strings.TrimSpace(fmt.Sprintf("%s %s %s", one.What, one.At.Time().Format("02 15:04"), about)))
	}
	return said
}

// randomDoses returns a week around a change of the clock of some zone.
func randomDoses(t *testing.T, r *rand.Rand, zone string, change string, moves bool) scheduled {
	day := must.Have(time.ParseInLocation(time.DateOnly, change, must.Have(time.LoadLocation(zone))(t)))(t).UTC()
	from := day.Add(-72 * time.Hour).Add(time.Duration(r.IntN(24*60)) * time.Minute)
	end := from.Add(7 * 24 * time.Hour)
	s := scheduled{before: time.Duration(r.IntN(180)) * time.Minute, after: time.Duration(1+r.IntN(180)) * time.Minute}
	for range 1 + r.IntN(5) {
		minute := r.IntN(24 * 60)
		if r.IntN(2) == 0 { // where clocks change
			minute = 60 + r.IntN(150)
		}
		s.times = append(s.times, fmt.Sprintf("%02d:%02d", minute/60, minute%60))
	}
	often := 1 + r.IntN(600)
	all := []string{"Europe/Rome", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Kiritimati"}
	for at := from; at.Before(end); at = at.Add(time.Duration(1+r.IntN(often)) * time.Minute) {
		s.jobs, s.zones = append(s.jobs, at), append(s.zones, zone)
		if moves && r.IntN(30) == 0 {
			zone = all[r.IntN(len(all))]
		}
	}
	gap := 1 + r.IntN(20)
	for at := from; at.Before(end); at = at.Add(time.Duration(1+r.IntN(gap*60)) * time.Minute) {
		s.taken = append(s.taken, at.Add(30*time.Second)) // never at the moment of a job or the end of a dose
	}
	return s
}

// TestRandomDosesAreJudgedAsByAClockOnTheWall compares a week around each change of the clock with a naive evaluation
// that reads the clock every minute.
func TestRandomDosesAreJudgedAsByAClockOnTheWall(t *testing.T) {
	opened, closed := 0, 0
	for zone, changes := range changesOfClock {
		for _, change := range changes {
			for seed := range uint64(24) {
				s := randomDoses(t, rand.New(rand.NewPCG(seed, 3)), zone, change, seed%2 == 1)
				got, want := s.fold(t), s.naive(t)
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d, %s, %s, at %v, %v before to %v after: got\n%s\nwant\n%s", seed, zone, change, s.times,
						s.before, s.after, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				for _, one := range got {
					if strings.HasPrefix(one, schema.Opened) {
						opened++
					} else {
						closed++
					}
				}
			}
		}
	}
	if t.Logf("opened %d, closed %d", opened, closed); opened < 500 || closed < 500 {
		t.Error("want many")
	}
}
