package web

import (
	"net/http"
	"net/url"
	"slices"

	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
)

// A Form selects what a page shows: by filters, and by other choices.
type Form struct {
	Path   string // of the page; empty: the present one
	Fields []Field
	Button string
	Clear  string   // address without filters; empty: none is set
	Links  []Option // addresses and texts
}

// A Field is one parameter of a page's address.
type Field struct {
	Name, Label, Value string
	Type               string // search, text, date, select or hidden
	Hint               string
	Options            []Option // of select
	Choice             bool     // it does not filter: something is always chosen
	Shortcut           bool     // the key / goes to it
	Wrong              string   // why the value is not applied
}

// An Option is one value of a Field, and what it is called.
type Option struct{ Value, Name string }

// Set counts the filters that are set.
func (f Form) Set() (n int) {
	for _, field := range f.Fields {
		if field.filters() && field.Value != "" {
			n++
		}
	}
	return n
}

// Wrong reports whether a value is not applied.
func (f Form) Wrong() bool {
	return slices.ContainsFunc(f.Fields, func(field Field) bool { return field.Wrong != "" })
}

// Filters reports whether the form has a filter, and not only choices.
func (f Form) Filters() bool { return slices.ContainsFunc(f.Fields, Field.filters) }

func (f Field) filters() bool { return !f.Choice && f.Type != "hidden" }

// Unlisted reports whether the value is none of the options, as an invalid one.
func (f Field) Unlisted() bool {
	return f.Value != "" && !slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == f.Value })
}

// options returns one Option for each value, after the first ones.
func options[T ~string](all []T, first ...Option) []Option {
	for _, value := range all {
		first = append(first, Option{string(value), string(value)})
	}
	return first
}

// tenantField lets people choose a tenant, where there are several.
func tenantField(chosen string, all []string, none ...Option) Field {
	f := Field{Name: "tenant", Label: "Tenant", Value: chosen, Type: "select", Options: options(all, none...)}
	if len(all) <= 1 {
		f.Type = "hidden"
	}
	return f
}

// sensorField lets people choose the sensor whose values are shown.
func sensorField(chosen string, all []model.Sensor) Field {
	f := Field{Name: "sensor", Label: "Sensor", Value: chosen, Type: "select", Choice: true}
	for _, s := range all {
		name := s.Name
		if s.Unit != "" {
			name += " (" + s.Unit + ")"
		}
		f.Options = append(f.Options, Option{s.Name, name})
	}
	if len(all) == 0 {
		f.Options = []Option{{"", "none yet"}}
	}
	return f
}

// deviceFields are the filters of devices: all pages that list something of devices have them. State is that of what
// the page lists.
func deviceFields(f model.Filter, state Field, tenants []string) []Field {
	state.Name, state.Label, state.Type = "state", "State", "select"
	return []Field{
		{Name: "text", Label: "Device", Value: f.Text, Type: "search", Hint: "text in any part of the ID", Shortcut: true},
		state,
		tenantField(f.Tenant, tenants, Option{"", "all"}),
		{Name: "site", Label: "Site", Value: f.Site, Type: "text"},
		{Name: "label", Label: "Label", Value: f.Label, Type: "text", Hint: "name=text"},
		{Name: "model", Label: "Model", Value: f.Model, Type: "text"},
		{Name: "where", Label: "Where", Value: f.Where.String(), Type: "text", Hint: "temperature > 30"},
	}
}

// stateOf lets people choose a state of devices.
func stateOf(f model.Filter) Field {
	return Field{Value: string(f.State), Options: options(states(), Option{"", "any"})}
}

func (p MapPage) Form() Form {
	sort := Field{Name: "sort", Label: "Sort by", Value: p.Sort, Type: "select", Options: sorts(), Choice: true}
	return p.form(Form{Path: "/", Button: "Filter",
		Fields: append(deviceFields(p.Filter, stateOf(p.Filter), p.Tenants), sensorField(p.Map.Sensor, p.Sensors), sort)})
}

func (p DevicesPage) Form() Form {
	sort := Field{Name: "sort", Value: p.Query.Sort, Type: "hidden"}
	return p.form(Form{Path: "/devices", Button: "Filter", Links: []Option{{p.MapAddress(), "On the map"}},
		Fields: append(deviceFields(p.Query.Filter, stateOf(p.Query.Filter), p.Tenants),
			sensorField(p.Query.Sensor, p.Sensors), sort)})
}

