package config

import "testing"

// TestAFileOfAnyEditionIsTaken: a fleet that began with windows of a minute may have a file that relies on them.
func TestAFileOfAnyEditionIsTaken(t *testing.T) {
	for text, taken := range map[string]bool{
		"pipelines: [{name: live, processors: [latest, rollup]}]\nretention: [{rollups: {1m: 30d}}]\n":  true,
		"pipelines: [{name: live, processors: [latest, rollup]}]\nretention: [{rollups: {15m: 30d}}]\n": true,
		"pipelines: [{name: live, processors: [latest, rollup]}]\nretention: [{rollups: {2m: 30d}}]\n":  false,
	} {
		if err := (File{Name: "f", Text: text}).Check(); (err == nil) != taken {
			t.Errorf("%s%v", text, err)
		}
	}
}
