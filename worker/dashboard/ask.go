package dashboard

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
)

// An ask is what the query of an address asks for. What is empty was not asked for.
type ask struct {
	Box    *model.Box
	Zoom   *float64
	Sensor string
	Tenant string
	Site   string
	Prefix string
	State  model.State
	Sort   string
	After  string
	Limit  int
	From   time.Time
	To     time.Time
	Window string
	Span   string
	Day    *schema.Day
}

// longestAsk is how long a query may be, in bytes.
const longestAsk = 4 << 10

// parseAsk reads a query that may have some names. What is wrong with it is a
// refusal that says what would be right.
func parseAsk(query string, names []string) (a ask, err error) {
	if len(query) > longestAsk {
		return a, badRequest(fmt.Sprintf("The query has %d bytes; at most %d are read.", len(query), longestAsk))
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return a, badRequest("The query cannot be read: write names and values as in ?tenant=contoso&limit=50, with % and two digits for other characters.")
	}
	for name, texts := range values {
		switch {
		case !slices.Contains(names, name):
			return a, badRequest(fmt.Sprintf("The query asks for %s, which is not known here; there %s.", quote(name), known(names)))
		case len(texts) > 1:
			return a, badRequest(fmt.Sprintf("The query has %s %d times: say it once.", name, len(texts)))
		case texts[0] == "":
			continue // a field of a form that was left empty
		}
		if err := a.parse(name, texts[0]); err != nil {
			return a, badRequest(fmt.Sprintf("%s is %s: %v.", name, quote(texts[0]), err))
		}
	}
	if !a.From.IsZero() && !a.To.IsZero() && !a.From.Before(a.To) {
		return a, badRequest("from is not before to: swap them.")
	}
	if a.Span != "" && !(a.From.IsZero() && a.To.IsZero()) {
		return a, badRequest("span and from or to were given: leave one out.")
	}
	return a, nil
}

func known(names []string) string {
	if len(names) == 0 {
		return "is nothing to ask for"
	}
	return "are " + strings.Join(names, ", ")
}

// quote is a text in quotes, no longer than can be read.
func quote(text string) string {
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	return strconv.Quote(text)
}

// parse reads one value. Its error says what would be right.
func (a *ask) parse(name, text string) (err error) {
	switch name {
	case "bbox":
		a.Box, err = parseBox(text)
	case "zoom":
		var zoom float64
		zoom, err = parseNumber(text, -5, 30)
		a.Zoom = &zoom
	case "sensor":
		a.Sensor, err = text, checkSensor(text)
	case "tenant":
		_, err = schema.ParseTenant(text)
		a.Tenant = text
	case "site":
		_, err = schema.ParseSite(text)
		a.Site = text
	case "prefix":
		_, err = schema.IDsWithPrefix(text)
		a.Prefix = text
	case "state":
		a.State = model.State(text)
		err = oneOf(text, string(model.OK), string(model.Silent), string(model.Held), string(model.Revoked))
	case "sort":
		a.Sort, err = text, oneOf(text, model.SortDevice, model.SortTime, model.SortValue)
	case "after":
		a.After = text // whoever reads the list knows
	case "limit":
		a.Limit, err = strconv.Atoi(text)
		if err != nil || a.Limit < 1 || a.Limit > model.MostListed {
			err = fmt.Errorf("it takes a whole number from 1 to %d", model.MostListed)
		}
	case "from":
		a.From, err = parseTime(text)
	case "to":
		a.To, err = parseTime(text)
	case "window":
		a.Window, err = text, checkWindow(text)
	case "span":
		a.Span, err = text, oneOf(text, spanNames()...)
	case "day":
		var day schema.Day
		day, err = schema.ParseDay(text)
		if err != nil || day.Start().Time().Format(time.DateOnly) != text {
			err = fmt.Errorf("it takes a day of UTC such as 2026-11-21")
		}
		a.Day = &day
	}
	return err
}

func oneOf(text string, all ...string) error {
	if slices.Contains(all, text) {
		return nil
	}
	return fmt.Errorf("it takes one of %s", strings.Join(all, ", "))
}

func parseNumber(text string, least, most float64) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < least || n > most {
		return 0, fmt.Errorf("it takes a number from %v to %v", least, most)
	}
	return n, nil
}

func parseBox(text string) (*model.Box, error) {
	parts := strings.Split(text, ",")
	wrong := fmt.Errorf("it takes four numbers of degrees, west,south,east,north, such as -10.5,35,30,60")
	if len(parts) != 4 {
		return nil, wrong
	}
	var b model.Box
	for i, part := range parts {
		most := 180.0 - 90*float64(i%2)
		n, err := parseNumber(strings.TrimSpace(part), -most, most)
		if err != nil {
			return nil, wrong
		}
		b[i] = n
	}
	if b[1] > b[3] {
		return nil, fmt.Errorf("its south is north of its north: swap the second number and the fourth")
	}
	return &b, nil
}

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Year() < 1 || t.UTC().Year() > 9999 {
		return time.Time{}, fmt.Errorf("it takes a time such as 2026-11-21T08:00:00Z, of the years 1 to 9999")
	}
	return t.UTC(), nil
}

func checkWindow(text string) error {
	if _, err := schema.ParseWindow(text); err != nil && text != "auto" && text != "raw" {
		return fmt.Errorf("it takes auto, raw, or the size of a window such as 1m, 1h or 1d")
	}
	return nil
}

func checkSensor(text string) error {
	e := tables.Entity{PartitionKey: "device", RowKey: "row"}
	e.Set(text, tables.Boolean(true))
	if e.Check() != nil {
		return fmt.Errorf("no sensor can be called so: it takes letters, digits and _, not a digit first")
	}
	return nil
}

// spanNames are the spans that charts are offered for, the shortest first.
func spanNames() []string { return []string{"1h", "6h", "24h", "7d", "30d", "1y"} }

// spanOf is how long a span is.
func spanOf(name string) time.Duration {
	const day = 24 * time.Hour
	return map[string]time.Duration{"1h": time.Hour, "6h": 6 * time.Hour, "24h": day, "7d": 7 * day, "30d": 30 * day, "1y": 365 * day}[name]
}
