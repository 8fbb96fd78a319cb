package tables

import "strings"

// Keys says which keys of one kind: those that keep every bound that is not
// empty. The zero Keys are all keys.
type Keys struct {
	From   string // this one or after it
	After  string // after this one
	To     string // up to this one
	Before string // before this one
}

// Is are the Keys with the one key k, which must not be empty.
func Is(k string) Keys { return Keys{From: k, To: k} }

// Contains tells whether key keeps the bounds.
func (k Keys) Contains(key string) bool {
	return key >= k.From && (k.After == "" || key > k.After) &&
		(k.To == "" || key <= k.To) && (k.Before == "" || key < k.Before)
}

// KeysWithPrefix are the keys that start with a prefix in ASCII: those from the
// prefix on and before the same text with its last character one up.
func KeysWithPrefix(prefix string) Keys {
	last := len(prefix) - 1
	return Keys{From: prefix, Before: prefix[:last] + string(prefix[last]+1)}
}

// A Range is a part of a table that storage can read without looking at
// anything else. The zero Range is the whole table.
type Range struct {
	Partitions Keys
	Rows       Keys
}

// Partition is one partition.
func Partition(pk string) Range { return Range{Partitions: Is(pk)} }

// PartitionsAfter is every partition after one; its first row is the next
// partition, however many empty ones lie between. An empty pk means all.
func PartitionsAfter(pk string) Range { return Range{Partitions: Keys{After: pk}} }

// RowsAfter are the rows of a partition after one row, up to and with another.
// An empty after means from the beginning; an empty upTo means to the end.
func RowsAfter(pk, after, upTo string) Range {
	return Range{Partitions: Is(pk), Rows: Keys{After: after, To: upTo}}
}

// RowsBetween are the rows of a partition from first to last, both included.
func RowsBetween(pk, first, last string) Range {
	return Range{Partitions: Is(pk), Rows: Keys{From: first, To: last}}
}

// Filter is the range as an OData $filter: comparisons of PartitionKey and
// RowKey alone, the only ones that do not read what they reject. It is empty
// for the whole table.
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
