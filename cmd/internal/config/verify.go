package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/rules"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

// A Verify says how much of the fleet the scheduler verifies by itself.
type Verify struct {
	Sample float64       // share of devices
	Every  time.Duration // whole days
	Notify []schema.Target
}

// VerifyRule is the rule that a Verify adds, unless the file has one of that name. Its incident is open while something
// differs that nothing explains.
const VerifyRule = "verify"

// Unexplained is the sensor of the device furrow:PIPELINE that the rule watches.
const Unexplained = "verify_unexplained"

// mostVerified is how many days may lie between two verifications.
const mostVerified = 31

// verify returns the key for what the scheduler verifies. It is read after pipelines and targets.
func (r *reader) verify(c *Config) key {
	const want = "a map like {sample: 1%, every: 1d}"
	return key{name: "verify", read: func(n ast.Node) {
		r.within("verify", func() {
			before, v := len(r.problems), &Verify{Every: day}
			sample := r.word("sample", "a share of the devices above 0% and up to 100%, such as 1%", func(text string) bool {
				percent, is := strings.CutSuffix(text, "%")
				share, err := strconv.ParseFloat(percent, 64)
				v.Sample = share / 100
				return is && err == nil && share > 0 && share <= 100
			})
			sample.must = true
			every := fmt.Sprintf("whole days from 1d to %dd", mostVerified)
			r.object(n, want, sample, r.word("every", every, func(text string) bool {
				d, ok := parseSeconds(text)
				v.Every = d
				return ok && d%day == 0 && d <= mostVerified*day
			}), key{name: "notify", read: func(n ast.Node) { v.Notify = r.targetNames(n, c.Notify) }})
			if len(r.problems) > before {
				return
			}
			if c.Verify = v; !slices.ContainsFunc(c.Pipelines, Pipeline.Watches) {
				r.problem(n, "no pipeline has the processor rules, which opens an incident where something differs; add it to a "+
					"list with latest, as in processors: [latest, rollup, rules]")
			}
		})
	}}
}

// watched returns the rules that the processor rules evaluates: those of the file, and that of Verify.
func (c *Config) watched() []rules.Rule {
	own := func(r rules.Rule) bool { return r.Name == VerifyRule }
	if c.Verify == nil || slices.ContainsFunc(c.Rules, own) {
		return c.Rules
	}
	none := 0.0
	return append(slices.Clone(c.Rules), rules.Rule{Name: VerifyRule, Severity: rules.Critical, Notify: c.Verify.Notify,
		Match: rules.Match{Match: fold.Match{Tenant: []string{Itself}}},
		When:  &rules.Threshold{Sensor: Unexplained, Limit: rules.Limit{Above: &none}},
		Text: "{value} differences between readings and outputs that nothing explains; the page Completeness names " +
			"the devices, and furrow verify DEVICE --values says what differs"})
}

// shownVerify is the shape of a Verify in a file.
type shownVerify struct {
	Sample string   `yaml:"sample" json:"sample"`
	Every  string   `yaml:"every" json:"every"`
	Notify []string `yaml:"notify,flow,omitempty" json:"notify,omitempty"`
}

func (v *Verify) shown() *shownVerify {
	if v == nil {
		return nil
	}
	s := &shownVerify{Sample: strconv.FormatFloat(v.Sample*100, 'g', 12, 64) + "%", Every: schema.FormatDuration(v.Every)}
	for _, t := range v.Notify {
		s.Notify = append(s.Notify, string(t))
	}
	return s
}

// changedVerify describes the differences between two configurations' verifications.
func changedVerify(old, new *Verify) []string {
	switch {
	case reflect.DeepEqual(old, new):
		return nil
	case old == nil:
		return []string{"verify is new"}
	case new == nil:
		return []string{"verify is removed"}
	}
	return []string{"verify has changed"}
}
