package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// sendAfter is how long after the end of a bucket its reports go to the queue: until then, the runs after the end add
// one batch of devices after the other.
const sendAfter = 5 * time.Minute

// publish writes the reports of a closed bucket, and sends each revision of them to the queue.
//
// A revision is written before it is sent, together with a sum of what it has. So the same revision always says the
// same, whoever sends it again because the job before died, and what has changed meanwhile is another revision.
func (r *Reports) publish(ctx context.Context, head schema.ReportHead, gathered []*group, due bool) (err error) {
	if len(gathered) == 0 && head.ETag == "" {
		return nil
	}
	sum := sumOf(head, gathered)
	if head.Sum != sum {
		head.Sum = sum
		if due || head.Revision > 0 {
			head.Revision++
		}
		if head, err = r.write(ctx, head, gathered, true); err != nil {
			return err
		}
	}
	switch {
	case !due:
		return fmt.Errorf("%w: the bucket closed less than %v ago", groups.ErrNotYet, sendAfter)
	case head.Revision == 0: // it was written before it was due
		head.Revision = 1
		if head.ETag, err = r.submit(ctx, head, nil); err != nil {
			return err
		}
	case head.Sent == head.Revision:
		return nil
	}
	for text, err := range events(head, gathered) {
		if err == nil {
			err = r.Enqueue(ctx, r.Queue, text)
		}
		if err != nil {
			return fmt.Errorf("queue %s: %w", r.Queue, err)
		}
	}
	_, head.Rows, _ = named(head, gathered)
	head.Sent = head.Revision
	_, err = r.submit(ctx, head, nil)
	return err
}

// sumOf returns a sum of the reports of a bucket.
func sumOf(head schema.ReportHead, gathered []*group) string {
	sum := sha256.New()
	for _, g := range gathered {
		for _, e := range g.entities(head.Partition.String(), head.Bucket) {
			fmt.Fprintf(sum, "%q", e.RowKey)
			for _, p := range e.Properties {
				fmt.Fprintf(sum, " %q %v", p.Name, p.Value)
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// An event is a message about a report as a CloudEvent, in its JSON format.
type event struct {
	SpecVersion string    `json:"specversion"`
	ID          string    `json:"id"`
	Source      string    `json:"source"`
	Type        string    `json:"type"`
	Time        time.Time `json:"time"` // end of the bucket
	ContentType string    `json:"datacontenttype"`
	Data        eventData `json:"data"`
}

type eventData struct {
	Tenant   string                 `json:"tenant"`
	By       schema.By              `json:"by"`
	Group    string                 `json:"group,omitempty"` // a site, or the value of a label
	Window   string                 `json:"window"`
	Time     time.Time              `json:"time"` // start of the bucket
	Part     string                 `json:"part"` // of the fleet: a month of deployment, and its shard
	Revision int64                  `json:"revision"`
	Devices  int64                  `json:"devices"`  // with a number
	Readings int64                  `json:"readings"` // stored
	Bytes    int64                  `json:"bytes"`    // of those, as storage charges for them
	Sensors  map[string]eventSensor `json:"sensors"`
	More     int                    `json:"more,omitempty"` // sensors that are not reported
	Next     bool                   `json:"next,omitempty"` // another message has further sensors
}

type eventSensor struct {
	Count   int64     `json:"count"`
	Sum     float64   `json:"sum"`
	Min     float64   `json:"min"`
	Max     float64   `json:"max"`
	First   float64   `json:"first"`
	FirstAt time.Time `json:"firstAt"`
	Last    float64   `json:"last"`
	LastAt  time.Time `json:"lastAt"`
	Devices int64     `json:"devices"`
}

// eventSensors is how many sensors a message has: with the longest names they take less than the 64 KiB of a queue.
const eventSensors = 50

// events yields the messages about the reports of a bucket. Those of groups that are gone have no devices.
func events(head schema.ReportHead, gathered []*group) func(yield func(string, error) bool) {
	return func(yield func(string, error) bool) {
		_, names, _ := named(head, gathered)
		has := setOf(names)
		all := slices.DeleteFunc(slices.Clone(gathered), func(g *group) bool {
			row := schema.ReportRow{By: g.by, Group: g.name, Bucket: head.Bucket}
			return !has[head.Name(row.String())] // there is no room for its name
		})
		for _, name := range head.Rows {
			row, err := schema.ParseReportRow(head.Key(name))
			if err == nil && row.Part == 0 && !has[name] {
				all = append(all, &group{by: row.By, name: row.Group})
			}
		}
		for _, g := range all {
			sensors := slices.Sorted(maps.Keys(g.sensors))
			for n := 0; n == 0 || n < len(sensors); n += eventSensors {
				text, err := json.Marshal(g.event(head, sensors[n:min(n+eventSensors, len(sensors))], n/eventSensors,
					n+eventSensors < len(sensors)))
				if !yield(string(text), err) {
					return
				}
			}
		}
	}
}

// event returns a message with some sensors.
func (g *group) event(head schema.ReportHead, sensors []string, number int, next bool) event {
	p, row := head.Partition, schema.ReportRow{By: g.by, Group: g.name, Bucket: head.Bucket}
	id := fmt.Sprintf("%s!%s!%d", p, row, head.Revision)
	if number > 0 {
		id += fmt.Sprintf("!%d", number+1)
	}
	data := eventData{Tenant: string(p.Tenant), By: g.by, Group: g.name, Window: p.Window.String(), Time: at(head.Bucket),
		Part: p.Month.String(), Revision: head.Revision, Devices: g.devices, Readings: g.stored.Rows,
		Bytes: g.stored.Bytes, Sensors: map[string]eventSensor{},
		More: len(g.rest), Next: next}
	for _, name := range sensors {
		a := g.sensors[name]
		data.Sensors[name] = eventSensor{a.Count, a.Sum, a.Min, a.Max, a.First, at(a.FirstAt), a.Last, at(a.LastAt),
			a.Devices}
	}
	return event{SpecVersion: "1.0", ID: id, Source: "furrow", Type: "furrow.report",
		Time: at(head.Bucket.Add(time.Duration(p.Window))), ContentType: "application/json", Data: data}
}

func at(t tables.Ticks) time.Time { return t.Time().UTC() }
