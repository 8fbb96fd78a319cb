package fold

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"furrow/tables"
)

// missingWords are texts that stand for no number, in lower case.
func missingWords() []string {
	return []string{"", "-", "na", "n/a", "nan", "null", "none", "unavailable", "unknown"}
}

// lacks reports whether a value stands for none: one that the model names, or of a number a word for it.
func (m *Meaning) lacks(v tables.Value) bool {
	if m.Is == Number && v.Type() == tables.TypeDouble && math.IsNaN(v.Float()) {
		return true
	}
	if len(m.Missing) == 0 && (m.Is != Number || v.Type() != tables.TypeString) {
		return false
	}
	text := strings.TrimSpace(v.String())
	if m.Is == Number && v.Type() == tables.TypeString && slices.Contains(missingWords(), strings.ToLower(text)) {
		return true
	}
	if slices.Contains(m.Missing, text) {
		return true
	}
	sent, is := numberOf(v, true)
	return is && v.Type() != tables.TypeBoolean && slices.ContainsFunc(m.Missing, func(text string) bool {
		n, err := strconv.ParseFloat(text, 64)
		return err == nil && n == sent
	})
}
