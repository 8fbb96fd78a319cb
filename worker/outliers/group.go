package outliers

import (
	"math"
	"slices"
	"strings"
)

// A member is a device of a group, with the sensor that is compared.
type member struct {
	*Device
	*Sensor
}

// A group has the devices that are compared with each other by one sensor.
type group struct {
	name    string
	members []member
	nearest []bool // of a member: this is its first group that is large enough
	scales  [3]scale
	numbers [3][]float64 // of the members by measure; NaN: it has none
	medians [Windows]float64
	known   int // members with enough windows to say whether their values change
	moving  int // of these, those whose values do
}

// fewest is how many devices of a group are compared.
const fewest = 6

// grouped returns the groups that are large enough, by name.
func grouped(all []member) (groups []*group) {
	of := map[string][]member{}
	for _, m := range all {
		for _, name := range m.Groups {
			of[name] = append(of[name], m)
		}
	}
	for name, members := range of {
		if len(members) < fewest {
			continue
		}
		g := &group{name: name, members: members, medians: mediansOf(members)}
		for _, m := range members {
			switch moves, known := m.moves(); {
			case moves:
				g.known, g.moving = g.known+1, g.moving+1
			case known:
				g.known++
			}
			large := slices.IndexFunc(m.Groups, func(name string) bool { return len(of[name]) >= fewest })
			g.nearest = append(g.nearest, m.Groups[large] == name)
		}
		for i, one := range measures() {
			g.numbers[i] = one.of(g)
			g.scales[i] = scaleOf(g.numbers[i])
		}
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *group) int { return strings.Compare(a.name, b.name) })
	return groups
}

// A scale says where numbers are, and how far apart.
type scale struct {
	n              int
	median, spread float64
}

func scaleOf(all []float64) (s scale) {
	known := slices.DeleteFunc(slices.Clone(all), math.IsNaN)
	if s.n = len(known); s.n == 0 {
		return s
	}
	s.median = median(known)
	for i := range known {
		known[i] = math.Abs(known[i] - s.median)
	}
	s.spread = 1.4826 * median(known)
	return s
}

// median returns the median of numbers, which it sorts; NaN where there are none.
func median(all []float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	slices.Sort(all)
	n := len(all)
	return all[n/2]/2 + all[(n-1)/2]/2
}

// limit is how many spreads away a number stands out. A few numbers tell the spread badly.
func (s scale) limit() float64 { return 8 * (1 + 100/float64(s.n*s.n)) }

// score returns how many spreads a number is away; zero where it does not stand out.
func (s scale) score(x float64) float64 {
	score := (x - s.median) / s.spread
	if s.n < fewest || s.spread == 0 || math.IsInf(score, 0) || !(math.Abs(score) >= s.limit()) {
		return 0
	}
	return score
}

// usualSpreads returns, by measure, the spread that a quarter of the groups stay below; zero for a few groups.
func usualSpreads(groups []*group) (usual [3]float64) {
	const enough = 4
	for i := range usual {
		var all []float64
		for _, g := range groups {
			if g.scales[i].n >= fewest {
				all = append(all, g.scales[i].spread)
			}
		}
		if slices.Sort(all); len(all) >= enough {
			usual[i] = all[len(all)/4]
		}
	}
	return usual
}

// outliers returns the members that stand out, of those whose nearest group this is.
func (g *group) outliers(usual [3]float64) (all []Outlier) {
	noise := g.scales[varying].median
	for i, one := range measures() {
		g.scales[i].spread = max(g.scales[i].spread, usual[i], one.noise*noise)
	}
	for i, m := range g.members {
		if o := g.outlier(i); g.nearest[i] && o.Kind != "" {
			o.Device, o.Sensor, o.Neighbours, o.Group = m.ID, m.Name, len(g.members)-1, g.name
			all = append(all, o)
		}
	}
	return all
}

// outlier returns how a member stands out.
func (g *group) outlier(i int) Outlier {
	if g.stuck(i) {
		return Outlier{Kind: Stuck, Value: g.members[i].Value, Median: g.scales[newest].median}
	}
	for j, one := range measures() {
		x, s := g.numbers[j][i], g.scales[j]
		if score := s.score(x); score != 0 && (one.confirm == nil || one.confirm(g, i)) {
			return Outlier{Kind: one.kind, Value: x, Median: s.median, Score: score}
		}
	}
	return Outlier{}
}
