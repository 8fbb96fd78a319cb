package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/jobs/condition"
	"furrow/jobs/rules"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// rules returns the key for what devices are watched for. It is read after pipelines and models.
func (r *reader) rules(c *Config) key {
	const want = "a map of rules, such as hot: {when: {threshold: {sensor: oil, above: 190, for: 5m}}}"
	return key{name: "rules", read: func(n ast.Node) {
		before := len(r.problems)
		_, ok := r.pairs(n, want, func(name string, at, value ast.Node) {
			r.within("rule "+quote(name), func() {
				rule := rules.Rule{Name: schema.Rule(name)}
				r.rule(&rule, at, value, c)
				c.Rules = append(c.Rules, rule)
			})
		})
		if !ok || len(r.problems) > before {
			return
		}
		if err := (&rules.Config{Rules: c.Rules}).Check(); err != nil {
			r.problem(n, "rules: %v", err)
		}
		if len(c.Rules) > 0 && !slices.ContainsFunc(c.Pipelines, Pipeline.Watches) {
			r.problem(n, "rules: no pipeline has the processor rules; add it to a list with latest, as in "+
				"processors: [latest, rollup, rules]")
		}
	}}
}

// Itself is the tenant of the devices furrow:PIPELINE. Their readings are the figures of pipelines, so rules for the
// tenant watch Furrow itself.
const Itself = "furrow"

// WatchesItself reports whether the pipeline evaluates a rule for the tenant Itself, by name.
func (p Pipeline) WatchesItself() bool {
	return slices.ContainsFunc(p.Processors, func(p Processor) bool {
		c, ok := p.Config.(*rules.Config)
		return ok && slices.ContainsFunc(c.Rules, func(r rules.Rule) bool { return slices.Contains(r.Match.Tenant, Itself) })
	})
}

// Watches reports whether the pipeline has the processor rules.
func (p Pipeline) Watches() bool {
	return slices.ContainsFunc(p.Processors, func(p Processor) bool { return p.Name == rules.Processor.Name })
}

// rule reads one rule. Its place for what its parts are wrong about together is its name.
func (r *reader) rule(to *rules.Rule, at, n ast.Node, c *Config) {
	before := len(r.problems)
	r.object(n, "a map like {when: {silence: {after: 1h}}, severity: critical}",
		r.matchOr(&to.Match.Match, "model", func(of ast.Node) { to.Match.Model = r.modelNames(of, c.Models) }),
		r.when(&to.When),
		r.word("severity", "info, warning or critical", func(text string) bool {
			to.Severity = rules.Severity(text)
			return slices.Contains(rules.Severities(), to.Severity)
		}),
		key{name: "command", read: func(n ast.Node) { to.Command = r.command(n) }},
		key{name: "text", read: func(n ast.Node) {
			if text, _, ok := r.scalar("text", n, "a text such as the oil is {value}"); ok {
				to.Text = text
			}
		}},
		key{name: "notify", read: func(n ast.Node) { to.Notify = r.targetNames(n, c.Notify) }})
	if len(r.problems) > before {
		return
	}
	if err := to.Check(); err != nil {
		r.problem(at, "%v", err)
	}
}

// command reads what a rule tells the device.
func (r *reader) command(n ast.Node) *rules.Command {
	c := &rules.Command{TTL: time.Hour}
	r.object(n, `a map like {on: open, body: {heater: "off"}, ttl: 10m}`,
		key{name: "on", must: true, read: func(n ast.Node) { c.On, _, _ = r.scalar("on", n, "open or close") }},
		key{name: "body", must: true, read: func(n ast.Node) {
			var body any
			err := yaml.NodeToValue(n, &body)
			text, errJSON := json.Marshal(body)
			if err := cmp.Or(err, errJSON); err != nil {
				r.problem(n, "body: %v; want what the device is to be told, such as {heater: \"off\"}", err)
			}
			c.Body = string(text)
		}}, r.duration("ttl", &c.TTL, time.Second, schema.MaxCommandLife))
	return c
}

// modelNames reads names of models.
func (r *reader) modelNames(n ast.Node, models []Model) []string {
	names := r.anyOf("model", n)
	var all []string
	for i := range models {
		all = append(all, models[i].Name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			r.problem(n, "model %s is not in this configuration%s", quote(name), didYouMean(name, all))
		}
	}
	return names
}

// when returns the key for the kind of a rule.
func (r *reader) when(to *rules.Kind) key {
	kinds := map[string]func(ast.Node) rules.Kind{"threshold": r.threshold, "rate": r.rate, "silence": r.silence,
		"condition": r.condition, "stuck": r.stuck, "schedule": r.schedule, "count": r.count}
	names := []string{"threshold", "rate", "silence", "condition", "stuck", "schedule", "count"}
	const want = "a map with one kind of condition, such as {silence: {after: 1h}}"
	return key{name: "when", must: true, read: func(n ast.Node) {
		m, ok := r.pairs(n, want, func(name string, at, value ast.Node) {
			read := kinds[name]
			if read == nil {
				r.problem(at, "unknown condition %s%s; want %s", quote(name), didYouMean(name, names), list(names))
				return
			}
			r.within(name, func() { *to = read(value) })
		})
		if ok && len(m.Values) != 1 {
			r.problem(n, "when: %d conditions; want one, and a rule for each of the others", len(m.Values))
		}
	}}
}

