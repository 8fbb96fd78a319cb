package fleets

import (
	"fmt"
	"maps"
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/lab/simulate/model"
	"furrow/tables/schema"
)

// bottles hold the pills of patients. They tell when they are opened and closed, and in between that they live.
func bottles() kind {
	return kind{file: "bottles.jsonl", devices: 20, every: 15 * time.Minute, history: 3 * day,
		tenants: []schema.Tenant{"starcare", "homewell"},
		identify: func(m *simulate.Member, number int) {
			m.ID = numbered("bottle-", 1+number)
			medications := []string{"Cordrazine", "Inaprovaline", "Hyronalin"}
			maps.Copy(m.Labels, map[string]string{"user_id": fmt.Sprint("user", 1024+number), "dose": "08:00,20:00",
				"tz": "UTC", "medication": medications[number%len(medications)]})
		},
		send: sendBottle}
}

const (
	betweenDoses = 12 * time.Hour
	firstDose    = 8 * time.Hour // after midnight
	pills        = 2             // of a dose
	fullBottle   = 28            // doses until it is filled again
	pillMass     = 0.825         // grams
	emptyMass    = 23.625
)

func sendBottle(u *unit, at time.Time) {
	heartbeat := u.document()
	for _, name := range []string{"action", "mass_of_contents", "number_of_pills"} {
		delete(heartbeat, name)
	}
	heartbeat["bottle_id"] = string(u.member.ID)
	heartbeat["user_id"], heartbeat["medication"] = u.member.Labels["user_id"], u.member.Labels["medication"]
	send := func(at time.Time, values map[string]any) {
		d := maps.Clone(heartbeat)
		maps.Copy(d, values)
		d["time"] = clock(at)
		u.sends(at, d)
	}
	send(at, nil)
	// The bottle is opened up to 50 minutes after the time of a dose, and closed within this interval or a later one.
	for n := at.Add(-2*betweenDoses).UnixMilli() / betweenDoses.Milliseconds(); ; n++ {
		dose := u.dose(n)
		if dose.time.After(at.Add(u.Every)) {
			return
		}
		left := u.left(n)
		content := func(n int) map[string]any {
			mass := model.Round(emptyMass+pillMass*float64(n), 2)
			return map[string]any{"number_of_pills": n, "mass_of_contents": mass}
		}
		within := func(t time.Time) bool { return !t.Before(at) && t.Before(at.Add(u.Every)) }
		switch {
		case dose.missed && within(dose.time):
			u.note(doseMissed, "", dose.time, dose.time)
		case dose.missed:
		case within(dose.opened):
			opened := content(left)
			opened["action"] = "opened"
			send(dose.opened, opened)
		}
		if !dose.missed && within(dose.closed) {
			closed := content(left - pills)
			closed["action"], closed["pills_taken"] = "closed", pills
			send(dose.closed, closed)
			if dose.closed.Sub(dose.opened) > time.Minute {
				u.noted = append(u.noted, Fault{leftOpen, u.member.ID, "", dose.opened, dose.closed, dose.opened})
			}
		}
	}
}

// A dose is one that a patient should take.
type dose struct {
	time, opened, closed time.Time
	missed               bool
}

// dose returns the dose of a number since 1970.
func (u *unit) dose(n int64) dose {
	f := model.Fate(model.Hash(u.key, 9, uint64(n)))
	due := time.UnixMilli(n * betweenDoses.Milliseconds()).Add(firstDose).UTC()
	d := dose{time: due, missed: f.Happens(0.08)}
	d.opened = due.Add(time.Duration(f.Draw(1) * float64(50*time.Minute))).Truncate(time.Second)
	d.closed = d.opened.Add(31 * time.Second)
	if f.Draw(2) < 0.08 {
		d.closed = d.opened.Add(time.Duration((10 + 30*f.Draw(3)) * float64(time.Minute))).Truncate(time.Second)
	}
	return d
}

// left is how many pills the bottle has before a dose.
func (u *unit) left(n int64) int {
	left := fullBottle * pills
	for past := n - n%fullBottle; past < n; past++ {
		if !u.dose(past).missed {
			left -= pills
		}
	}
	return left
}
