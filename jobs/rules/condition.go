package rules

import (
	"slices"
	"strings"
	"time"

	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/tables"
)

// A Condition holds while a condition on readings does. Readings with none of its sensors say nothing.
type Condition struct {
	Where *condition.Condition `yaml:"where,required"`
	For   time.Duration        `yaml:"for" least:"1s" most:"366d"`
}

// Name is condition.
func (*Condition) Name() string                            { return "condition" }
func (k *Condition) String() string                        { return k.Where.String() + forText(k.For) }
func (k *Condition) check() error                          { return hasSensors(k.Where) }
func (*Condition) room() int                               { return 0 }
func (k *Condition) sensor() string                        { return k.Where.Sensors()[0] }
func (*Condition) begin(*work, *tracked)                   {}
func (k *Condition) says(_ *work, t *tracked) string       { return t.value + forText(k.For) }
func (k *Condition) next(_ *work, t *tracked) tables.Ticks { return t.holdsAt(ticks(k.For)) }

func (k *Condition) row(w *work, t *tracked, s *fold.Sample) {
	if value, ok := concerns(k.Where, s); ok {
		holds := w.meets(k.Where, s)
		w.level(t, s.Key.Ticks, ticks(k.For), holds, !holds, value)
	}
}

func (k *Condition) judge(w *work, t *tracked, at tables.Ticks) {
	w.level(t, at, ticks(k.For), true, false, t.value)
}

// meets reports whether a condition holds for a sample.
func (w *work) meets(c *condition.Condition, s *fold.Sample) bool {
	return c.Holds(condition.Row{Labels: w.member.Labels, Sensor: func(name string) condition.Value {
		switch v := find(s, name); {
		case v == nil:
			return condition.Value{}
		case v.Is == fold.State:
			return condition.Text(v.State)
		default:
			return condition.Number(v.Number)
		}
	}})
}

// concerns reports whether a sample has any of a condition's sensors, and what it says about them.
func concerns(c *condition.Condition, s *fold.Sample) (value string, ok bool) {
	var all []string
	for i := range s.Values {
		v := &s.Values[i]
		if v.Doubtful || !slices.Contains(c.Sensors(), v.Sensor) {
			continue
		}
		text := shown(v.Number)
		if v.Is == fold.State {
			text = v.State
		}
		all = append(all, v.Sensor+" is "+text)
	}
	slices.Sort(all)
	return clip(strings.Join(all, ", "), maxValue), len(all) > 0
}
