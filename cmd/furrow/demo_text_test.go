package main

import (
	"strings"
	"testing"

	"furrow/cmd/internal/lab/demo"
)

func TestDemoExplainsEachReadingThatWasNotAcknowledged(t *testing.T) {
	const explained = "of them stored, although no answer reached their devices"
	for folded, want := range map[int]string{100: "", 103: "           3  " + explained + "\n"} {
		text := demoText(demo.Report{Readings: demo.Readings{Accepted: 100, Folded: folded}})
		if !strings.Contains(text, want) || want == "" && strings.Contains(text, explained) {
			t.Errorf("%d readings folded of 100 acknowledged: want %q in\n%s", folded, want, text)
		}
	}
}
