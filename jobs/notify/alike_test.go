package notify

import (
	"fmt"
	"testing"

	"furrow/tables"
	"furrow/tables/schema"
)

// TestClosingIsComparedWithAlertsOfItsRuleAndDevice alone, however many alerts stand.
func TestClosingIsComparedWithAlertsOfItsRuleAndDevice(t *testing.T) {
	for _, devices := range []int{10, 1000} {
		j := &job{standing: map[openingKey]schema.Delivery{}, alike: map[alertKey][]openingKey{}}
		alert := func(device int, first tables.Ticks) schema.Delivery {
			return schema.Delivery{Transition: schema.Transition{Number: 1, What: schema.Opened,
				ID: schema.IncidentID{Rule: "hot", Device: schema.DeviceID(fmt.Sprint("pump-", device)), First: first}}}
		}
		for i := range devices {
			j.stands(alert(i, 2))
			j.stands(alert(i, 2)) // it was read again
		}
		closing := alert(1, 1)
		closing.Number, closing.What = 2, schema.Closed
		if n := len(j.alike[alertOf(closing)]); n != 1 {
			t.Errorf("beside %d alerts, a closing is compared with %d", devices, n)
		}
		if got := j.firing([]schema.Delivery{closing})[0]; got.ID() != alert(1, 2).ID() {
			t.Errorf("sent is %s", got.ID())
		}
	}
}
