package condition

import (
	"context"
	"regexp/syntax"
	"strings"
	"testing"
)

// row has the sensors oil (191.5), mode ("open"), door (true) and zero (0), and the label class; and the position of
// Aberdeen, with labels that have that of Edinburgh.
func row() Row {
	values := map[string]Value{"oil": Number(191.5), "mode": Text("open"), "door": truth(true), "zero": Number(0),
		"lat": Number(57.1497), "lon": Number(-2.0943)}
	return Row{Sensor: func(name string) Value { return values[name] }, Labels: map[string]string{"class": "Fryer",
		"lat": "55.9533", "lon": "-3.1883"}}
}

func TestConditionsOnARow(t *testing.T) {
	for text, want := range map[string]bool{
		"oil > 190":                                true,
		"oil > 191.5":                              false,
		"oil >= 191.5 and oil < 192":               true,
		"190 < oil && oil != 3":                    true,
		`mode == "open"`:                           true,
		`mode == 'shut'`:                           false,
		`mode > "a"`:                               true,
		`mode in ["ajar", "open"]`:                 true,
		`mode not in ["ajar", "open"]`:             false,
		`"p" in ["a"] or mode matches "^o.e"`:      true,
		`mode contains "pe" and mode endsWith "n"`: true,
		`labels.class startsWith "Fry"`:            true,
		`lower(labels["class"]) == "fryer"`:        true,
		"labels.other == nil":                      true,
		"not (labels.class == nil)":                true,
		"door == true and door == 1":               true,
		"door and not zero":                        true,
		"oil - 100 > 91 and -oil < 0":              true,
		"abs(-oil) * 2 == 383":                     true,
		"7 % 4 == 3":                               true,
		"true":                                     true,
		// Aberdeen and Edinburgh are 148 km apart, and half of the equator is 20,015 km long.
		"distance(lat, lon, 57.1497, -2.0943) < 1":                     true,
		"distance(lat, lon, 55.9533, -3.1883) > 148000":                true,
		"distance(lat, lon, 55.9533, -3.1883) < 150000":                true,
		"distance(lat, lon, labels.lat, labels.lon) > 148000":          true,
		"distance(lat, lon) > 148000 and distance(lat, lon) < 150000":  true,
		"distance(zero, zero, zero, 180) > 20015000":                   true,
		"distance(zero, 180, zero, -180) < 1":                          true,
		"distance(90, 0, 90, 77) < 1":                                  true,
		"distance(lat, lon, 91, 0) == nil":                             true,
		"distance(lat, gone, 55, -3) == nil":                           true,
		"distance(lat, lon, labels.class, -3) == nil":                  true,
		"distance(lat, lon, gone, gone) > 0":                           false,
		"distance(lat, lon, 0, 0) < 0 or distance(lat, lon, 0, 0) > 0": true,
		// What is absent, or of another type.
		"gone == nil":                   true,
		"oil == nil":                    false,
		"gone > 0 or oil > 0":           true,
		"gone > 0":                      false,
		"gone <= 0":                     false,
		"gone + 1 > 0":                  false,
		"gone + 1 == nil":               true,
		"not (gone > 0)":                true,
		"mode > 3":                      false,
		"mode == 3":                     false,
		"oil == '191.5'":                false,
		`oil contains "9"`:              false,
		"oil / zero > 0":                false,
		"mode and not gone":             true,
		"abs(mode) == nil":              true,
		"gone == other":                 true,
		"1 in [oil, door]":              true,
		`mode == "open" ? true : false`: false, // refused below
	} {
		c, err := Parse(text)
		if strings.Contains(text, "?") {
			if err == nil {
				t.Errorf("%s is taken", text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := c.Holds(row()); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}

func TestConditionsTellTheirSensors(t *testing.T) {
	c, err := Parse("oil > 1 and (mode == nil or oil < labels.most)")
	if err != nil || strings.Join(c.Sensors(), " ") != "oil mode" || !c.Labels() {
		t.Errorf("%v, labels %t: %v", c.Sensors(), c.Labels(), err)
	}
}

// TestConditionsAreTriedBeforeLabelsAreKnown: what MayHold rules out, no labels can make hold.
func TestConditionsAreTriedBeforeLabelsAreKnown(t *testing.T) {
	for text, want := range map[string]bool{
		`oil > 200 and labels.class == "Fryer"`:            false,
		`labels.class == "x" && (oil > 1 and mode == "b")`: false,
		`oil > 190 and labels.class == "x"`:                true,
		`oil > 200 or labels.class == "x"`:                 true,
		`not (oil > 190 and labels.class == "x")`:          true,
		"oil > 200": false,
		"oil > 190": true,
	} {
		c, err := Parse(text)
		if err != nil || c.MayHold(Row{Sensor: row().Sensor}) != want {
			t.Errorf("%s: want %t, %v", text, want, err)
		}
	}
}

func TestWrongConditionsAreExplained(t *testing.T) {
	for text, want := range map[string]string{
		"":              "character 1: unexpected token EOF",
		"oil >":         "character 5: unexpected token EOF",
		"oil = 3":       "character 5: unexpected token Operator(\"=\")",
		"oil + 3":       "oil + 3 is no condition; compare it with something, as in oil + 3 > 0",
		"oil":           "oil is no condition; compare it with something, as in oil > 0",
		"labels == nil": "labels alone; want one of them, as in labels.class",
		"data.oil > 3": "data.oil; only labels have members, as in labels.class: nested values are sensors, " +
			"their names joined by _",
		"now() > 3":                 "now is not known in conditions; there are abs(number), lower(text) and distance(lat, ",
		"all([1], # > 0)":           "all is not known in conditions; there are abs(number), lower(text) and distance(lat, ",
		"oil in 1..3":               `in 1..3; want a list, as in state in ["open", "ajar"]`,
		`mode matches oil`:          "matches oil; want a regular expression in quotes",
		`mode matches "("`:          "matches \"(\": error parsing regexp: missing closing ): `(`",
		"oil ** 2 > 3":              "operator ** is not known in conditions",
		"let x = 1; x > 0":          "let x = 1; x > 0 cannot be part of a condition",
		strings.Repeat("x", 1001):   "the condition has 1001 bytes; want at most 1000",
		"distance(oil) > 3":         "distance takes two points, as in distance(lat, lon, 57.15, -2.09), or one",
		"distance(lat, lon, 57, 2)": "distance(lat, lon, 57, 2) is no condition",
		"frobnicate(oil) > 3":       "frobnicate(oil) cannot be part of a condition",
		`mode == "open" ? 1 : zero`: `mode == "open" ? 1 : zero cannot be part of a condition`,
	} {
		if _, err := Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20s: %v, want %s", text, err, want)
		}
	}
}

func FuzzConditions(f *testing.F) {
	for _, text := range []string{"oil > 190 and not (mode in ['a'])", "labels.a?.b", "abs(-1) % 0 == nil", "((((1))))"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			if strings.ContainsRune(err.Error(), '\n') {
				t.Errorf("%q: the error has several lines: %v", text, err)
			}
			return
		}
		if c.Holds(row()) && !c.MayHold(row()) {
			t.Errorf("%q holds, but may not", text)
		}
		if a, b := c.Holds(row()), c.Holds(row()); a != b {
			t.Errorf("%q is %t and %t", text, a, b)
		}
	})
}

// TestPatternsAreBounded: what a pattern stands for counts, and not its own length.
func TestPatternsAreBounded(t *testing.T) {
	for _, pattern := range []string{
		"^" + strings.Repeat("a{0,1000}", 105) + "b$", "a{1000}a", "((a{10}){10}){9}((a{10}){10}){9}",
		"(a{500}|b{501})", "(?i:x{999}yy)", "[a-z]{0,1000}!",
	} {
		allocations := testing.AllocsPerRun(1, func() {
			_, err := Parse("note matches '" + pattern + "'")
			if err == nil || !strings.Contains(err.Error(), "the patterns of the condition stand for more than 1000") {
				t.Errorf("%.50s: %v", pattern, err)
			}
		})
		if allocations > 5000 {
			t.Errorf("%.50s: %.0f allocations to refuse it", pattern, allocations)
		}
	}
	for _, pattern := range []string{"a{0,400}", "^(alarm|fault|door [0-9]{1,3})", strings.Repeat("a", 900), ".*(x|y)*"} {
		if _, err := Parse("note matches '" + pattern + "'"); err != nil {
			t.Errorf("%.50s: %v", pattern, err)
		}
	}
	if _, err := Parse("a matches 'x{600}' and b matches 'y{600}'"); err == nil {
		t.Error("two patterns are bounded each by itself")
	}
}

// TestPatternsAreCheapToParse: what takes long in ranges and classes is refused before it is parsed.
func TestPatternsAreCheapToParse(t *testing.T) {
	for _, pattern := range []string{
		"(?i)[" + strings.Repeat("b-\U0001e942", 150) + "]", "(?i:[" + strings.Repeat("b-\U0001e942", 150) + "])",
		"(?s-i)x(?mi)[[:alpha:]" + strings.Repeat(`b-\\x{1e942}`, 70) + "]", strings.Repeat(`\\pL`, 320),
		`(?i)[` + strings.Repeat(`\\PL\\pL`, 100) + "]", `^[\\p{Ll}\\pN\\pS\\pM\\pP]{495}$`,
	} {
		var err error
		allocations := testing.AllocsPerRun(1, func() { _, err = Parse("note matches '" + pattern + "'") })
		if err == nil || allocations > 5000 {
			t.Errorf("%.50s: %v after %.0f allocations", pattern, err, allocations)
		}
	}
	for _, pattern := range []string{"(?i)grün|größe", "(?i)[a-zäöü]+", `[а-я]+`, `(?i)[\\d-]+x`, `^\\p{L}+-\\d$`} {
		if _, err := Parse("note matches '" + pattern + "'"); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// FuzzPatternSize compares the size of a pattern with that of its program.
func FuzzPatternSize(f *testing.F) {
	for _, p := range []string{"a", "a{3,9}", "(?i)k+", "(a|b|)*?", "[^a]{2,}", "\\pL{4}", "^$", "(?s:.)", "\\bx\\B"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		tree, err := syntax.Parse(p, syntax.Perl)
		if err != nil || len(p) > 100 {
			return
		}
		n := size(tree)
		if n > maxPatterns {
			return
		}
		program, err := syntax.Compile(tree.Simplify())
		if err == nil && len(program.Inst) > 2*n+4 {
			t.Errorf("%q has %d instructions, and its size is %d", p, len(program.Inst), n)
		}
	})
}

// TestLongMatchEndsWithItsContext has a text of the greatest length, and the greatest pattern.
func TestLongMatchEndsWithItsContext(t *testing.T) {
	c, err := Parse("note matches '(x|.)*(a|b)*(.?){150}c'")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	ctx := countingContext{t.Context(), &asked}
	c.Holds(Row{Context: ctx, Sensor: func(string) Value { return Text(strings.Repeat("a", 64<<10)) }})
	if asked < 3 || asked > 5 {
		t.Errorf("it looks %d times whether its context has ended, which it has after three", asked)
	}
}

// A countingContext ends when it has been asked three times.
type countingContext struct {
	context.Context
	asked *int
}

func (c countingContext) Err() error {
	if *c.asked++; *c.asked >= 3 {
		return context.Canceled
	}
	return nil
}
