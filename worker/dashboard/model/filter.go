package model

import (
	"encoding/json"
	"strings"

	"furrow/jobs/condition"
)

// A Filter selects devices of the map and of lists. An empty field does not filter.
type Filter struct {
	Tenant string               `query:"tenant"`
	Site   string               `query:"site"`
	Label  string               `query:"label"` // NAME=TEXT, or NAME for any text
	Model  string               `query:"model"` // its name
	Text   string               `query:"text"`  // in any part of the ID, in any case
	State  State                `query:"state"`
	Where  *condition.Condition `query:"where"` // on the newest values

	holds *selection // what Where holds for; see decide
}

// A matcher selects devices of an index. It is computed from a Filter once, and used for every device.
type matcher struct {
	none         bool // the index has no such tenant, site or model
	tenant, site *uint32
	model        *uint32
	label, text  string
	state        State
	now          uint32
	holds        *selection // nil: all
	roster       *roster
}

// matcher returns what selects the devices of a filter.
func (x *roster) matcher(f Filter, now uint32) *matcher {
	m := &matcher{label: labelText(f.Label), text: strings.ToLower(f.Text), state: f.State, now: now,
		none: f.Where != nil && f.holds == nil, holds: f.holds, roster: x}
	number := func(n *names, text string) *uint32 {
		if text == "" {
			return nil
		}
		i, known := n.number[text]
		m.none = m.none || !known
		return &i
	}
	m.tenant, m.site, m.model = number(&x.tenants, f.Tenant), number(&x.sites, f.Site), number(&x.models, f.Model)
	return m
}

// condition returns a newest value for a condition.
func (x *roster) condition(d *device, sensor string) condition.Value {
	number, known := x.sensors.number[sensor]
	if !known {
		return condition.Value{}
	}
	v := d.value(uint16(number))
	switch {
	case v == nil:
		return condition.Value{}
	case v.flags&isText != 0:
		return condition.Text(x.texts.text(uint32(v.number)))
	}
	return condition.Number(v.number)
}

// checkFilter returns an error for sensors that no device has of the filter's tenant.
func (c *Census) checkFilter(f Filter, sensors ...string) error {
	for _, sensor := range sensors {
		if err := c.checkSensor(f.Tenant, sensor); err != nil {
			return err
		}
	}
	return ofParam("where", c.checkWhere(f.Tenant, f.Where))
}

// checkWhere returns an error for a condition on single values that names members of sensors, or one that none of a
// tenant's devices has.
func (c *Census) checkWhere(tenant string, where *condition.Condition) error {
	if where == nil {
		return nil
	}
	if err := where.CheckMembers(); err != nil {
		return queryErrorf("where: %v", err)
	}
	return c.checkSensorsOf(tenant, where)
}

// checkSensorsOf returns an error for a condition on a sensor that none of a tenant's devices has.
func (c *Census) checkSensorsOf(tenant string, where *condition.Condition) error {
	for _, sensor := range where.Sensors() {
		if err := c.checkSensor(tenant, sensor); err != nil {
			return err
		}
	}
	return nil
}

// isLabeled reports whether labels have one, which is written as in a Filter.
func isLabeled(labels map[string]string, label string) bool {
	name, text, hasText := strings.Cut(label, "=")
	found, has := labels[name]
	return label == "" || has && (!hasText || found == text)
}

// labelText returns the part of a device's labels, as JSON, that has a label.
func labelText(label string) string {
	if label == "" {
		return ""
	}
	name, text, hasText := strings.Cut(label, "=")
	encoded, _ := json.Marshal(name) // texts can always be encoded
	found := string(encoded) + ":"
	if hasText {
		encoded, _ = json.Marshal(text)
		found += string(encoded)
	}
	return found
}

// matches reports whether the device at a position of the index is selected. The lock is held.
func (m *matcher) matches(i int) bool {
	switch d := &m.roster.devices[i]; {
	case m.none, m.holds != nil && !m.holds.includes(int32(i)):
		return false
	case m.tenant != nil && d.tenant != *m.tenant, m.site != nil && d.site != *m.site:
		return false
	case m.label != "" && !strings.Contains(d.labels, m.label), m.text != "" && !strings.Contains(strings.ToLower(d.id),
		m.text):
		return false
	default:
		return (m.state == "" || d.state(m.now) == m.state) && (m.model == nil || uint32(d.model) == *m.model)
	}
}

// A selection is what a filter selects, by position in the index. Devices that came later are not selected.
type selection struct {
	all   bool // every device, also those that came later
	has   []bool
	total int
}

func (s *selection) includes(device int32) bool {
	return s.all || int(device) < len(s.has) && s.has[device]
}

// selected returns what a filter selects. Without a filter that takes no time.
func (x *index) selected(f Filter, now uint32) *selection {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if f == (Filter{}) {
		return &selection{all: true, total: len(x.devices) - x.gone}
	}
	s := &selection{has: make([]bool, len(x.devices))}
	m := x.matcher(f, now)
	for i := range x.devices {
		if s.has[i] = m.matches(i); s.has[i] && x.devices[i].flags&hasLeft == 0 {
			s.total++
		}
	}
	return s
}
