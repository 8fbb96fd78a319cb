package rules

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"furrow/jobs/condition"
	"furrow/tables"
	"furrow/tables/schema"
)

// Bounds of texts, in bytes.
const (
	maxValue = 64
	maxSaid  = 200
	maxText  = 500 // of a text in the configuration
)

var errNoSensor = errors.New("the condition names no sensor, so no reading concerns it")

func hasSensors(c *condition.Condition) error {
	if c == nil {
		return errors.New("no condition")
	}
	if len(c.Sensors()) == 0 {
		return errNoSensor
	}
	return nil
}

// clip shortens a text to so many bytes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most -= len("…"); most > 0 && !utf8.RuneStart(s[most]); most-- {
	}
	return s[:most] + "…"
}

// A placeholder stands for something in a text.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

const placeholders = "{value}, {device}, {tenant}, {site}, {rule}, {since} or {labels.NAME}"

// checkText refuses a text with an unknown placeholder.
func checkText(s string) error {
	if len(s) > maxText {
		return fmt.Errorf("the text has %d bytes; want at most %d", len(s), maxText)
	}
	for _, p := range placeholder.FindAllString(s, -1) {
		name := strings.Trim(p, "{}")
		label, is := strings.CutPrefix(name, ofLabel)
		if _, known := standsFor(&tracked{}, schema.Member{})[name]; !known && (!is || label == "") {
			return fmt.Errorf("the text has %s; want %s", p, placeholders)
		}
	}
	return nil
}

// standsFor returns what placeholders stand for, besides those of labels.
func standsFor(t *tracked, d schema.Member) map[string]string {
	return map[string]string{"value": t.value, "device": string(d.Device), "tenant": string(d.Tenant),
		"site": string(d.Site), "rule": string(t.name), "since": t.held.Time().Format(time.RFC3339)}
}

// text returns what an incident says.
func (w *work) text(t *tracked) string {
	if t.rule.Text == "" {
		return clip(t.rule.When.says(w, t), maxSaid)
	}
	all := standsFor(t, w.member)
	return clip(placeholder.ReplaceAllStringFunc(t.rule.Text, func(p string) string {
		name := strings.Trim(p, "{}")
		if text, is := all[name]; is {
			return text
		}
		return w.member.Labels[strings.TrimPrefix(name, ofLabel)]
	}), maxSaid)
}

// ClosedText says how long an incident was open.
func ClosedText(length tables.Ticks, reason string) string {
	length = min(length, tables.Ticks(math.MaxInt64/100))
	s := "closed after " + schema.FormatDuration((time.Duration(length) * 100).Round(time.Second))
	if reason != "" {
		s += ": " + reason
	}
	return s
}
