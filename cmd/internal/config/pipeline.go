package config

import (
	"strconv"
	"time"

	"furrow/jobs"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

// config reads the root of a file.
func (r *reader) config(root ast.Node) *Config {
	c, others := &Config{}, Model{}
	pipelines := key{name: "pipelines", must: true, read: func(n ast.Node) {
		for i, item := range r.items("pipelines", n, "a list of pipelines") {
			c.Pipelines = append(c.Pipelines, r.pipeline(i+1, item))
		}
	}}
	r.object(root, "pipelines: and a list of them", append(append([]key{pipelines, r.models(&c.Models)},
		r.meaning(&others)...), r.targets(&c.Notify), r.rules(c), r.reports(c), r.retention(c), r.budget(c),
		r.verify(c))...)
	c.Models = append(c.Models, others)
	c.share()
	return c
}

// pipeline reads the nth pipeline of the list.
func (r *reader) pipeline(nth int, n ast.Node) Pipeline {
	p := newPipeline()
	label := "pipeline " + r.nameOf(n, strconv.Itoa(nth))
	r.within(label, func() {
		r.object(n, "a map with at least name and processors",
			r.name(label, &p.Name),
			r.cadence(&p.Cadence),
			r.batch(&p.Batch),
			r.duration("settle", &p.Settle, time.Second, time.Hour),
			r.processors(label, &p.Processors),
		)
	})
	return p
}

// nameOf returns a pipeline's name for problems, or its number if the name is not valid.
func (r *reader) nameOf(n ast.Node, number string) string {
	quiet := &reader{anchors: r.anchors, left: r.left}
	name := ""
	_, _ = quiet.pairs(n, "", func(key string, _, value ast.Node) {
		if key == "name" {
			name, _, _ = quiet.scalar("", value, "")
		}
	})
	if _, err := schema.ParsePipeline(name); err != nil {
		return number
	}
	return name
}

func (r *reader) name(label string, to *schema.Pipeline) key {
	return key{name: "name", must: true, read: func(n ast.Node) {
		const want = "1 to 20 lowercase letters and digits, beginning with a letter"
		text, at, ok := r.scalar("name", n, want)
		if !ok {
			return
		}
		name, err := schema.ParsePipeline(text)
		if err != nil {
			r.problem(at, "name %s; want %s", quote(text), want)
			return
		}
		if name == Retention {
			r.problem(at, "name retention is that of the pipeline that deletes; want another")
			return
		}
		if other, taken := r.own("name "+text, label, at); taken {
			r.problem(at, "the pipeline in line %[2]d has the name %[1]s already", text, other.line)
		}
		*to = name
	}}
}

// cadence returns the key for a duration that divides a day or is whole days, so that every day has the same slots.
func (r *reader) cadence(to *time.Duration) key {
	const want = "a duration from 1s to 366d that divides a day evenly, or whole days, such as 30s, 1m, 1h or 1d"
	return r.word("cadence", want, func(text string) bool {
		d, ok := parseSeconds(text)
		if ok = ok && (day%d == 0 || d%day == 0); ok {
			*to = d
		}
		return ok
	})
}

func (r *reader) duration(name string, to *time.Duration, least, most time.Duration) key {
	want := "a duration from " + schema.FormatDuration(least) + " to " + schema.FormatDuration(most) +
		", in whole seconds, such as 90s, 5m, 1h or 1d"
	return r.word(name, want, func(text string) bool {
		d, ok := parseSeconds(text)
		if ok = ok && d >= least && d <= most; ok {
			*to = d
		}
		return ok
	})
}

const day = 24 * time.Hour

// parseSeconds parses a positive duration of whole seconds, in the notation of [schema.ParseDuration].
func parseSeconds(s string) (time.Duration, bool) {
	d, err := schema.ParseDuration(s)
	return d, err == nil && d > 0 && d%time.Second == 0
}

func (r *reader) batch(to *int) key {
	want := "a whole number of devices from 1 to " + strconv.Itoa(jobs.MaxBatch)
	return r.word("batch", want, func(text string) bool {
		n, err := strconv.Atoi(text)
		ok := err == nil && n >= 1 && n <= jobs.MaxBatch
		if ok {
			*to = n
		}
		return ok
	})
}
