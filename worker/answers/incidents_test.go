package answers

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// TestNotificationsSayWordsOfTheSchema: a program that is made from the schema of an answer refuses others.
func TestNotificationsSayWordsOfTheSchema(t *testing.T) {
	field, _ := reflect.TypeFor[IncidentTold]().FieldByName("What")
	words := strings.Fields(field.Tag.Get("enum"))
	for _, what := range []string{schema.Opened, schema.Reopened, schema.Announced, schema.Closed} {
		told := schema.DeliveryRecord{Delivery: schema.Delivery{Transition: schema.Transition{What: what}}}
		h := HistoryOf(&query.Incident{Deliveries: []schema.DeliveryRecord{told}})
		if !slices.Contains(words, h.Told[0].What) {
			t.Errorf("%s is none of %q", h.Told[0].What, words)
		}
	}
}
