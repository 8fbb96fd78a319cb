package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/jobs/notify"
	"furrow/jobs/rules"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// A field is a field of a block's struct. Its type says what its value may be, and tags say more:
//
//	want           what a problem says is wanted, where type and tags do not tell
//	least, most    bounds of a duration, of a whole number, or of the number of characters of a text
//	step           a duration is a multiple of it
//	choice         the words that a text may be, or a boolean
//	is             a kind of its own: of a text, such as the name of a sensor; of a number, such as a share; of a
//	               duration, such as a cadence; of a list, such as any (one text is as good)
//
// A new block needs no code but its struct, unless a field has a new type: then kind gets a case.
type field struct {
	r    *reader
	name string
	tag  reflect.StructTag
}

// kind returns the kind of the field with a value. A field of any other type is a mistake in its package.
func (f field) kind(v reflect.Value) kind {
	switch to := v.Addr().Interface().(type) {
	case *time.Duration:
		return f.duration(to)
	case *int:
		return f.wholeNumber(to)
	case *bool:
		return f.boolean(to)
	case *float64:
		return f.number(to)
	case **rules.Bound:
		return f.bound(to)
	case **[2]float64:
		return f.twoNumbers(to)
	case **condition.Condition:
		return f.condition(func(c *condition.Condition) { *to = c }, func() any { return quoted((*to).String()) })
	case *fold.SensorKind:
		return f.sensorType(to)
	case *fold.Match:
		return f.match(to, nil)
	case *rules.Match:
		return f.match(&to.Match, &to.Model)
	case *rules.Kind:
		return f.when(v)
	case **Counter:
		return f.counter(to)
	case *map[string]Sensor:
		return f.sensors(to)
	case *map[schema.Window]time.Duration:
		return f.keptWindows(to)
	case *[]Processor:
		return f.processors(to)
	case *[]string:
		return f.texts(to)
	case *[]schema.Window:
		return f.windows(to)
	case *[]schema.By:
		return f.groups(to)
	case *[]schema.Target:
		return f.targets(to)
	}
	switch v.Kind() {
	case reflect.String:
		return f.text(v)
	case reflect.Struct:
		return f.structKind(v)
	case reflect.Pointer:
		return f.pointerKind(v)
	case reflect.Slice:
		return f.blocksKind(v)
	}
	panic(fmt.Sprintf("config: no key can be a %s", v.Type()))
}

// want returns the tag want, or else a text.
func (f field) want(otherwise string) string { return cmp.Or(f.tag.Get("want"), otherwise) }

func (f field) is(what string) bool { return f.tag.Get("is") == what }

// word is the kind of a word that take takes.
func (f field) word(want string, take func(text string) bool, shown func() any) kind {
	return kind{want: want, shown: shown, read: func(n ast.Node) {
		if text, at, ok := f.r.scalar(f.name, n, want); ok && !take(text) {
			f.r.problem(at, "%s %s; want %s", f.name, quote(text), want)
		}
	}}
}

// checked is the kind of a word for which take says what is wrong.
func (f field) checked(want string, take func(text string) error, shown func() any) kind {
	return kind{want: want, shown: shown, read: func(n ast.Node) {
		if text, at, ok := f.r.scalar(f.name, n, want); ok {
			if err := take(text); err != nil {
				f.r.problem(at, "%s: %v", f.name, err)
			}
		}
	}}
}

const (
	day     = 24 * time.Hour
	forever = "forever"
)

