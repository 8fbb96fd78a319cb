package fleets

import (
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/lab/simulate/model"
	"furrow/tables/schema"
)

// temperatures are sensors in the buildings of customers, who are tenants.
func temperatures() kind {
	return kind{file: "temperatures.jsonl", devices: 20, every: time.Minute, history: 6 * time.Hour,
		tenants: []schema.Tenant{"Microsoft", "Contoso", "Fabrikam"},
		identify: func(m *simulate.Member, number int) {
			m.ID = numbered("XYZ-", 23443+number)
			m.Labels["class"] = "building"
		},
		send: sendTemperature}
}

func sendTemperature(u *unit, at time.Time) {
	read := at
	if stuck, is := u.suffers(stuckSensor, "Temprature", at); is {
		read = stuck.From
	}
	d := u.document()
	d["CustomerId"], d["DeviceId"], d["DateTime"] = string(u.member.Tenant), string(u.member.ID), clock(at)
	d["Temprature"] = model.Round(68+4*u.wave(read, day)+1.5*u.noise(read, 0), 0)
	u.sends(at, d)
}
