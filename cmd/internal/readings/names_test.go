package readings

import (
	"slices"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
)

// TestNamesThatBecomeOneDependOnNoValue: a sensor has the same name in every file, and the one that was reported before
// the import, whatever lines come first and whatever values they lack.
func TestNamesThatBecomeOneDependOnNoValue(t *testing.T) {
	const at, later = " 2025-01-01T00:00:00Z", " 2025-01-02T00:00:00Z"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"the first column begins later": {"time,a b,a-b\n2025-01-01,,2\n2025-01-02,1,2\n",
			[]string{at + " a_b_2=2", later + " a_b=1 a_b_2=2"}},
		"the columns are the other way round": {"time,a-b,a b\n2025-01-01,2,1\n", []string{at + " a_b=1 a_b_2=2"}},
		"objects": {`{"time":"2025-01-01","a-b":2}` + "\n" + `{"time":"2025-01-02","a b":1}`,
			[]string{at + " a_b_2=2", later + " a_b=1"}},
		"lines of one sensor": {"time,sensor,value\n2025-01-01,a-b,2\n2025-01-02,a b,1\n",
			[]string{at + " a_b_2=2", later + " a_b=1"}},
		"a name that needs no change keeps it": {"time,a b,a_b\n2025-01-01,1,2\n", []string{at + " a_b=2 a_b_2=1"}},
	} {
		rows, _, err := rowsOf(t, strings.NewReader(c.text), Columns{OneDevice: true})
		if err != nil || !slices.Equal(rows, c.want) {
			t.Errorf("%s: %q, %v, want %q", name, rows, err, c.want)
		}
		r := must.Have(Open(strings.NewReader(c.text), Columns{OneDevice: true}))(t)
		for _, column := range r.Plan.Columns {
			for _, row := range r.Plan.Rows {
				if is, has := row.Values[column.Sensor]; has && column.Column == "a-b" && is != 2. {
					t.Errorf("%s: column a-b is reported as the sensor %s, and a row has %v", name, column.Sensor, row.Values)
				}
			}
		}
		must.Succeed(t, r.Close())
	}
}
