package fleets

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/lab/simulate/model"
	"furrow/tables/schema"
)

// kitchens are fryers in the kitchens of chains of restaurants, which are tenants.
func kitchens() kind {
	return kind{file: "kitchen.json", devices: 12, every: 30 * time.Second, history: time.Hour,
		tenants: []schema.Tenant{"43f4b965-aa85-405a-43d7-08d958688822", "9d0c6a51-6f0e-4b6e-8a55-08d958690417"},
		identify: func(m *simulate.Member, number int) {
			m.Site = schema.Site(fmt.Sprint("US-", 5260+number/devicesPerSite))
			m.Labels["class"] = "Fryer"
			m.ID = schema.DeviceID(fmt.Sprintf("%s:%s:Giles-%d", m.Tenant, m.Site, 7163712301905+number))
		},
		send: sendKitchen, obey: orderedBy("setpoint", 200, 375)} // °F
}

func sendKitchen(u *unit, at time.Time) {
	d, m := u.document(), u.member
	data, metadata, headers := d["data"].(map[string]any), d["metadata"].(map[string]any), d["headers"].(map[string]any)
	name := string(m.ID[strings.LastIndexByte(string(m.ID), ':')+1:])
	d["siteClassId"], d["deviceId"] = string(m.Site)+"$$$"+m.Labels["class"], name
	d["id"] = fmt.Sprintf("%016x", model.Hash(u.key, 8, uint64(at.UnixMilli())))
	metadata["messageId"], metadata["messageTimestamp"] = d["id"], at.Format("2006-01-02T15:04:05.000Z")
	metadata["manufacturerSerialNumber"] = strings.TrimPrefix(name, "Giles-")
	headers["tenant-id"], headers["site-id"] = string(m.Tenant), string(m.Site)
	headers["edge-device-id"] = strings.Replace(string(m.Site), "-", "-store-0", 1) + "-01"
	data["telemetryTimestamp"] = clock(at)
	data["localTimestamp"] = at.Truncate(time.Second).In(time.FixedZone("", -6*3600)).Format(time.RFC3339)
	u.cook(data, at)
	u.sends(at, d)
}

// cook sets what is measured. All of it is text.
func (u *unit) cook(data map[string]any, at time.Time) {
	set := func(name string, v float64, decimals int) { data[name] = strconv.FormatFloat(v, 'f', decimals, 64) }
	setpoint, told := u.told(at)
	if !told {
		setpoint = 350
	}
	oil := setpoint + 6*u.wave(at, 20*time.Minute) + u.noise(at, 1)
	data["inAlarm"] = "0"
	if !told { // a command resets the thermostat that is stuck
		if hot, is := u.suffers(tooHot, "data_oilProbeTemp", at); is {
			oil, data["inAlarm"] = 405+20*hot.Draw(3)+u.noise(at, 1), "1"
		}
	}
	read := at
	if stuck, is := u.suffers(stuckSensor, "data_boardTemp", at); is {
		read = stuck.From
	}
	set("oilProbeTemp", oil, 1)
	set("heatingElementTemp", oil+40+3*u.noise(at, 2), 1)
	set("boardTemp", 85+5*u.wave(read, day)+u.noise(read, 3), 1)
	minutes := at.Sub(u.member.Deployed).Minutes()
	set("uptimeMinutes", float64(int(minutes)%10080), 0)
	set("heatingElementsOnMinutes", float64(int(minutes*0.6)%10080), 0)
	set("cookCycleNumber", float64(int(minutes/9)%1000), 0)
	set("realTimeSeconds", float64(at.Unix()-u.member.Deployed.Unix()), 0)
	set("epochTimeSeconds", float64(at.Unix()), 0)
}
