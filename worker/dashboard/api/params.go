package api

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
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

// Params are the parameters of a request. A zero field was not given. Times are pointers: the zero time can be given.
type Params struct {
	model.ListQuery
	Zoom   *float64
	From   *time.Time
	To     *time.Time
	Window string
	Span   string
	With   []string // other sensors of a chart

	Against string // another device of a chart
	Day     *schema.Day
	Month   *time.Time // it is in the month

	Devices []string
	Sensors []string
	By      schema.By // what is reported together
	Period  string
	Storage string // name of an account of the fleet
	Table   string // of the archive
	Path    string // of a file of the archive

	Rule, Severity, Device string
	States                 []string       // of incidents
	Newest                 int            // rows
	Generation             int64          // of the configuration
	Format                 answers.Format // empty: as the Accept header says
	Asked                  string         // what determines the answer, without limit, after and format
}

// maxQuery is the largest query string that is read, in bytes.
const maxQuery = 4 << 10

// ParseParams parses a query string that may have the given parameters. Its error is a Problem that says
// what is wrong and what is allowed.
func ParseParams(query string, allowed []string) (p Params, err error) {
	if len(query) > maxQuery {
		return p, badRequest(fmt.Sprintf("The query has %d bytes; the limit is %d.", len(query), maxQuery))
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return p, badRequest("Invalid query. Write parameters as in ?tenant=contoso&limit=50, and escape special " +
			"characters with %.")
	}
	for name, texts := range values {
		switch {
		case !slices.Contains(allowed, name):
			return p, badRequest(fmt.Sprintf("Unknown parameter %s; %s.", quote(name), list(allowed)))
		case name == "with":
			p.With = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
			for _, text := range p.With {
				if err := checkSensor(text); err != nil {
					return p, badRequest(fmt.Sprintf("with=%s: %v.", quote(text), err))
				}
			}
			if len(p.With) > MaxWith {
				return p, badRequest(fmt.Sprintf("A chart has at most %d other sensors; with is given %d times.", MaxWith,
					len(p.With)))
			}
			continue
		case len(texts) > 1:
			return p, badRequest(fmt.Sprintf("The parameter %s is given %d times; give it once.", name, len(texts)))
		case texts[0] == "":
			continue // a form field that was left empty
		}
		if name == "state" && slices.Contains(allowed, "severity") {
			p.States, err = parseNames(texts[0], len(model.IncidentStates()), func(state string) error {
				return oneOf(state, model.IncidentStates()...)
			})
		} else {
			err = p.parse(name, texts[0])
		}
		if err != nil {
			return p, badParam(name, fmt.Sprintf("%s=%s: %v.", name, quote(texts[0]), err))
		}
	}
	if p.Limit > model.MaxListed && !slices.Contains(allowed, "format") {
		return p, badRequest(fmt.Sprintf("limit=%d: must be a whole number from 1 to %d.", p.Limit, model.MaxListed))
	}
	for _, name := range []string{"limit", "after", "format"} {
		values.Del(name)
	}
	p.Asked = values.Encode()
	if p.Against != "" && len(p.With) == MaxWith {
		return p, badRequest(fmt.Sprintf("A chart has at most %d other lines, and another device is one: leave out a sensor.",
			MaxWith))
	}
	if p.From != nil && p.To != nil && !p.From.Before(*p.To) {
		return p, badParam("to", "from must be before to: swap them.")
	}
	if p.Span != "" && (p.From != nil || p.To != nil) {
		return p, badParam("span", "span cannot be combined with from or to: leave one out.")
	}
	return p, nil
}

func list(allowed []string) string {
	if len(allowed) == 0 {
		return "this address takes no parameters"
	}
	return "this address takes " + strings.Join(allowed, ", ")
}

// quote quotes text, shortened to what can be read.
func quote(text string) string {
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	return strconv.Quote(text)
}