func (p IncidentsPage) Form() Form {
	state := Field{Value: p.State(), Options: p.States()}
	return p.form(Form{Path: "/incidents", Button: "Filter", Fields: append(deviceFields(p.Query.Filter, state, p.Tenants),
		Field{Name: "device", Label: "Whole ID", Value: p.Query.Device, Type: "text"},
		Field{Name: "severity", Label: "Severity", Value: p.Query.Severity, Type: "select",
			Options: options(model.Severities(), Option{"", "any"})},
		Field{Name: "rule", Label: "Rule", Value: p.Query.Rule, Type: "text"},
		Field{Name: "span", Label: "Opened within", Value: p.Span, Type: "select",
			Options: options(api.SpanNames(), Option{"", "any time"})})})
}

func (p ReportPage) Form() Form {
	sensor := sensorField(p.Sensor(), slices.DeleteFunc(slices.Clone(p.Sensors), func(s model.Sensor) bool {
		return s.Kind != "number"
	}))
	by := Field{Name: "by", Label: "Side by side", Value: p.Summary.By, Type: "select", Options: options(p.Groups),
		Choice: true}
	if len(p.Groups) == 0 {
		by.Type = "hidden"
	}
	return p.form(Form{Button: "Show", Fields: []Field{{Name: "period", Value: p.Summary.Period, Type: "hidden"}, sensor,
		by, {Name: "day", Label: "Day", Value: p.Day, Type: "date", Choice: true}}})
}

func (p ArchivePage) Form() Form {
	var none []Option
	if p.Answer.Tenant == "" {
		none = []Option{{"", "choose one"}}
	}
	tenant := tenantField(p.Answer.Tenant, p.Tenants, none...)
	tenant.Choice = true
	f := Form{Path: "/archive", Button: "Show", Fields: []Field{tenant}}
	if len(p.Answer.Tables) > 0 {
		f.Fields = append(f.Fields, Field{Name: "from", Label: "From", Value: p.From(), Type: "date", Choice: true},
			Field{Name: "to", Label: "Before", Value: p.Answer.To.UTC().Format("2006-01-02"), Type: "date", Choice: true})
	}
	return p.form(f)
}

// A wrongValue is one of a request that is not applied.
type wrongValue struct{ name, text, why string }

// form completes a page's form.
func (f foot) form(form Form) Form {
	for _, wrong := range f.wrong {
		for i := range form.Fields {
			if field := &form.Fields[i]; field.Name == wrong.name {
				field.Value, field.Wrong = wrong.text, wrong.why+" This is not applied."
			}
		}
	}
	if form.Set() > 0 {
		form.Clear = form.Path
	}
	return form
}

// A formPage is a page with a form.
type formPage interface {
	Page
	Form() Form
}

// withForm returns the route of a page with a form.
func withForm[Q any](s *Site, pattern string, read func(*http.Request, Q) (Page, error)) api.Route {
	parse := api.Parsing[Q]()
	s.forms[pattern] = func(r *http.Request, query string) (Page, error) {
		q, err := parse(query)
		if err != nil {
			return nil, err
		}
		return read(r, q)
	}
	return page(s, pattern, read)
}

// showWithout answers a request with invalid values with the page that the others select. The page's form keeps the
// invalid values, and says what is wrong with each. It reports whether the page has fields for all of them.
func (s *Site) showWithout(w http.ResponseWriter, r *http.Request, problem *api.Problem) bool {
	read, known := s.forms[r.Pattern]
	query, err := url.ParseQuery(r.URL.RawQuery)
	if !known || err != nil {
		return false
	}
	status := problem.Status
	var wrong []wrongValue
	for problem.Param != "" && query.Has(problem.Param) {
		wrong = append(wrong, wrongValue{problem.Param, query.Get(problem.Param), problem.Detail})
		query.Del(problem.Param)
		page, err := read(r, query.Encode())
		if err != nil {
			problem = api.ProblemOf(err)
			continue
		}
		form, is := page.(formPage)
		if !is || !form.Form().has(wrong) {
			return false
		}
		form.common().wrong = wrong
		s.show(w, r, status, form)
		return true
	}
	return false
}

// has reports whether people see a field of the form for each of some values.
func (f Form) has(values []wrongValue) bool {
	return !slices.ContainsFunc(values, func(v wrongValue) bool {
		return !slices.ContainsFunc(f.Fields, func(field Field) bool {
			return field.Name == v.name && field.Type != "hidden"
		})
	})
}
