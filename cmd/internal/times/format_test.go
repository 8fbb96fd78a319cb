package times

import (
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// TestZonesMeanTheSameOnEveryMachine: CST is China's time on a computer that is there.
func TestZonesMeanTheSameOnEveryMachine(t *testing.T) {
	defer func(own *time.Location) { time.Local = own }(time.Local)
	f := must.Have(Named("%Y-%m-%d %H:%M %Z"))(t)
	for _, here := range []string{"UTC", "Asia/Shanghai", "America/Chicago", "Europe/Berlin"} {
		time.Local = must.Have(time.LoadLocation(here))(t)
		at, zoned, err := f.Parse("2025-01-15 08:30 CST", Terms{})
		if got := at.Time().Format(time.RFC3339); err != nil || !zoned || got != "2025-01-15T14:30:00Z" {
			t.Errorf("in %s it is %s, %v", here, got, err)
		}
		if at, _, err := f.Parse("2025-01-15 08:30 CET", Terms{}); err == nil {
			t.Errorf("in %s a zone that is not known is taken: %s", here, at.Time())
		}
	}
}
