package model

import (
	"context"
	"time"

	"furrow/worker/answers"
)

// A Live follows the changes of a map.
type Live struct {
	maps  *Maps
	query MapQuery
	last  Map
	shown map[string]mark // by id, of clusters and of devices

	scaled time.Time // when the scale of colours was last changed

	incidents   map[string]incidentMark // by ID; nil before the first
	openVersion uint64                  // of the open incidents
}

const scaleAge = 10 * time.Second // colours that change faster would be hard to read

// A mark is a cluster or a device as it was last sent.
type mark struct {
	cluster *Cluster
	dot     *Dot
}

// Live returns a map and what follows its changes.
func (ms *Maps) Live(ctx context.Context, q MapQuery) (*Live, Map, error) {
	m, err := ms.Map(ctx, q)
	q.Tenant = scoped(ctx, q.Tenant)
	l := &Live{maps: ms, query: q}
	l.takeMap(m)
	return l, m, err
}

// Next returns what has changed since the last call, and whether anything has. When the map's sensor has
// changed, it returns the whole map.
func (l *Live) Next(ctx context.Context) (c Change, whole *Map, any bool) {
	decided, err := l.maps.decider.decide(ctx, l.query.Filter)
	if err != nil {
		return c, nil, false // the next time
	}
	l.query.Filter = decided
	m := l.maps.mapAt(l.query, l.maps.accounts.watch.touch())
	if m.Sensor != l.last.Sensor || m.Unit != l.last.Unit {
		l.takeMap(m)
		return c, &m, true
	}
	if m.Scale != nil && l.last.Scale != nil && time.Since(l.scaled) < scaleAge {
		m.Scale = l.last.Scale
	}
	c = l.change(m)
	any = len(c.Clusters)+len(c.Devices)+len(c.Gone) > 0 || c.Scale != nil || m.Total != l.last.Total ||
		m.InView != l.last.InView
	l.takeMap(m)
	return c, nil, any
}

func (l *Live) takeMap(m Map) {
	if m.Scale != nil && (l.last.Scale == nil || *m.Scale != *l.last.Scale) {
		l.scaled = time.Now()
	}
	l.last, l.shown = m, make(map[string]mark, len(m.Clusters)+len(m.Devices))
	for i := range m.Clusters {
		l.shown[m.Clusters[i].ID] = mark{cluster: &m.Clusters[i]}
	}
	for i := range m.Devices {
		l.shown[m.Devices[i].Device] = mark{dot: &m.Devices[i]}
	}
}

func (l *Live) change(m Map) Change {
	c := Change{At: m.At, Total: m.Total, InView: m.InView}
	if m.Scale != nil && (l.last.Scale == nil || *m.Scale != *l.last.Scale) {
		c.Scale = m.Scale
	}
	for _, k := range m.Clusters {
		if was := l.shown[k.ID].cluster; was == nil || !sameCluster(*was, k) {
			c.Clusters = append(c.Clusters, k)
		}
		delete(l.shown, k.ID)
	}
	for _, d := range m.Devices {
		if was := l.shown[d.Device].dot; was == nil || !sameDot(*was, d) {
			c.Devices = append(c.Devices, d)
		}
		delete(l.shown, d.Device)
	}
	for id := range l.shown {
		c.Gone = append(c.Gone, id)
	}
	return c
}

func sameCluster(a, b Cluster) bool {
	same := sameNumber(a.Mean, b.Mean) && sameNumber(a.Min, b.Min) && sameNumber(a.Max, b.Max)
	a.Mean, a.Min, a.Max, b.Mean, b.Min, b.Max = nil, nil, nil, nil, nil, nil
	return same && a == b
}

func sameNumber(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func sameDot(a, b Dot) bool {
	same := a.Time == nil && b.Time == nil || a.Time != nil && b.Time != nil && a.Time.Equal(*b.Time)
	a.Time, b.Time = nil, nil
	return same && a == b
}

// LiveInterval is the shortest time between two calls of Next.
const LiveInterval = time.Second

// An incidentMark is an incident as it was last sent.
type incidentMark struct {
	number                int
	acknowledged, isMuted bool
	incident              answers.Incident
}

// NextIncidents returns the open incidents that have changed since the last call: that opened or closed, or were
// acknowledged or muted. The first call returns none.
func (l *Live) NextIncidents() (all []IncidentChange) {
	version := l.maps.incidents.open.current()
	if l.incidents != nil && version == l.openVersion || l.query.Where != nil && l.query.holds == nil {
		return nil
	}
	l.openVersion = version
	before := l.incidents
	l.incidents = map[string]incidentMark{}
	open, more := l.maps.incidents.openOf(l.query.Filter)
	for i := range open {
		one := &open[i]
		now := incidentMark{one.Number, one.Acknowledged, one.Muted, answers.IncidentOf(one)}
		was, known := before[now.incident.ID]
		l.incidents[now.incident.ID] = now
		switch {
		case before == nil:
		case !known || was.number != now.number:
			all = append(all, IncidentChange{"opened", now.incident})
		case was.acknowledged != now.acknowledged || was.isMuted != now.isMuted:
			all = append(all, IncidentChange{"changed", now.incident})
		}
	}
	others, _ := l.maps.incidents.open.ofTenant(l.query.Tenant)
	for i := range others {
		id := others[i].ID.String()
		was, told := before[id]
		if _, still := l.incidents[id]; told && !still { // it is open, and the filter no longer selects its device
			l.incidents[id] = was
		}
	}
	for id, was := range before {
		if _, still := l.incidents[id]; still || more {
			continue
		}
		was.incident.State = "closed"
		all = append(all, IncidentChange{"closed", was.incident})
	}
	return all
}
