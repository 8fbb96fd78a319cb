package web

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"furrow/worker/answers"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/go-json-experiment/json"
)

// functions are available in templates.
func functions(s *static) template.FuncMap {
	return template.FuncMap{
		"path": url.PathEscape, "static": s.address,
		"value": value, "count": count, "seconds": seconds, "ago": ago, "when": when, "dollars": dollars, "size": size,
		"percent": percent, "abs": math.Abs,
		"place": place, "near": near, "windowMillis": windowMillis, "windowText": windowText, "state": stateClass,
		"mark": mark, "chip": chip, "severe": severe, "severeChip": severeChip,
		"number": number, "plural": plural, "short": short, "breaking": breaking,
		"capital": capital, "unit": unitOf,
		"statesChart": statesChart, "stateKeys": stateKeys, "local": local, "seriesChart": seriesChart,
		"seriesRows": seriesRows, "runsChart": runsChart, "spans": api.SpanNames, "steps": steps,
		"costs": costs, "labels": answers.LabelsText, "json": jsonText,
		"severity": severityClass, "severities": model.Severities, "incidentsChart": incidentsChart,
		"total": total, "share": share, "addr": func(t time.Time) *time.Time { return &t },
	}
}

// jsonText returns a value of an answer as it is sent.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func value(v any, unit string) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case float64:
		if unit == "" {
			return number(v)
		}
		return number(v) + "\u202f" + unit
	case *float64:
		if v == nil {
			return "–"
		}
		return value(*v, unit)
	}
	return fmt.Sprint(v)
}

func number(v float64) string {
	size := math.Abs(v)
	switch {
	case !finite(v):
		return "–"
	case size >= 1e9 || size > 0 && size < 1e-4:
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', 3, 64), "e")
		power, _ := strconv.Atoi(exponent)
		mantissa = strings.TrimSuffix(strings.TrimRight(mantissa, "0"), ".")
		return strings.ReplaceAll(fmt.Sprintf("%se%d", mantissa, power), "-", "−")
	case size >= 10000:
		return count(v)
	case size < 1:
		return rounded(v, 1000)
	case size < 10:
		return rounded(v, 100)
	}
	return rounded(v, 10)
}

// rounded writes v in steps of a fraction, as text.js does to the digit.
func rounded(v, steps float64) string {
	text := strconv.FormatFloat(math.Round(math.Abs(v)*steps)/steps, 'f', -1, 64)
	if v < 0 && text != "0" {
		return "−" + text
	}
	return text
}

func count(n any) string {
	f, _ := strconv.ParseFloat(fmt.Sprint(n), 64)
	text := strconv.FormatFloat(math.Abs(math.Round(f)), 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	if f <= -0.5 {
		return "−" + text
	}
	return text
}

// size formats a number of bytes.
func size(bytes int64) string {
	return strings.Replace(humanize.IBytes(uint64(max(0, bytes))), " ", "\u202f", 1)
}

// plural counts things: "1 device", "1 234 devices".
func plural(n any, one string) string {
	i, _ := strconv.Atoi(fmt.Sprint(n))
	return count(n) + "\u00a0" + english.PluralWord(i, one, "")
}

// capital begins a sentence.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func seconds(s any) string {
	f, known := s.(float64)
	if p, isPointer := s.(*float64); isPointer && p != nil {
		f, known = *p, true
	}
	if !known || !finite(f) || math.Abs(f) > 1e9 {
		return "–"
	}
	return span(time.Duration(f * float64(time.Second)))
}

func span(d time.Duration) string {
	switch s := max(d, -d).Seconds(); {
	case s > 0 && s < 0.01:
		return rounded(s*1000, 10) + "\u202fms"
	case s > 0 && s < 0.1:
		return rounded(s*1000, 1) + "\u202fms"
	case s < 9.95:
		return rounded(s, 10) + "\u202fs"
	case s < 120:
		return rounded(s, 1) + "\u202fs"
	case s < 7200:
		return rounded(s/60, 1) + "\u202fmin"
	case s < 48*3600:
		return rounded(s/3600, 1) + "\u202fh"
	default:
		return rounded(s/86400, 1) + "\u202fdays"
	}
}

