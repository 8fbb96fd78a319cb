package tables

import "strings"

// Keys is a range of keys: those within every bound that is not empty. The zero Keys are
// all keys.
type Keys struct {
	From   string // included
	After  string // excluded
	To     string // included
	Before string // excluded
}

// Is returns the Keys with only k, which must not be empty.
func Is(k string) Keys { return Keys{From: k, To: k} }

// Contains reports whether key is within the bounds.
func (k Keys) Contains(key string) bool {
	return key >= k.From && (k.After == "" || key > k.After) &&
		(k.To == "" || key <= k.To) && (k.Before == "" || key < k.Before)
}

// KeysWithPrefix returns the keys that start with an ASCII prefix: from the prefix up to
// the same text with its last character raised by one.
func KeysWithPrefix(prefix string) Keys {
	last := len(prefix) - 1
	return Keys{From: prefix, Before: prefix[:last] + string(prefix[last]+1)}
}

// A Range is a part of a table that storage can read without reading other rows. The zero
// Range is the whole table.
type Range struct {
	Partitions Keys
	Rows       Keys
}

// Partition returns the range of one partition.
func Partition(pk string) Range { return Range{Partitions: Is(pk)} }

// PartitionsAfter returns the range of all partitions after pk, or of all if pk is empty.
// Its first row is in the next partition that has rows.
func PartitionsAfter(pk string) Range { return Range{Partitions: Keys{After: pk}} }

// RowsAfter returns the range of the rows of a partition after a row, up to and including
// another. An empty after means from the beginning, an empty upTo to the end.
func RowsAfter(pk, after, upTo string) Range {
	return Range{Partitions: Is(pk), Rows: Keys{After: after, To: upTo}}
}

// RowsBetween returns the range of the rows of a partition from first to last, inclusive.
func RowsBetween(pk, first, last string) Range {
	return Range{Partitions: Is(pk), Rows: Keys{From: first, To: last}}
}

// Filter returns the range as an OData $filter, empty for the whole table. It compares only
// PartitionKey and RowKey: for other properties, storage reads the rows that it rejects.
func (r Range) Filter() string {
	var terms []string
	terms = r.Partitions.compare(terms, "PartitionKey")
	terms = r.Rows.compare(terms, "RowKey")
	return strings.Join(terms, " and ")
}

func (k Keys) compare(terms []string, property string) []string {
	if k.From != "" && k.From == k.To {
		terms = append(terms, property+" eq "+Literal(k.From))
		k.From, k.To = "", ""
	}
	for _, bound := range [...]struct{ operator, key string }{
		{" ge ", k.From}, {" gt ", k.After}, {" le ", k.To}, {" lt ", k.Before},
	} {
		if bound.key != "" {
			terms = append(terms, property+bound.operator+Literal(bound.key))
		}
	}
	return terms
}

// Literal returns s as a string literal of a Query's Filter, in which a quote is doubled.
func Literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