// duration is the kind of whole seconds. What is kept can be for ever, which is zero.
func (f field) duration(to *time.Duration) kind {
	bound := func(name, otherwise string) time.Duration {
		d, _ := parseSeconds(cmp.Or(f.tag.Get(name), otherwise))
		return d
	}
	least, most, step := bound("least", "1s"), bound("most", "36600d"), bound("step", "1s")
	from, until := schema.FormatDuration(least), schema.FormatDuration(most)
	want := fmt.Sprintf("a duration from %s to %s, in whole seconds, such as 90s, 5m, 1h or 1d", from, until)
	switch {
	case f.is("kept"):
		least, step = leastKept, day
		want = fmt.Sprintf("forever, or a duration from %s, because tokens and audits reach back 8 days, such as 14d or 2w",
			schema.FormatDuration(least))
	case f.is("cadence"):
		want = "a duration from 1s to 366d that divides a day evenly, or whole days, such as 30s, 1m, 1h or 1d"
	case step == day:
		want = "whole days from " + from + " to " + until
	}
	return f.word(f.want(want), func(text string) bool {
		if f.is("kept") && text == forever {
			return true
		}
		d, ok := parseSeconds(text)
		*to = d
		if ok && f.is("cadence") {
			ok = day%d == 0 || d%day == 0
		}
		return ok && d >= least && d <= most && d%step == 0
	}, func() any { return schema.FormatDuration(*to) })
}

// parseSeconds parses a positive duration of whole seconds, in the notation of [schema.ParseDuration].
func parseSeconds(s string) (time.Duration, bool) {
	d, err := schema.ParseDuration(s)
	return d, err == nil && d > 0 && d%time.Second == 0
}

func (f field) wholeNumber(to *int) kind {
	least, _ := strconv.Atoi(cmp.Or(f.tag.Get("least"), strconv.Itoa(math.MinInt)))
	most, _ := strconv.Atoi(cmp.Or(f.tag.Get("most"), strconv.Itoa(math.MaxInt)))
	return f.word(f.want(""), func(text string) bool {
		n, err := strconv.Atoi(text)
		*to = n
		return err == nil && n >= least && n <= most
	}, func() any { return *to })
}

func (f field) boolean(to *bool) kind {
	words := strings.Fields(cmp.Or(f.tag.Get("choice"), "true True TRUE false False FALSE"))
	return f.word(f.want(""), func(text string) bool {
		*to = strings.EqualFold(text, "true")
		return slices.Contains(words, text)
	}, func() any { return *to })
}

// number is the kind of a number. A factor is not zero, and a share is in percent.
func (f field) number(to *float64) kind {
	want, share := "a number, such as 190 or -0.5", f.is("share")
	switch {
	case share:
		want = "a share of the devices above 0% and up to 100%, such as 1%"
	case f.is("factor"):
		want = "a number other than 0, such as 0.1"
	}
	return f.word(f.want(want), func(text string) bool {
		digits, percent := strings.CutSuffix(text, "%")
		n, err := strconv.ParseFloat(digits, 64)
		if err != nil || n-n != 0 || share != percent { // not a number, or infinite
			return false
		}
		if *to = n; share {
			*to = n / 100
			return n > 0 && n <= 100
		}
		return n != 0 || !f.is("factor")
	}, func() any {
		if share {
			return strconv.FormatFloat(*to*100, 'g', 12, 64) + "%"
		}
		return *to
	})
}

// bound is the kind of a number, or of a label that has one.
func (f field) bound(to **rules.Bound) kind {
	return f.word("a number, such as 190 or -0.5, or labels.NAME", func(text string) bool {
		b, ok := rules.ParseBound(text)
		*to = &b
		return ok
	}, func() any {
		if b := *to; b.Label == "" {
			return b.Number
		}
		return (*to).String()
	})
}

// twoNumbers is the kind of two numbers.
func (f field) twoNumbers(to **[2]float64) kind {
	const want = "the least and the greatest number that are good, such as [2, 8]"
	return kind{want: want, shown: func() any { return (*to)[:] }, read: func(n ast.Node) {
		items, both := f.r.items(f.name, n, want), &[2]float64{}
		if len(items) != 2 {
			f.r.problem(n, "%s: %s; want %s", f.name, describe(n), want)
			return
		}
		for i, item := range items {
			f.number(&both[i]).read(item)
		}
		*to = both
	}}
}

