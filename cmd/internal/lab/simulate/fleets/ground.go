package fleets

import (
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/lab/simulate/model"
	"furrow/tables/schema"
)

// ground are probes in the ground, whose temperatures follow the weather of their places.
func ground() kind {
	return kind{file: "ground.jsonl", devices: 40, every: time.Hour, history: 3 * day,
		tenants: []schema.Tenant{"geosurvey", "agronomy"},
		identify: func(m *simulate.Member, number int) {
			m.ID = numbered("ground-", 1+number)
			m.Labels["class"] = "probe"
		},
		send: sendGround}
}

func sendGround(u *unit, at time.Time) {
	probe := model.NewProbe(u.Seed, u.key, u.place, u.member.Deployed, 3)
	read := func(sensor string, at time.Time) float64 { return probe.Read(at)[sensor].(float64) }
	upper, lower := read("temperature_10cm", at), read("temperature_50cm", at)
	if stuck, is := u.suffers(stuckSensor, "temperature_50cm", at); is {
		lower = read("temperature_50cm", stuck.From)
	}
	if warm, is := u.suffers(warming, "temperature_10cm", at); is {
		upper += 2 * at.Sub(warm.From).Hours() // °C
	}
	d := u.document()
	d["device"], d["time"] = string(u.member.ID), clock(at)
	d["temperature_10cm"], d["temperature_50cm"] = model.Round(upper, 2), model.Round(lower, 2)
	u.sends(at, d)
}
