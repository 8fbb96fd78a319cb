package spell

import "testing"

func TestEditsCountsTheFewest(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"storge", "storage", 1}, {"kitten", "sitting", 3}} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestNearestIsWhatWasMeant(t *testing.T) {
	names := []string{"cadence", "closeAfter", "batch"}
	for word, want := range map[string]string{"cadense": "cadence", "closeafter": "closeAfter", "Batch": "batch", "xyzzy": "", "": ""} {
		if got := Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