// ago formats the time since t, or until it.
func ago(now time.Time, t *time.Time) template.HTML {
	if t == nil || t.IsZero() {
		return `<span class="muted">never</span>`
	}
	text := span(now.Sub(*t)) + " ago"
	if t.After(now.Add(time.Second)) {
		text = "in " + span(t.Sub(now))
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`,
		t.UTC().Format(time.RFC3339), t.UTC().Format("2 Jan 2006 15:04:05 UTC"), text))
}

func when(t time.Time) template.HTML {
	layout := "2 Jan 15:04:05"
	if t.UTC().Year() != time.Now().UTC().Year() {
		layout = "2 Jan 2006 15:04:05"
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.UTC().Format(time.RFC3339),
		t.UTC().Format(layout)))
}

// local formats a time as a field for date and time has it, in UTC.
func local(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }

// percent returns a share in percent.
func percent(share float64) string {
	if !finite(share) {
		return "–"
	}
	return rounded(100*share, 1) + "\u202f%"
}

func dollars(v float64) string {
	switch {
	case !finite(v):
		return "–"
	case v == 0:
		return "$0"
	case v < 0.0001:
		return "below $0.0001"
	case v < 0.01:
		return fmt.Sprintf("$%.4f", v)
	case v < 1000:
		return fmt.Sprintf("$%.2f", v)
	}
	return "$" + count(v)
}

func place(lat, lon *float64) string {
	if !onEarth(lat, lon) {
		return ""
	}
	return strings.ReplaceAll(fmt.Sprintf("%.4f,\u00a0%.4f", *lat, *lon), "-", "−")
}

func onEarth(lat, lon *float64) bool {
	return lat != nil && lon != nil && math.Abs(*lat) <= 90 && math.Abs(*lon) <= 180
}

// near returns the address of the map around a position, for browsers with and without scripts.
func near(lat, lon *float64) string { return nearAmong(url.Values{}, lat, lon) }

// nearAmong returns the address of the map around a place, with what a filter selects.
func nearAmong(filter url.Values, lat, lon *float64) string {
	if !onEarth(lat, lon) {
		return address("/", filter)
	}
	const around = 0.02
	box := boxText(model.Box{*lon - around, *lat - around, *lon + around, *lat + around})
	return address("/", filter, "bbox", box, "zoom", "14") + fmt.Sprintf("#14/%.5f/%.5f", *lat, *lon)
}

func states() []model.State {
	return []model.State{model.OK, model.Unheard, model.Silent, model.Held, model.Revoked}
}

func sorts() []Option {
	return []Option{{model.SortState, "exceptions first"}, {model.SortDevice, "name"}, {model.SortValue, "value"},
		{model.SortTime, "newest value"}}
}

func steps() []string {
	all := make([]string, colours)
	for i := range all {
		all[i] = fmt.Sprint("c", i)
	}
	return all
}

// colours is the number of colours of the scale.
const colours = 10

func rampClass(v *float64, scale *[2]float64) string {
	if known(v) == nil || scale == nil || !finite(scale[1]-scale[0]) {
		return "none"
	}
	return fmt.Sprint("c", int(max(0, min(colours-1, colours*(*v-scale[0])/max(1e-12, scale[1]-scale[0])))))
}

func clusterText(c model.Cluster, unit string) string {
	text := plural(c.N, "device")
	if c.Mean != nil {
		text += ", mean " + value(c.Mean, unit)
	}
	if c.New > 0 {
		text += ", " + count(c.New) + " new"
	}
	if c.Silent > 0 {
		text += ", " + count(c.Silent) + " silent"
	}
	if c.Held > 0 {
		text += ", " + count(c.Held) + " held"
	}
	return text
}

// breaking lets a long name wrap after its separators.
func breaking(s string) template.HTML {
	var b strings.Builder
	for len(s) > 0 {
		end := strings.IndexAny(s, ":._-") + 1
		if end == 0 {
			end = len(s)
		}
		b.WriteString(template.HTMLEscapeString(s[:end]) + "<wbr>")
		s = s[end:]
	}
	return template.HTML(strings.TrimSuffix(b.String(), "<wbr>"))
}

func short(s string) string {
	r := []rune(s)
	if len(r) <= 28 {
		return s
	}
	return string(r[:8]) + "…" + string(r[len(r)-18:])
}