// Bounds of the durations of rules.
const (
	leastHeld = time.Second
	mostHeld  = 366 * 24 * time.Hour
)

func (r *reader) threshold(n ast.Node) rules.Kind {
	k := &rules.Threshold{}
	r.object(n, "a map like {sensor: oil, above: 190, clearBelow: 180, for: 5m}",
		append(r.limit(&k.Limit), r.ruleSensor(&k.Sensor, true), r.duration("for", &k.For, leastHeld, mostHeld))...)
	return k
}

func (r *reader) rate(n ast.Node) rules.Kind {
	k := &rules.Rate{}
	over := r.duration("over", &k.Over, time.Minute, 7*day)
	over.must = true
	r.object(n, "a map like {sensor: oil, over: 1h, above: 5}", append(r.limit(&k.Limit), r.ruleSensor(&k.Sensor, true),
		over, r.duration("for", &k.For, leastHeld, mostHeld))...)
	return k
}

func (r *reader) silence(n ast.Node) rules.Kind {
	k := &rules.Silence{}
	after := r.duration("after", &k.After, leastHeld, mostHeld)
	after.must = true
	r.object(n, "a map like {after: 1h}, or with a sensor", after, r.ruleSensor(&k.Sensor, false))
	return k
}

func (r *reader) condition(n ast.Node) rules.Kind {
	k := &rules.Condition{}
	r.object(n, `a map like {where: 'action == "opened"', for: 5m}`, r.where("where", &k.Where),
		r.duration("for", &k.For, leastHeld, mostHeld))
	return k
}

func (r *reader) stuck(n ast.Node) rules.Kind {
	k := &rules.Stuck{}
	held := r.duration("for", &k.For, leastHeld, mostHeld)
	held.must = true
	r.object(n, "a map like {sensor: humidity, for: 6h}", r.ruleSensor(&k.Sensor, true), held)
	return k
}

func (r *reader) schedule(n ast.Node) rules.Kind {
	k := &rules.Schedule{}
	after := r.duration("after", &k.After, time.Minute, day)
	after.must = true
	const zone = "a time zone such as Europe/Rome, or labels.NAME"
	r.object(n, "a map like {times: labels.dose, zone: labels.tz, before: 1h, after: 1h, expect: 'action == \"closed\"'}",
		key{name: "times", must: true, read: func(n ast.Node) { k.Times = strings.Join(r.anyOf("times", n), ",") }},
		key{name: "zone", must: true, read: func(n ast.Node) { k.Zone, _, _ = r.scalar("zone", n, zone) }},
		r.duration("before", &k.Before, leastHeld, day), after, r.where("expect", &k.Expect))
	return k
}

func (r *reader) count(n ast.Node) rules.Kind {
	k := &rules.Count{}
	within := r.duration("within", &k.Within, leastHeld, 31*day)
	within.must = true
	r.object(n, `a map like {where: 'action == "opened"', times: 5, within: 1h}`, r.where("where", &k.Where),
		key{name: "times", must: true, read: func(n ast.Node) {
			const want = "a whole number of readings, at least 2"
			text, at, ok := r.scalar("times", n, want)
			times, err := strconv.Atoi(text)
			if k.Times = times; ok && err != nil {
				r.problem(at, "times %s; want %s", quote(text), want)
			}
		}}, within)
	return k
}

// limit returns the keys of a limit of numbers.
func (r *reader) limit(to *rules.Limit) []key {
	return []key{r.number("above", &to.Above), r.number("below", &to.Below),
		{name: "outside", read: func(n ast.Node) { to.Outside = r.outside(n) }},
		r.number("clearBelow", &to.ClearBelow), r.number("clearAbove", &to.ClearAbove)}
}

func (r *reader) outside(n ast.Node) *[2]float64 {
	const want = "the least and the greatest number that are good, such as [2, 8]"
	items := r.items("outside", n, want)
	if len(items) != 2 {
		r.problem(n, "outside: %s; want %s", describe(n), want)
		return nil
	}
	var low, high *float64
	r.number("outside", &low).read(items[0])
	r.number("outside", &high).read(items[1])
	if low == nil || high == nil {
		return nil
	}
	return &[2]float64{*low, *high}
}

func (r *reader) number(name string, to **float64) key {
	const want = "a number, such as 190 or -0.5"
	return key{name: name, read: func(n ast.Node) {
		text, at, ok := r.scalar(name, n, want)
		f, err := strconv.ParseFloat(text, 64)
		if ok && (err != nil || f-f != 0) { // not a number, or infinite
			r.problem(at, "%s %s; want %s", name, quote(text), want)
		} else if ok {
			*to = &f
		}
	}}
}

func (r *reader) ruleSensor(to *string, must bool) key {
	k := r.sensorName("sensor", "the name of a sensor", to, checkSensor)
	k.must = must
	return k
}

// where returns a required key for a condition on readings and labels.
func (r *reader) where(name string, to **condition.Condition) key {
	return key{name: name, must: true, read: func(n ast.Node) {
		text, at, ok := r.scalar(name, n, `a condition, such as action == "opened"`)
		if !ok {
			return
		}
		c, err := condition.Parse(text)
		if err == nil && len(c.Sensors()) == 0 {
			err = fmt.Errorf("it names no sensor, so no reading concerns it")
		}
		if err != nil {
			r.problem(at, "%s: %v", name, err)
			return
		}
		*to = c
	}}
}
