package config

import (
	"os"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
)

// A wrongCase is a file and all its problems, without what was wanted instead.
type wrongCase struct{ text, want string }

// wrongCases reads testdata/wrong.txt: files with a blank line between, each followed by its problems after ">".
func wrongCases(t testing.TB) []wrongCase {
	t.Helper()
	content := must.Have(os.ReadFile("testdata/wrong.txt"))(t)
	all := []wrongCase{
		{"", "furrow.yaml:1:1: the file is empty\n"},
		{"pipelines:\n  - name: l\xfcve\x01\n", "furrow.yaml:2:12: a character that is not text\n"},
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n\n") {
		var c wrongCase
		for line := range strings.Lines(part + "\n") {
			if problem, is := strings.CutPrefix(line, "> "); is {
				c.want += "furrow.yaml:" + problem
			} else {
				c.text += line
			}
		}
		all = append(all, c)
	}
	return all
}

func TestAllProblemsOfAFileAreReportedWithTheirPlaces(t *testing.T) {
	for _, c := range wrongCases(t) {
		got := ""
		if _, err := Parse("furrow.yaml", []byte(c.text)); err != nil {
			for _, p := range err.(Problems) {
				problem, _, _ := strings.Cut(p.String(), "; want ")
				got += problem + "\n"
			}
		}
		if got != c.want {
			t.Errorf("problems of\n%s\nare\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

func TestOneProblemIsALineAndSeveralAreCounted(t *testing.T) {
	one := Problems{{"f", 1, 2, "a"}}
	if got := one.Error(); got != "f:1:2: a" {
		t.Errorf("one is %q", got)
	}
	if got := make(Problems, maxProblems).Count(); got != "1000 problems or more" {
		t.Errorf("the most are %q", got)
	}
	const want = "the configuration has 2 problems:\nf:1:2: a\nf:3:4: b"
	if got := append(one, Problem{"f", 3, 4, "b"}).Error(); got != want {
		t.Errorf("two are %q, want %q", got, want)
	}
}

// TestProblemsThatAreNotListedCountToo: a rule that is not read is not checked either.
func TestProblemsThatAreNotListedCountToo(t *testing.T) {
	text := "pipelines: [{name: live, processors: [latest, rules]}]\nrules:\n" +
		strings.Repeat("  Hot: []\n", maxProblems) + "  warm: {severity: info}\n"
	if _, err := Parse("furrow.yaml", []byte(text)); err == nil || len(err.(Problems)) != maxProblems {
		t.Errorf("%.300v", err)
	}
}

func TestExcessiveFilesAreRefusedQuickly(t *testing.T) {
	aliases := "pipelines:\n  - name: a\n    processors:\n      - rollup: {windows: &w [" + strings.Repeat("1m, ", 2000) +
		"1h]}\n" +
		strings.Repeat("  - processors: [rollup: {windows: *w}]\n", 900)
	for what, c := range map[string]struct{ text, want string }{
		"bytes":    {strings.Repeat("#\n", maxFile/2+1), "1:1: the file has more than 983040 bytes"},
		"brackets": {"pipelines: " + strings.Repeat("[", 5000), "1:32: nested more than 20 levels deep"},
		"dashes":   {"pipelines:\n  " + strings.Repeat("- ", 5000), "2:43: nested more than 20 levels deep"},
		"words": {"pipelines:\n" + strings.Repeat("- a\n", maxTokens),
			"15001:1: the file has more than 30000 words and signs"},
		"aliases": {aliases, "1:1: the aliases of the file stand for more than 100000 values"},
	} {
		_, err := Parse("furrow.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), "furrow.yaml:"+c.want) || !strings.Contains(err.Error(),
			"the most that is read") {
			t.Errorf("too many %s: %.300v; want %q", what, err, c.want)
		}
	}
}

// TestWordsThatOtherYAMLTakesForBooleansAreTexts: sensors and labels may have these names.
func TestWordsThatOtherYAMLTakesForBooleansAreTexts(t *testing.T) {
	c := must.Have(Parse("furrow.yaml", []byte("pipelines: [{name: live, processors: [latest]}]\nmodels:\n  yes:\n    "+
		"match: {labels.on: [no, off]}\n    sensors: {on: state, yes: number, no: state, off: {unit: y}}\n")))(t)
	m := c.Models[0]
	if m.Name != "yes" || len(m.Match.Labels["on"]) != 2 || m.Match.Labels["on"][0] != "no" || len(m.Sensors) != 4 ||
		m.Sensors["off"].Unit != "y" {
		t.Errorf("%+v", m)
	}
}
