package config

import (
	"reflect"
	"strings"
	"testing"
	"unicode"

	"furrow/tables"
)

// FuzzParse holds that no text stops the program, that all that is said of it is
// one line within it, and that what parses can be shown and parsed again.
func FuzzParse(f *testing.F) {
	for _, c := range wrong() {
		f.Add(c.text)
	}
	f.Add(everything)
	f.Add(measured)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("furrow.yaml", []byte(text))
		if err != nil {
			lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 1
			for _, p := range err.(Problems) {
				if p.Line < 1 || p.Line > lines || p.Column < 1 || strings.ContainsFunc(p.Text, func(c rune) bool { return !unicode.IsPrint(c) }) {
					t.Errorf("in %d lines: %q", lines, p)
				}
			}
			return
		}
		for _, show := range []func() ([]byte, error){c.YAML, c.JSON} {
			shown, err := show()
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse("furrow.yaml", shown)
			if err != nil || !reflect.DeepEqual(again, c) {
				t.Fatalf("it is shown as\n%s\nwhich is %+v, %v; want %+v", shown, again, err, c)
			}
		}
		for _, p := range c.Pipelines {
			if p.Settings() == "" {
				t.Error("a pipeline without settings")
			}
			if _, err := p.Build(nil, tables.Names{}, nowhere{}); err != nil {
				t.Errorf("it cannot be built: %v", err)
			}
		}
	})
}
