package setup

import (
	"strings"

	"github.com/xrash/smetrics"
)

// Nearest returns the name that is the fewest edits away from a misspelled word, and "" if
// even that would change more than half of the word.
func Nearest(word string, names []string) string {
	best, fewest := "", max(len(word), 2)/2+1
	for _, name := range names {
		if d := smetrics.WagnerFischer(strings.ToLower(word), strings.ToLower(name), 1, 1, 1); d < fewest {
			best, fewest = name, d
		}
	}
	return best
}