// parse parses one value. Its error says what is allowed.
func (p *Params) parse(name, text string) (err error) {
	switch name {
	case "bbox":
		p.Box, err = parseBox(text)
	case "zoom":
		p.Zoom = new(float64)
		*p.Zoom, err = parseNumber(text, -5, 30)
	case "sensor":
		p.Sensor = text
		err = checkSensor(text)
	case "tenant":
		p.Tenant = text
		_, err = schema.ParseTenant(text)
	case "site":
		p.Site = text
		_, err = schema.ParseSite(text)
	case "label":
		p.Label = text
		name, value, _ := strings.Cut(text, "=")
		if name == "" {
			return errors.New("must be NAME=TEXT, or NAME for any text")
		}
		err = schema.CheckLabels(map[string]string{name: cmp.Or(value, "any")})
	case "model":
		p.Model = text
	case "where":
		p.Where, err = condition.Parse(text, query.BucketMembers()...) // whatever it is on
	case "text":
		p.Text = text
	case "prefix":
		p.Prefix = text
		_, err = schema.IDsWithPrefix(text)
	case "state":
		p.State = model.State(text)
		err = oneOf(text, string(model.OK), string(model.Unheard), string(model.Silent), string(model.Held),
			string(model.Revoked))
	case "sort":
		p.Sort, err = text, oneOf(text, model.SortDevice, model.SortTime, model.SortValue, model.SortState)
	case "after":
		p.After = text // checked by whatever reads the list
	case "limit":
		p.Limit, err = parseCount(text, model.MaxRows)
	case "generation":
		var n int
		n, err = parseCount(text, schema.MaxGeneration)
		p.Generation = int64(n)
	case "newest":
		p.Newest, err = parseCount(text, model.MaxNewest)
	case "format":
		p.Format, err = answers.Format(text), oneOf(text, answers.ForPrograms()...)
	case "sensors":
		p.Sensors, err = parseNames(text, maxSensors, checkSensor)
	case "storage":
		p.Storage = text
	case "against":
		p.Against, err = text, checkDevice(text)
	case "table":
		p.Table = text
	case "path":
		p.Path = text
	case "period":
		p.Period, err = text, oneOf(text, model.Periods()...)
	case "by":
		p.By, err = schema.ParseBy(text)
	case "devices":
		p.Devices, err = parseNames(text, maxDevices, checkDevice)
	case "from":
		p.From, err = parseTime(text)
	case "to":
		p.To, err = parseTime(text)
	case "rule":
		p.Rule = text
		_, err = schema.ParseRule(text)
	case "severity":
		p.Severity, err = text, oneOf(text, model.Severities()...)
	case "device":
		p.Device, err = text, checkDevice(text)
	case "window":
		p.Window = text
		if _, wrong := schema.ParseWindow(text); wrong != nil && text != "auto" && text != "raw" &&
			text != model.WindowNewest {
			err = errors.New("must be auto, raw, newest, or the size of a window such as 1m, 1h or 1d")
		}
	case "span":
		p.Span = text
		if span, wrong := parseSpan(text); wrong != nil || span <= 0 {
			err = errors.New("must be a duration such as 90m, 3h, 7d, 2w or 1y")
		}
	case "month":
		month, wrong := time.Parse("2006-01", text)
		if p.Month = &month; wrong != nil || month.Year() < 1 {
			err = errors.New("must be a UTC month such as 2026-11")
		}
	case "day":
		p.Day = new(schema.Day)
		*p.Day, err = schema.ParseDay(text)
		if err != nil || p.Day.Start().Time().Format(time.DateOnly) != text {
			err = errors.New("must be a UTC day such as 2026-11-21")
		}
	}
	return err
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

// parseNames parses names that are separated by commas.
func parseNames(text string, most int, check func(string) error) ([]string, error) {
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

func checkDevice(text string) error {
	_, err := schema.ParseDeviceID(text)
	return err
}

func parseCount(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("must be a whole number from 1 to %d", most)
	}
	return n, nil
}

func oneOf(text string, all ...string) error {
	if slices.Contains(all, text) {
		return nil
	}
	return fmt.Errorf("must be one of %s", strings.Join(all, ", "))
}

func parseNumber(text string, low, high float64) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < low || n > high {
		return 0, fmt.Errorf("must be a number from %v to %v", low, high)
	}
	return n, nil
}

func parseBox(text string) (*model.Box, error) {
	parts := strings.Split(text, ",")
	wrong := errors.New("must be four numbers in degrees, west,south,east,north, such as -10.5,35,30,60")
	if len(parts) != 4 {
		return nil, wrong
	}
	var b model.Box
	for i, part := range parts {
		limit := 180.0 - 90*float64(i%2)
		n, err := parseNumber(strings.TrimSpace(part), -limit, limit)
		if err != nil {
			return nil, wrong
		}
		b[i] = n
	}
	if b[1] > b[3] {
		return nil, errors.New("south is greater than north: swap the second and the fourth number")
	}
	return &b, nil
}

// parseTime parses a time as furrow query does: relative to now, or in UTC unless it has a zone.
func parseTime(text string) (*time.Time, error) {
	ticks, err := query.ParseMoment(text, time.Now())
	t := ticks.Time().UTC()
	if text == "now" || strings.HasPrefix(text, "-") {
		t = t.Truncate(time.Second) // requests within a second share an answer
	}
	if err == nil && t.Year() >= 1 && t.Year() <= 9999 {
		return &t, nil
	}
	return nil, errors.New("must be a time such as 2026-11-21T08:00:00Z, or -2h for two hours ago")
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
