package readings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"furrow/cmd/internal/tabular"
	"furrow/cmd/internal/times"
	"furrow/tables"
)

// time finds the columns of the time and their format.
func (s *survey) time(r *roles) error {
	names := s.options.Time
	if len(names) == 0 && s.shape.time != "" {
		names = []string{s.shape.time}
	}
	for _, name := range names {
		found, err := named(s.columns, name)
		if err != nil {
			return err
		}
		r.time = append(r.time, found)
	}
	if len(names) == 0 {
		if err := s.guessTime(r); err != nil {
			return err
		}
	}
	return s.timeFormat(r)
}

// guessTime finds the column by its name and by its values.
func (s *survey) guessTime(r *roles) error {
	sure, likely := timeNames()
	found := s.timesOf(all(s.columns, sure))
	if len(found) == 0 {
		found = s.timesOf(all(s.columns, likely))
	}
	if only := all(s.columns, sure); len(found) == 0 && len(only) == 1 {
		if c := s.columns[only[0]]; c.clocks == 0 && c.guess != nil {
			found = only // the error says why its values are no times
		}
	}
	if len(found) == 0 {
		for i, c := range s.columns {
			if c.guess != nil && !mayBeTime(c.name) && len(s.timesOf([]int{i})) > 0 && c.point == 0 {
				found = append(found, i)
			}
		}
	}
	if utc := slices.Clone(found); len(found) > 1 {
		utc = slices.DeleteFunc(utc, func(i int) bool { return !strings.Contains(plain(s.columns[i].name), "utc") })
		if len(utc) == 1 {
			found = utc
		}
	}
	switch {
	case len(found) == 0:
		return noColumn("no column looks like a time", s.columns, "time-column")
	case len(found) > 1 && !s.same(found):
		unclear := &tabular.UnclearError{What: "several columns are times", Flag: "time-column"}
		for _, i := range found {
			unclear.Choices = append(unclear.Choices, tabular.Choice{Value: s.columns[i].name, Means: "such as " +
				tabular.Printable(s.columns[i].first, 40)})
		}
		return unclear
	}
	r.time = []role{{column: found[0]}}
	if !s.areDays(found[0]) {
		return nil
	}
	day, clocks := s.columns[found[0]].name, []string{}
	for i, c := range s.columns { // 2025-01-01 and 08:30
		if i != found[0] && c.guess != nil && c.values > 0 && c.clocks == c.values {
			if clocks = append(clocks, c.name); mayBeTime(c.name) {
				r.time = append(r.time, role{column: i})
			}
		}
	}
	hours := all(s.columns, hourNames())
	switch {
	case len(r.time) == 2:
	case len(clocks) > 0:
		unclear := &tabular.UnclearError{What: "times are days alone, and columns are times of day", Flag: "time-column",
			Choices: []tabular.Choice{{Value: day, Means: "days alone"}}}
		for _, name := range clocks {
			unclear.Choices = append(unclear.Choices, tabular.Choice{Value: day + "," + name})
		}
		return unclear
	case len(hours) == 1:
		hour := s.columns[hours[0]].name
		return &tabular.UnclearError{What: "times are days alone, and column " + hour + " may have the hours",
			Flag: "time-column", Choices: []tabular.Choice{{Value: day, Means: "days alone"}, {Value: day + "," + hour,
				Means: `with a --time-format such as "%Y-%m-%d %H"`}}}
	}
	return nil
}

// noColumn returns the error of a file without a column that it needs, which a flag may find.
func noColumn(what string, columns []*column, flag string) error {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	shown := tabular.Printable(strings.Join(names, ", "), 500)
	return &tabular.UnclearError{What: fmt.Sprintf("%s (the columns are %s)", what, shown), Flag: flag}
}

// areDays reports whether the times of a column have no time of day.
func (s *survey) areDays(column int) bool {
	found := s.columns[column].guess.Found()
	return len(found) == 1 && found[0].IsDate()
}

