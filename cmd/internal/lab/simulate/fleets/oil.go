package fleets

import (
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/lab/simulate/model"
	"furrow/tables/schema"
)

// oil are rigs of oil and gas fields. A document is one value of a tag.
func oil() kind {
	return kind{file: "oil.csv", devices: 10, every: 5 * time.Second, history: time.Hour, slow: 12,
		tenants: []schema.Tenant{"permian", "northsea"},
		identify: func(m *simulate.Member, number int) {
			m.ID = numbered("rig-", 7+number)
			m.Labels["class"] = "rig"
		},
		send: sendTags, obey: orderedBy("rpm", 0, 3600)}
}

// coolSpeed is the speed, in turns a minute, up to which no rig becomes too hot.
const coolSpeed = 1000

// sendTags sends the temperature each time, and the others once in twelve times.
func sendTags(u *unit, at time.Time) {
	temperature, speed := 104+8*u.wave(at, 40*time.Minute)+2*u.noise(at, 0), 1800.0
	if told, is := u.told(at); is {
		speed = told
	}
	if speed > coolSpeed {
		if hot, is := u.suffers(tooHot, "temperature", at); is {
			temperature = 121 + 8*hot.Draw(3) + 0.9*u.noise(at, 0)
		}
	}
	u.tag("temperature", model.Round(temperature, 1), at, true)
	if at.Truncate(u.Every).UnixMilli()/u.Every.Milliseconds()%int64(u.slow) != 0 {
		return
	}
	read := at
	if stuck, is := u.suffers(stuckSensor, "rpm", at); is {
		read = stuck.From
	}
	u.tag("rpm", model.Round(speed+60*u.noise(read, 1), 0), at, true)
	_, doubtful := u.suffers(badQuality, "vibration", at)
	u.tag("vibration", model.Round(30+5*u.noise(at, 2), 1), at, !doubtful)
}

func (u *unit) tag(name string, value float64, at time.Time, good bool) {
	d := u.document()
	d["deviceId"], d["tagName"], d["value"] = string(u.member.ID), name, value
	d["timeStamp"], d["quality"] = clock(at), good
	u.sends(at, d)
}
