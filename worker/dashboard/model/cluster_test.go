package model

import (
	"math"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// TestClusterOfGreatestNumbersIsShown has devices that send the greatest double where a probe is broken.
func TestClusterOfGreatestNumbersIsShown(t *testing.T) {
	s := crowd(seeded(t), 0)
	x := s.Accounts.index
	for _, id := range []schema.DeviceID{"pump-7", "pump-8", "pump-9"} {
		x.records(0, []schema.Device{{ID: id, Tenant: "contoso", Position: &schema.Position{Lat: 48, Lon: 1}}})
		x.newest(0, schema.LatestPartition{Tenant: "contoso"}, []query.Newest{{Device: id, Values: []latest.Value{{
			At: tables.TicksOf(time.Now()), SensorValue: fold.SensorValue{Sensor: "oil", Is: fold.Number,
				Number: math.MaxFloat64}}}}})
	}
	m := s.Maps.mapAt(MapQuery{Sensor: "oil"}, time.Now())
	if len(m.Clusters) != 1 || *m.Clusters[0].Mean != math.MaxFloat64 {
		t.Errorf("the clusters are %+v", m.Clusters)
	}
	if _, err := answers.Marshal(m); err != nil {
		t.Error(err)
	}
}
