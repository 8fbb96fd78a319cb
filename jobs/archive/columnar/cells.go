package columnar

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"furrow/jobs/fold"
)

// Cells returns what a row of a sample says, sensor after sensor: equal for samples whose rows are.
func Cells(s *fold.Sample) string {
	all := map[string]string{}
	doubtful := false
	for i := range s.Values {
		v := &s.Values[i]
		doubtful = doubtful || v.Doubtful
		one, is := seriesOf(s, v)
		if !is {
			continue
		}
		text := strconv.FormatFloat(v.Number, 'g', -1, 64)
		if one.Kind == Text {
			text = strconv.Quote(v.State)
		}
		all[one.cell()] = text
	}
	for _, x := range s.Exact {
		all[exactSeries(x).cell()] = x.Value.String()
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s %s, ", name, all[name])
	}
	if doubtful {
		b.WriteString("doubtful")
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func (s Series) cell() string {
	return s.Sensor + [...]string{"", " (long)", " (text)", " (bytes)"}[s.Kind]
}