// timesOf returns the columns whose values are times in some format.
func (s *survey) timesOf(columns []int) (found []int) {
	for _, i := range columns {
		if c := s.columns[i]; c.guess != nil && len(c.guess.Found()) > 0 {
			found = append(found, i)
		}
	}
	return found
}

// same reports whether columns hold the same times.
func (s *survey) same(columns []int) bool {
	first := s.columns[columns[0]].guess.Found()
	return !slices.ContainsFunc(columns[1:], func(i int) bool {
		own := s.columns[i].guess.Found()
		return len(own) != 1 || len(first) != 1 || !own[0].SameAs(first[0])
	})
}

// timeFormat finds the format of the times.
func (s *survey) timeFormat(r *roles) error {
	if s.options.Format.Name != "" {
		r.format = s.options.Format
		return nil
	}
	g := s.guess(r.time[0])
	if g == nil {
		return errors.New("the column of the time is empty")
	}
	found := g.Found()
	switch {
	case len(found) == 1 && found[0].Certain():
		r.format = found[0].Format
		return nil
	case len(found) == 0:
		return &tabular.UnclearError{What: fmt.Sprintf("values such as %q are times in no format that is known; if they "+
			"count from a start, write its time", tabular.Printable(s.firstTime(r.time[0]), 40)), Flag: "time-format",
			Choices: []tabular.Choice{{Value: "seconds since 2025-01-01T00:00:00Z"}, {Value: "%d/%m/%Y %H:%M"}}}
	}
	unclear := &tabular.UnclearError{What: fmt.Sprintf("times such as %q have several meanings",
		tabular.Printable(found[0].FirstText, 40)), Flag: "time-format"}
	if len(found) == 1 {
		unclear.What = fmt.Sprintf("times such as %q may be what the flag says, or count from a start",
			tabular.Printable(found[0].FirstText, 40))
	}
	for _, c := range found {
		unclear.Choices = append(unclear.Choices, tabular.Choice{Value: c.Name, Means: "it is " + moment(c.First)})
	}
	return unclear
}

// guess returns the guess of the values of a column, or of a member of it.
func (s *survey) guess(r role) *times.Guess {
	if r.path != "" {
		return s.nested[r]
	}
	return s.columns[r.column].guess
}

func (s *survey) firstTime(r role) string {
	if r.path != "" {
		return r.path
	}
	return s.columns[r.column].first
}

// at returns the time of a record.
func (r *Reader) at(rec tabular.Record) (at tables.Ticks, zoned bool, err error) {
	parts := make([]string, 0, 2)
	for _, of := range r.roles.time {
		c := cellOf(rec, of)
		if c.IsBlank() {
			return 0, false, errors.New("no time")
		}
		parts = append(parts, c.Text)
	}
	at, zoned, err = r.roles.format.Parse(strings.Join(parts, " "), r.options.Terms)
	if err != nil && r.options.Format.Name == "" && r.roles.format.Name == "iso" {
		g := times.NewGuess(r.options.Terms)
		g.Add(parts[0])
		switch found := g.Found(); {
		case len(found) > 1:
			err = fmt.Errorf("%.40q may begin with the day or with the month; decide with --time-format", parts[0])
		case len(found) == 1 && found[0].Name != "iso":
			err = fmt.Errorf("%.40q is written in another way than most times of the file; decide with --time-format %s",
				parts[0], found[0].Name)
		}
	}
	return at, zoned, err
}

// cellOf returns the cell of a role.
func cellOf(rec tabular.Record, of role) tabular.Cell {
	if of.column < 0 || of.column >= len(rec) {
		return tabular.Cell{}
	}
	if of.path == "" {
		return rec[of.column]
	}
	member, _ := tabular.Member(rec[of.column], of.path)
	return member
}

func moment(t tables.Ticks) string { return t.Time().Format(time.RFC3339Nano) }
