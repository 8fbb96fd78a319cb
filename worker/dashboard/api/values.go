package api

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/jobs/condition"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
	"furrow/worker/query"
)

// A parser parses the text of a parameter. Its error says what is allowed.
type parser func(text string) (any, error)

// text returns a parser of texts.
func text(check func(string) error) parser {
	return func(text string) (any, error) { return text, check(text) }
}

// parsed returns a parser of something else.
func parsed[T any](parse func(string) (T, error)) parser {
	return func(text string) (any, error) { return parse(text) }
}

// valid returns the check of a text that a parser takes.
func valid[T any](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := parse(text)
		return err
	}
}

// oneOf returns a parser of a few words.
func oneOf[T ~string](all ...T) parser {
	return func(text string) (any, error) { return T(text), isOneOf(T(text), all...) }
}

// parsers returns what parses each parameter, by its tag.
func parsers() map[string]parser {
	anything := text(func(string) error { return nil }) // or checked by whatever reads the list
	return map[string]parser{
		"bbox":   parsed(parseBox),
		"zoom":   func(text string) (any, error) { return parseNumber(text, -5, 30) },
		"sensor": text(checkSensor), "with": text(checkSensor),
		"tenant": text(valid(schema.ParseTenant)),
		"site":   text(valid(schema.ParseSite)),
		"label":  text(checkLabel),
		"model":  anything, "text": anything, "after": anything, "storage": anything, "table": anything, "path": anything,
		"where": func(text string) (any, error) { // whatever it is on
			return condition.Parse(text, query.BucketMembers()...)
		},
		"prefix": text(valid(schema.IDsWithPrefix)),
		"state":  oneOf(model.OK, model.Unheard, model.Silent, model.Held, model.Revoked),
		"state,incidents": names(len(model.IncidentStates()), func(text string) error {
			return isOneOf(text, model.IncidentStates()...)
		}),
		"sort":  oneOf(model.SortDevice, model.SortTime, model.SortValue, model.SortState),
		"limit": count(model.MaxRows), "limit,page": count(model.MaxListed), "newest": count(model.MaxNewest),
		"generation": parsed(parseGeneration),
		"format":     parsed(parseFormat),
		"sensors":    names(maxSensors, checkSensor), "devices": names(maxDevices, valid(schema.ParseDeviceID)),
		"device": text(valid(schema.ParseDeviceID)), "against": text(valid(schema.ParseDeviceID)),
		"period": oneOf(model.Periods()...),
		"by":     parsed(schema.ParseBy),
		"from":   parsed(parseTime), "to": parsed(parseTime),
		"rule":     text(valid(schema.ParseRule)),
		"severity": oneOf(model.Severities()...),
		"window":   text(checkWindow),
		"span":     text(checkSpan),
		"month":    parsed(parseMonth),
		"day":      parsed(parseDay),
	}
}

func checkLabel(text string) error {
	name, value, _ := strings.Cut(text, "=")
	if name == "" {
		return errors.New("must be NAME=TEXT, or NAME for any text")
	}
	return schema.CheckLabels(map[string]string{name: cmp.Or(value, "any")})
}

func checkWindow(text string) error {
	if _, wrong := schema.ParseWindow(text); wrong != nil && text != "auto" && text != "raw" &&
		text != model.WindowNewest {
		return errors.New("must be auto, raw, newest, or the size of a window such as 1m, 1h or 1d")
	}
	return nil
}

func checkSpan(text string) error {
	if span, wrong := parseSpan(text); wrong != nil || span <= 0 {
		return errors.New("must be a duration such as 90m, 3h, 7d, 2w or 1y")
	}
	return nil
}

func parseGeneration(text string) (int64, error) {
	n, err := parseCount(text, schema.MaxGeneration)
	return int64(n), err
}

func parseFormat(text string) (answers.Format, error) {
	return answers.Format(text), isOneOf(text, answers.ForPrograms()...)
}

