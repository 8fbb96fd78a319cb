package factory

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"furrow/cmd/internal/tabular"
	"furrow/sas"
	"furrow/tables/schema"
)

// delivery parses the fields of a line. An empty one counts as absent.
func delivery(fields map[string]string) (v sas.Delivery, err error) {
	if v.Device, err = schema.ParseDeviceID(fields["id"]); err != nil {
		return v, err
	}
	var errs [6]error
	v.Tenant, errs[0] = optional(fields["tenant"], schema.ParseTenant)
	v.Site, errs[1] = optional(fields["site"], schema.ParseSite)
	if v.Model, err = optional(fields["model"], schema.ParseModel); err != nil {
		errs[2] = fmt.Errorf("model %q: %w", fields["model"], err)
	}
	v.Position, errs[3] = ParsePosition(fields["lat"], fields["lon"])
	v.Deployed, errs[4] = optional(fields["deployed"], ParseDeployed)
	v.Labels, errs[5] = labels(fields)
	return v, cmp.Or(cmp.Or(errs[:]...), schema.CheckLabels(v.Labels))
}

func optional[T any](text string, parse func(string) (T, error)) (v T, err error) {
	if text != "" {
		v, err = parse(text)
	}
	return v, err
}

// ParsePosition parses degrees. Two empty texts are no position.
func ParsePosition(lat, lon string) (*schema.Position, error) {
	if lat == "" && lon == "" {
		return nil, nil
	}
	if lat == "" || lon == "" {
		return nil, fmt.Errorf("lat %q and lon %q: a position needs both", lat, lon)
	}
	y, err := degrees("lat", lat, 90)
	if err != nil {
		return nil, err
	}
	x, err := degrees("lon", lon, 180)
	return &schema.Position{Lat: y, Lon: x}, err
}

func degrees(name, text string, most float64) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > most {
		return 0, fmt.Errorf("%s %q is not a number from -%v to %v; write degrees with a point, such as 57.456", name, text,
			most, most)
	}
	return f, nil
}

// ParseDeployed parses RFC 3339, or a date, which means its midnight UTC.
func ParseDeployed(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("deployed %q is neither a date nor a time; write 2026-11-20 or 2026-11-20T08:00:00Z",
		text)
}

// labels returns those of the column labels, which holds a JSON object, and of columns label.NAME.
func labels(fields map[string]string) (map[string]string, error) {
	found := map[string]string{}
	if text := fields["labels"]; text != "" {
		var members map[string]jsontext.Value
		if err := json.Unmarshal([]byte(text), &members); err != nil {
			return nil, fmt.Errorf("labels are not a JSON object: %s", tabular.PlainError(err))
		}
		for name, value := range members {
			cell := tabular.CellOf(value)
			if cell.Kind == '{' || cell.Kind == '[' {
				return nil, fmt.Errorf("label %q is neither a text nor a number", name)
			}
			found[name] = strings.TrimSpace(cell.Text)
		}
	}
	for column, text := range fields {
		if name, ok := strings.CutPrefix(column, labelPrefix); ok && text != "" {
			if _, twice := found[name]; twice {
				return nil, fmt.Errorf("label %q occurs twice", name)
			}
			found[name] = text
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found, nil
}
