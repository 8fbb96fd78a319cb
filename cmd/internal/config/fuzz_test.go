package config

import (
	"reflect"
	"strings"
	"testing"
	"unicode"

	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// FuzzParse checks that no text panics, that every problem is one line with a place in the text, and that a valid file
// can be shown and parsed again.
func FuzzParse(f *testing.F) {
	for _, c := range wrongCases(f) {
		f.Add(c.text)
	}
	f.Add(everything)
	f.Add(measured)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("furrow.yaml", []byte(text))
		if err != nil {
			lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 1
			for _, p := range err.(Problems) {
				if p.Line < 1 || p.Line > lines || p.Column < 1 || strings.ContainsFunc(p.Text,
					func(c rune) bool { return !unicode.IsPrint(c) }) {
					t.Errorf("in %d lines: %q", lines, p)
				}
			}
			return
		}
		for _, show := range []func() ([]byte, error){c.YAML, c.JSON} {
			shown := must.Have(show())(t)
			again, err := Parse("furrow.yaml", shown)
			if err != nil || !reflect.DeepEqual(again, c) {
				t.Fatalf("it is shown as\n%s\nwhich is %+v, %v; want %+v", shown, again, err, c)
			}
		}
		if len(c.Pipelines) == 0 {
			t.Error("no pipeline")
		}
		for _, p := range c.InFile() {
			if p.Name == "" || p.Settings(&c.Models[0]) == "" {
				t.Errorf("an incomplete pipeline is accepted: %+v", p)
			}
			if _, err := p.Build(nil, schema.Names{}, &archive.Store{}); err != nil {
				t.Errorf("it cannot be built: %v", err)
			}
		}
	})
}

// FuzzShow checks that texts of users survive showing and parsing.
func FuzzShow(f *testing.F) {
	for _, text := range []string{"", "good", "? a", "192", "1.50", "true", "null", "~", "a: b", "- a", "it's", `"`, "# c",
		"a #c", " a ", "°C", "*a", "&a", "!a", "%", "%RH", "% a", "*", "@", "`", "a\nb", "\n",
		"\t", "\\n", "|", ">-", "<<", "{", "[", "---",
		"0x1F", "1_000", ".inf", "2026-11-20", "=", "?", ":", "a:", "-", "\u0001", "\u0085", "\u2028", "\ufeff",
		"  a\n b", "yes", "{{", "a\r\nb", "'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text != "" && !printable(text, maxSentText) || text == "other" {
			return
		}
		c := Default()
		c.Models[0].Quality = Quality{"q", []string{text, "other"}}
		if printable(text, 20) {
			c.Models[0].Sensors = map[string]Sensor{"s": {Type: fold.Number, Unit: text}}
		}
		named := Model{Name: "m", Match: fold.Match{Labels: map[string][]string{"l": {text + "x"}}}}
		c.Models = append([]Model{named}, c.Models...)
		c.share()
		for _, show := range []func() ([]byte, error){c.YAML, c.JSON} {
			shown := must.Have(show())(t)
			if again, err := Parse("furrow.yaml", shown); err != nil || !reflect.DeepEqual(again, c) {
				t.Fatalf("%q is shown as\n%s\nwhich is %+v, %v", text, shown, again, err)
			}
		}
	})
}
