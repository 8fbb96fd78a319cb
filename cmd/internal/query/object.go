package query

import (
	"encoding/base64"
	"math"

	"furrow/tables"
)

// The lines of JSON, which scripts rely on: a member may be added, none changes.
type (
	readingObject struct {
		Device string         `json:"device"`
		Row    string         `json:"row"`
		Time   string         `json:"time,omitempty"`
		Values map[string]any `json:"values"`
	}
	bucketObject struct {
		Device  string                     `json:"device"`
		Window  string                     `json:"window"`
		Time    string                     `json:"time"`
		Sensors map[string]aggregateObject `json:"sensors"`
	}
	aggregateObject struct {
		Count int64   `json:"count"`
		Sum   float64 `json:"sum"`
		Min   float64 `json:"min"`
		Max   float64 `json:"max"`
		First float64 `json:"first"`
		Last  float64 `json:"last"`
		Mean  float64 `json:"mean"`
	}
	newestObject struct {
		Device  string                 `json:"device"`
		Sensors map[string]valueObject `json:"sensors"`
	}
	valueObject struct {
		Time     string `json:"time"`
		Value    any    `json:"value"`
		Doubtful bool   `json:"doubtful,omitzero"`
	}
	rejectObject struct {
		Device   string `json:"device"`
		Row      string `json:"row"`
		Time     string `json:"time,omitempty"`
		Sensor   string `json:"sensor,omitempty"`
		Value    string `json:"value,omitempty"`
		Reason   string `json:"reason"`
		Reading  string `json:"reading"`
		Rejected string `json:"rejected"`
		Pipeline string `json:"pipeline"`
		Number   int64  `json:"number"`
		Total    int64  `json:"total"`
	}
)

func (r Reading) Object() any {
	o := readingObject{Device: string(r.Device), Row: r.Row, Time: moment(r.Time).String(), Values: map[string]any{}}
	for _, p := range r.Values {
		o.Values[p.Name] = jsonValue(p.Value)
	}
	return o
}

func (b Bucket) Object() any {
	o := bucketObject{string(b.Device), b.Window.String(), second(b.Start).String(), map[string]aggregateObject{}}
	for _, a := range b.Sensors {
		o.Sensors[a.Sensor] = aggregateObject{a.Count, a.Sum, a.Min, a.Max, a.First, a.Last, a.Mean()}
	}
	return o
}

func (n Newest) Object() any {
	o := newestObject{string(n.Device), map[string]valueObject{}}
	for _, v := range n.Values {
		o.Sensors[v.Sensor] = valueObject{moment(v.At).String(), newestValue(v), v.Doubtful}
	}
	return o
}

func (r Reject) Object() any {
	return rejectObject{Device: string(r.Device), Row: r.Row, Time: moment(r.Time).String(), Sensor: r.Sensor, Value: r.Value, Reason: r.Reason,
		Reading: r.Reading, Rejected: second(r.At).String(), Pipeline: string(r.Pipeline), Number: r.Number + 1, Total: r.Total}
}

// jsonValue is a value in its own type where JSON has it. Bytes are base64, times
// are RFC 3339, and numbers that are not finite are texts, as in OData.
func jsonValue(v tables.Value) any {
	switch v.Type() {
	case tables.TypeBoolean:
		return v.Boolean()
	case tables.TypeInt32, tables.TypeInt64:
		return v.Int()
	case tables.TypeDouble:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
		return number(v.Float())
	case tables.TypeDateTime:
		return moment(v.Ticks()).String()
	case tables.TypeBinary:
		return base64.StdEncoding.EncodeToString(v.Binary())
	}
	return v.Text()
}
