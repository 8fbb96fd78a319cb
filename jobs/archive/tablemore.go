package archive

import (
	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
)

// beyond reports whether a table has so many sensors that a series shares a column with others, as far as the names of
// all its columns tell. A file with that column has room for the series.
func beyond(s columnar.Series, names map[catalog.Series]string) bool {
	return names[catalog.More()] != "" && !s.About && names[catalogSeries(s)] == ""
}

// collapse has series that share a column be the one that this column is.
func collapse(s columnar.Series, names map[catalog.Series]string) columnar.Series {
	if more := names[catalog.More()]; more != "" && names[catalogSeries(s)] == more {
		return columnar.Series{Kind: columnar.More}
	}
	return s
}
