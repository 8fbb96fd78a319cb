package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestFilesOfAnyEditorAreRead(t *testing.T) {
	want := mustParse(t, everything)
	for what, text := range map[string]string{
		"CRLF":                 strings.ReplaceAll(everything, "\n", "\r\n"),
		"a byte order mark":    "\ufeff" + everything,
		"no end of line":       strings.TrimSpace(everything),
		"a document's borders": "---" + everything + "...\n",
		"comments around":      "# before\n" + everything + "# after\n",
	} {
		if got, err := Parse("furrow.yaml", []byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("with %s: %v", what, err)
		}
	}
	_, err := Parse("furrow.yaml", []byte("pipelines:\r\n  - name: live\r\n    # ü\r\n    processors: [latst]\r\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "furrow.yaml:4:18:") {
		t.Errorf("with CRLF, the problem is at %v", err)
	}
}

func TestPlacesOfProblemsDoNotDependOnWhatComesBefore(t *testing.T) {
	for _, before := range []string{
		"\n", "\n\n\n", "# comment\n", "    # indented\n", "# a\n\n# b\n", "    # ü°\n",
		"    settle: 20s # behind\n", "    settle: \"20s\"\n", "    settle: '20s'   \n", "    settle: 20s\n\n",
		"    settle: >-\n      20s\n", "    settle: |-\n      20s\n\n", "    settle: \"2\\\n      0s\"\n",
		"    settle:\n      20s\n",
		"quality: {\n  sensor: q,\n  good: [a]}\n",
		"quality:\n  # within\n  good:\n\n    [a]\n  sensor: q\n",
		"sensors: &s\n  door: state # °\n  # last\n", "sensors:\n  ? door\n  : state\n",
		"sensors: {a: {type: number, unit: \"a b\"},\n\n  # c\n  b: state}\n",
		"sensors:\n  a: {type: number, unit: \"'\"}\n",
		"quality:\n  sensor: q\n  good:\n  - a\n  - \"b: c\"\n\n  - 'it''s'\n",
	} {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			const top, bottom = "pipelines:\n  - name: live\n", "    batch: 0\n    processors: [latest]\n"
			text := top + before + bottom
			if strings.ContainsRune("qs", rune(before[0])) {
				text = before + top + bottom
			}
			want := Problem{"furrow.yaml", 3 + strings.Count(before, "\n"), 12,
				`pipeline live: batch "0"; want a whole number of devices from 1 to 99`}
			_, err := Parse("furrow.yaml", []byte(strings.ReplaceAll(text, "\n", end)))
			if got, _ := err.(Problems); len(got) != 1 || got[0] != want {
				t.Errorf("after %q with %q: %v; want line %d", before, end, err, want.Line)
			}
		}
	}
}
