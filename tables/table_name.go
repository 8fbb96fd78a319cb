package tables

import (
	"fmt"
	"strings"
)

// CheckTable returns why Azure would refuse a table's name, or nil.
// learn.microsoft.com: "Understanding the Table service data model", Table names.
func CheckTable(name string) error {
	if len(name) < 3 || len(name) > 63 {
		return fmt.Errorf("table name %s: want 3 to 63 characters, not %d", Quote(name), len(name))
	}
	for i, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return fmt.Errorf("table name %s: character %q at position %d is not allowed; use letters and digits, "+
				"a letter first", Quote(name), r, i+1)
		}
	}
	if strings.EqualFold(name, "tables") {
		return fmt.Errorf("table name %q is reserved", name)
	}
	return nil
}
