package notify

import (
	"bytes"
	"fmt"
	htmltemplate "html/template"
	"regexp"
	"slices"
	"strings"
	texttemplate "text/template"
	"unicode/utf8"

	"furrow/tables/schema"

	"github.com/go-json-experiment/json/jsontext"
)

// A content is what templates of bodies see of a message.
type content struct {
	ID        string // the same one may come again
	Target    schema.Target
	Title     string // describes it in one line
	Text      string // a line for each incident
	Severity  string // the highest
	Open      bool   // an incident of it is open
	Test      bool
	To        string
	Secret    string // only where the preset wants it in the body
	Group     map[string]string
	Incidents []eventIncident
}

func (m message) content() content {
	e := m.event()
	c := content{ID: m.id, Target: m.target.Name, Title: m.subject(), Test: m.test, Group: e.Data.Group,
		Incidents: e.Data.Incidents}
	var lines []string
	for i, d := range m.deliveries {
		site := ""
		if d.Site != "" {
			site = " at " + string(d.Site)
		}
		lines = append(lines, fmt.Sprintf("%s: %s %s on %s%s: %s", d.Severity, d.Transition.ID.Rule, d.What,
			d.Transition.ID.Device, site, strings.Join(strings.Fields(d.Text), " ")))
		c.Open = c.Open || d.Opens()
		if order := []string{"info", "warning", "critical"}; i == 0 ||
			slices.Index(order, d.Severity) > slices.Index(order, c.Severity) {
			c.Severity = d.Severity
		}
	}
	c.Text = strings.Join(lines, "\n")
	return c
}

// Types of bodies.
const (
	typeJSON = "application/json; charset=utf-8"
	typeText = "text/plain; charset=utf-8"
)

// render returns the body that a template makes. One that begins with a bracket is JSON: whatever is inserted is a
// value or a part of a text of it, by its place. html/template knows these places, as JSON is a part of JavaScript.
func render(source string, c content) (body []byte, contentType string, err error) {
	functions := map[string]any{"cut": cut, "lines": func(s string) []string { return strings.Split(s, "\n") },
		"entities": entities}
	var b bytes.Buffer
	if !isJSON(source) {
		t, err := texttemplate.New("body").Funcs(functions).Parse(source)
		if err == nil {
			err = t.Execute(&b, c)
		}
		return b.Bytes(), typeText, err
	}
	const before, after = `<script type="application/json">`, `</script>`
	t, err := htmltemplate.New("body").Funcs(functions).Parse(before + source + after)
	if err == nil {
		err = t.Execute(&b, c)
	}
	if err != nil {
		return nil, "", err
	}
	text := jsontext.Value(strings.TrimSuffix(strings.TrimPrefix(b.String(), before), after))
	if err := text.Format(jsontext.PreserveRawStrings(false)); err != nil {
		return nil, "", fmt.Errorf("it is no JSON: %w", err)
	}
	return text, typeJSON, nil
}

// isJSON reports whether a template without its actions begins as a JSON object or array.
func isJSON(source string) bool {
	text := strings.TrimSpace(regexp.MustCompile(`(?s)\{\{.*?\}\}`).ReplaceAllString(source, ""))
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// cut returns the beginning of a text, at most so many bytes of UTF-8, and so no more characters either. Where it can,
// it ends with a whole line.
func cut(most int, s string) string {
	const more = "…"
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	n := max(0, most-len("\n"+more))
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if end := strings.LastIndexByte(s[:n], '\n'); end > 0 {
		return s[:end+1] + more
	}
	return s[:n] + more
}

// entities returns a text in which no character begins a mention or a link: of Slack's mrkdwn.
func entities(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
