package main

import (
	"cmp"
	"time"

	"furrow/cmd/internal/records"
	"furrow/tables"
	"furrow/worker/query"
)

// A stateRecord is a state of a sensor as it is printed. One that has not ended lasts until the end of the span.
type stateRecord struct {
	query.StateSpan
	until tables.Ticks // the end of the span, or now
}

func stateRecordOf(span query.Span) func(query.StateSpan) stateRecord {
	until := min(span.To, tables.TicksOf(time.Now()))
	return func(s query.StateSpan) stateRecord { return stateRecord{s, max(until, s.Last)} }
}

func (s stateRecord) seconds() float64 {
	return query.Span{From: s.From, To: cmp.Or(s.To, s.until)}.Length().Seconds()
}

func (stateRecord) Columns() []string {
	return []string{"device", "sensor", "state", "begin", "end", "seconds", "last", "readings", "unit"}
}

func (s stateRecord) Lines() [][]any {
	return [][]any{{string(s.Device), s.Sensor, sensorValue(s.Value), records.Moment(s.From), records.Moment(s.To),
		s.seconds(), records.Moment(s.Last), s.Readings, s.Model.UnitOf(s.Sensor)}}
}

func (s stateRecord) Object() any {
	return stateLine{string(s.Device), s.Sensor, sensorValue(s.Value), records.Moment(s.From).String(),
		records.Moment(s.To).String(), s.seconds(), records.Moment(s.Last).String(), s.Readings, s.Model.UnitOf(s.Sensor)}
}

type stateLine struct {
	Device   string  `json:"device"`
	Sensor   string  `json:"sensor"`
	State    any     `json:"state"`
	Begin    string  `json:"begin"`          // time of the first reading of the span with it
	End      string  `json:"end,omitempty"`  // time of the first reading with another; absent: it has not ended
	Seconds  float64 `json:"seconds"`        // from begin to end, or to the end of the span
	Last     string  `json:"last"`           // time of the last reading with it
	Readings int64   `json:"readings"`       // that had it
	Unit     string  `json:"unit,omitempty"` // of a number
}