func parseMonth(text string) (time.Time, error) {
	month, wrong := time.Parse("2006-01", text)
	if wrong != nil || month.Year() < 1 {
		return month, errors.New("must be a UTC month such as 2026-11")
	}
	return month, nil
}

func parseDay(text string) (schema.Day, error) {
	day, wrong := schema.ParseDay(text)
	if wrong != nil || day.Start().Time().Format(time.DateOnly) != text {
		return day, errors.New("must be a UTC day such as 2026-11-21")
	}
	return day, nil
}

// MaxWith is the most sensors that a chart has besides its own.
const MaxWith = 3

func checkSensor(text string) error {
	if sensor, _ := model.Rated(text); query.CheckSensors([]string{sensor}) != nil {
		return errors.New("a sensor's name has letters, digits and _, and does not begin with a digit; " +
			"the name of its rate ends in /h")
	}
	return nil
}

// How many a question may name.
const (
	maxSensors = 100
	maxDevices = 100
)

// names returns a parser of names that are separated by commas.
func names(most int, check func(string) error) parser {
	return func(text string) (any, error) {
		names := strings.Split(text, ",")
		if len(names) > most {
			return nil, fmt.Errorf("must be at most %d names, separated by commas", most)
		}
		for _, name := range names {
			if err := check(name); err != nil {
				return nil, fmt.Errorf("must be names separated by commas: %w", err)
			}
		}
		return names, nil
	}
}

func count(most int) parser {
	return func(text string) (any, error) { return parseCount(text, most) }
}

func parseCount(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("must be a whole number from 1 to %d", most)
	}
	return n, nil
}

func isOneOf[T ~string](text T, all ...T) error {
	if slices.Contains(all, text) {
		return nil
	}
	var names []string
	for _, one := range all {
		names = append(names, string(one))
	}
	return fmt.Errorf("must be one of %s", strings.Join(names, ", "))
}

func parseNumber(text string, low, high float64) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < low || n > high {
		return 0, fmt.Errorf("must be a number from %v to %v", low, high)
	}
	return n, nil
}

func parseBox(text string) (b model.Box, err error) {
	parts := strings.Split(text, ",")
	wrong := errors.New("must be four numbers in degrees, west,south,east,north, such as -10.5,35,30,60")
	if len(parts) != 4 {
		return b, wrong
	}
	for i, part := range parts {
		limit := 180.0 - 90*float64(i%2)
		n, err := parseNumber(strings.TrimSpace(part), -limit, limit)
		if err != nil {
			return b, wrong
		}
		b[i] = n
	}
	if b[1] > b[3] {
		return b, errors.New("south is greater than north: swap the second and the fourth number")
	}
	return b, nil
}

// parseTime parses a time as furrow query does: relative to now, or in UTC unless it has a zone.
func parseTime(text string) (time.Time, error) {
	ticks, err := query.ParseMoment(text, time.Now())
	t := ticks.Time().UTC()
	if text == "now" || strings.HasPrefix(text, "-") {
		t = t.Truncate(time.Second) // requests within a second share an answer
	}
	if err == nil && t.Year() >= 1 && t.Year() <= 9999 {
		return t, nil
	}
	return t, errors.New("must be a time such as 2026-11-21T08:00:00Z, or -2h for two hours ago")
}

// SpanNames are the spans that charts are offered for, the shortest first.
func SpanNames() []string { return []string{"10m", "1h", "6h", DefaultSpan, "7d", "30d", "1y"} }

// DefaultSpan is the span of a chart when the request names no time.
const DefaultSpan = "24h"

// SpanOf returns the length of a valid span; zero for an empty one.
func SpanOf(span string) time.Duration {
	d, _ := parseSpan(span)
	return d
}

// parseSpan parses a duration, or a number of years, of 365 days each.
func parseSpan(text string) (time.Duration, error) {
	years, are := strings.CutSuffix(text, "y")
	if !are {
		return schema.ParseDuration(text)
	}
	n, err := parseCount(years, int(schema.MaxDuration/(365*24*time.Hour)))
	return time.Duration(n) * 365 * 24 * time.Hour, err
}
