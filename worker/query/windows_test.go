package query

import (
	"testing"
	"time"

	"furrow/tables/schema"
)

func TestChosenWindowGivesFewBuckets(t *testing.T) {
	usual := []schema.Window{schema.Minute, schema.Hour, schema.Daily}
	for span, want := range map[time.Duration]schema.Window{
		time.Second: schema.Minute, 3 * time.Hour: schema.Minute,
		24 * time.Hour: schema.Hour, 8 * 24 * time.Hour: schema.Hour,
		30 * 24 * time.Hour: schema.Daily, 9000 * 24 * time.Hour: schema.Daily,
	} {
		if got := Choose(usual, span); got != want {
			t.Errorf("for %v: %s, want %s", span, got, want)
		}
	}
	if got := Choose(usual[:1], 9000*time.Hour); got != schema.Minute {
		t.Errorf("with minutes only: %s", got)
	}
}
