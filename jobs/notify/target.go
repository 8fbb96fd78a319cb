package notify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"furrow/tables/schema"
)

// labelPrefix begins the name of a label in GroupBy and in recipients.
const labelPrefix = "labels."

// Check returns everything that is wrong with a target, joined.
func (t *Target) Check() error {
	_, err := schema.ParseTarget(string(t.Name))
	wrong := []error{err}
	for i, by := range t.GroupBy {
		label, is := strings.CutPrefix(by, labelPrefix)
		if !slices.Contains(groups(), by) && (!is || label == "") {
			wrong = append(wrong, fmt.Errorf("groupBy %q; want rule, site, tenant, severity or labels.NAME", by))
		}
		if slices.Contains(t.GroupBy[:i], by) {
			wrong = append(wrong, fmt.Errorf("groupBy names %s twice", by))
		}
	}
	if t.GroupWait > 0 && len(t.GroupBy) == 0 {
		wrong = append(wrong, errors.New("groupWait without groupBy, so each transition is a message of its own; add "+
			"groupBy, such as [rule]"))
	}
	for _, err := range Faults(t.Kind.check()) {
		wrong = append(wrong, fmt.Errorf("%s: %w", t.Kind.Name(), err))
	}
	return errors.Join(wrong...)
}

// Faults returns the errors that were joined.
func Faults(err error) []error {
	if err == nil {
		return nil
	}
	if joined, is := err.(interface{ Unwrap() []error }); is {
		return joined.Unwrap()
	}
	return []error{err}
}

func groups() []string { return []string{"rule", "site", "tenant", "severity"} }

// group returns what the deliveries of a message have in common.
func (t *Target) group(d schema.Delivery) map[string]string {
	all := map[string]string{}
	for _, by := range t.GroupBy {
		switch by {
		case "rule":
			all[by] = string(d.Transition.ID.Rule)
		case "site":
			all[by] = string(d.Site)
		case "tenant":
			all[by] = string(d.Home.Tenant)
		case "severity":
			all[by] = d.Severity
		default:
			all[by] = d.Labels[strings.TrimPrefix(by, labelPrefix)]
		}
	}
	return all
}

// groupText describes a group in one line, such as rule hot, site plant-3.
func groupText(group map[string]string) string {
	var all []string
	for _, by := range slices.Sorted(maps.Keys(group)) {
		all = append(all, strings.TrimPrefix(by, labelPrefix)+" "+group[by])
	}
	return strings.Join(all, ", ")
}

// maxIncidents is how many transitions a message takes.
const maxIncidents = 1000

func fewer(all []schema.Delivery) int { return min(len(all), maxIncidents) }

// Target returns a target of the configuration.
func (n *Notifier) Target(name schema.Target) (*Target, bool) {
	i := slices.IndexFunc(n.Targets, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return &Target{Name: name, Kind: removed{}}, false
	}
	return &n.Targets[i], true
}

// everybody stands for the recipients of a target that has the same ones for all devices.
const everybody = "*"

// removed is the kind of a target that the configuration no longer has.
type removed struct{}

func (removed) Name() string                      { return "removed" }
func (removed) String() string                    { return "removed" }
func (removed) check() error                      { return nil }
func (removed) recipients(schema.Delivery) string { return everybody }
func (removed) fits(all []schema.Delivery) int    { return fewer(all) }
func (removed) send(context.Context, *Notifier, message) error {
	return &hopeless{errors.New("the configuration has no such target any more")}
}

// Wait returns how long the first delivery of a group waits for others.
func (n *Notifier) Wait(name schema.Target) time.Duration {
	t, _ := n.Target(name)
	return t.GroupWait
}
