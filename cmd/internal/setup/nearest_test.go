package setup

import "testing"

func TestNearestNameIsSuggested(t *testing.T) {
	names := []string{"cadence", "closeAfter", "batch"}
	for word, want := range map[string]string{"cadense": "cadence", "closeafter": "closeAfter", "Batch": "batch",
		"xyzzy": "", "": ""} {
		if got := Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
