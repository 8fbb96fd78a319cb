package config

import (
	"strconv"
	"time"

	"furrow/jobs"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

// config reads the whole of a file.
func (r *reader) config(root ast.Node) *Config {
	c := &Config{}
	r.object(root, "pipelines: and a list of them", key{name: "pipelines", must: true, read: func(n ast.Node) {
		for i, item := range r.items("pipelines", n, "a list of pipelines") {
			c.Pipelines = append(c.Pipelines, r.pipeline(i+1, item))
		}
	}})
	return c
}

// pipeline reads the nth one of the list.
func (r *reader) pipeline(nth int, n ast.Node) Pipeline {
	p := newPipeline()
	label := "pipeline " + r.nameOf(n, strconv.Itoa(nth))
	r.within(label, func() {
		r.object(n, "a map with name and processors, as every pipeline has",
			r.name(label, &p.Name),
			r.cadence(&p.Cadence),
			r.batch(&p.Batch),
			r.duration("settle", &p.Settle, time.Second, time.Hour),
			r.processors(label, &p.Processors),
			r.sensors(&p.Sensors),
			r.quality(&p),
			r.position(&p.Position),
		)
	})
	return p
}

// nameOf is the name that a pipeline is called by in problems: its own, or its
// number where it has none that could be one.
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
		const want = "1 to 20 small letters and digits, a letter first"
		text, at, ok := r.scalar("name", n, want)
		if !ok {
			return
		}
		name, err := schema.ParsePipeline(text)
		if err != nil {
			r.problem(at, "name %s; want %s", quote(text), want)
			return
		}
		if other, taken := r.own("name "+text, label, at); taken {
			r.problem(at, "name %s is that of the pipeline in line %d; every pipeline has its own", text, other.line)
		}
		*to = name
	}}
}

// cadence reads one that fits a day, so that slots are at the same times of every day.
func (r *reader) cadence(to *time.Duration) key {
	return key{name: "cadence", read: func(n ast.Node) {
		const want = "a duration from 1s to 366d that divides a day evenly, or whole days, such as 30s, 1m, 1h or 1d"
		text, at, ok := r.scalar("cadence", n, want)
		if !ok {
			return
		}
		d, ok := parseSeconds(text)
		if !ok || day%d != 0 && d%day != 0 {
			r.problem(at, "cadence %s; want %s", quote(text), want)
			return
		}
		*to = d
	}}
}

func (r *reader) batch(to *int) key {
	return key{name: "batch", read: func(n ast.Node) {
		want := "a whole number of devices from 1 to " + strconv.Itoa(jobs.MaxBatch)
		text, at, ok := r.scalar("batch", n, want)
		if !ok {
			return
		}
		batch, err := strconv.Atoi(text)
		if err != nil || batch < 1 || batch > jobs.MaxBatch {
			r.problem(at, "batch %s; want %s", quote(text), want)
			return
		}
		*to = batch
	}}
}