// text is the kind of a text, as its tags say. Texts that may look like anything are shown in quotes.
func (f field) text(v reflect.Value) kind {
	set := func(text string) bool { v.SetString(text); return true }
	plain, inQuotes := func() any { return v.String() }, func() any { return quoted(v.String()) }
	switch f.tag.Get("is") {
	case "sensor":
		return f.sensorName(set, plain)
	case "name":
		return f.word("1 to 20 lowercase letters and digits, beginning with a letter", func(text string) bool {
			_, err := schema.ParsePipeline(text)
			return set(text) && err == nil
		}, plain)
	case "word":
		return f.word(f.want(""), set, plain)
	case "queue":
		return f.checked(f.want(""), func(text string) error { set(text); return notify.CheckQueue(text) }, plain)
	case "condition":
		return f.condition(func(c *condition.Condition) { set(c.String()) }, inQuotes)
	case "heartbeat":
		return f.checked(f.want(""), func(text string) error {
			_, err := condition.Parse(text)
			set(text)
			return err
		}, inQuotes)
	case "times":
		return f.times(v)
	case "json":
		return f.json(v)
	}
	if words := strings.Fields(f.tag.Get("choice")); len(words) > 0 {
		return f.word(f.want(strings.Join(words, " or ")),
			func(text string) bool { return set(text) && slices.Contains(words, text) }, plain)
	}
	least, _ := strconv.Atoi(f.tag.Get("least"))
	most, _ := strconv.Atoi(f.tag.Get("most"))
	return f.word(f.want("a text"), func(text string) bool {
		return set(text) && len(text) >= least && (most == 0 || printable(text, most))
	}, inQuotes)
}

func printable(s string, most int) bool {
	for _, c := range s {
		if !unicode.IsPrint(c) || c == utf8.RuneError {
			return false
		}
	}
	return s != "" && utf8.RuneCountInString(s) <= most
}

// sensorName is the kind of a name that a sensor can have.
func (f field) sensorName(set func(string) bool, shown func() any) kind {
	want := f.want("the name of a sensor")
	return kind{want: want, shown: shown, read: func(n ast.Node) {
		text, at, ok := f.r.scalar(f.name, n, want)
		if wrong := checkSensor(text); ok && wrong != "" {
			f.r.problem(at, "sensor %s %s", quote(text), wrong)
		}
		set(text)
	}}
}

// condition is the kind of a condition on readings and labels.
func (f field) condition(set func(*condition.Condition), shown func() any) kind {
	return f.checked(f.want(`a condition, such as action == "opened"`), func(text string) error {
		c, err := condition.Parse(text)
		if err == nil && len(c.Sensors()) == 0 {
			err = fmt.Errorf("it names no sensor, so no reading concerns it")
		}
		if err == nil {
			set(c)
		}
		return err
	}, shown)
}

// times is the kind of times of the day, which a text has with commas between.
func (f field) times(v reflect.Value) kind {
	return kind{want: anyOf, read: func(n ast.Node) { v.SetString(strings.Join(f.r.anyOf(f.name, n), ",")) },
		shown: func() any {
			var all []quoted
			for one := range strings.SplitSeq(v.String(), ",") {
				all = append(all, quoted(strings.TrimSpace(one)))
			}
			return all
		}}
}

// json is the kind of any value, which is kept as JSON.
func (f field) json(v reflect.Value) kind {
	return kind{want: f.want(""), read: func(n ast.Node) {
		var body any
		err := yaml.NodeToValue(n, &body)
		text, errJSON := json.Marshal(body)
		if err := cmp.Or(err, errJSON); err != nil {
			f.r.problem(n, "%s: %v; want %s", f.name, err, f.want(""))
		}
		v.SetString(string(text))
	}, shown: func() (body any) {
		if err := json.Unmarshal([]byte(v.String()), &body); err != nil {
			panic(err) // it was checked when it was read
		}
		return body
	}}
}
