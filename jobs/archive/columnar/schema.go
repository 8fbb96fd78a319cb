package columnar

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/parquet-go/parquet-go"
)

// A group is a node whose fields keep their order; that of the library sorts them.
type group struct {
	parquet.Group
	fields []parquet.Field
}

func (g group) Fields() []parquet.Field { return g.fields }

// schemaOf returns the schema of a file with columns in order.
func schemaOf(c *Columns, columns []column) *parquet.Schema {
	nodes, order := parquet.Group{}, map[string]int{}
	for i, column := range columns {
		nodes[column.name], order[column.name] = nodeOf(c, i, column), i
	}
	fields := slices.Clone(nodes.Fields())
	slices.SortFunc(fields, func(a, b parquet.Field) int { return order[a.Name()] - order[b.Name()] })
	return parquet.NewSchema("reading", group{nodes, fields})
}

// nodeOf returns the type of a column. Row keys and times rise, so differences take the least room. Names and texts
// repeat, and so do most measured numbers, which have few digits; but thousands of dictionaries take too much memory.
// Texts are never in DELTA_LENGTH_BYTE_ARRAY, the library's choice: Spark 3.5 reads it wrongly behind nulls.
func nodeOf(c *Columns, i int, of column) parquet.Node {
	switch {
	case of.name == Time && i == 1:
		return parquet.Encoded(parquet.Timestamp(parquet.Microsecond), &parquet.DeltaBinaryPacked)
	case of.name == Key && i == 2:
		return parquet.Encoded(parquet.String(), &parquet.DeltaByteArray)
	case i == 0:
		return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case of.kind == Numbers && len(c.Sensors) > maxDictionaries:
		return parquet.Optional(parquet.Leaf(parquet.DoubleType))
	case of.kind == Texts && len(c.Sensors) > maxDictionaries:
		return parquet.Optional(parquet.Encoded(parquet.String(), &parquet.Plain))
	case of.kind == Numbers:
		return parquet.Optional(parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.RLEDictionary))
	case of.kind == 0 && i >= fixed+len(c.About): // doubtful
		return parquet.Optional(parquet.Leaf(parquet.BooleanType))
	}
	return parquet.Optional(parquet.Encoded(parquet.String(), &parquet.RLEDictionary))
}

// fixed is the number of columns that every file begins with.
const fixed = 3

// Bounds of what a writer holds. A page is what a column holds uncompressed, so a file with many columns has smaller
// ones.
const (
	groupRows  = 100_000   // of a row group, which then ends with its device
	groupBytes = 24 << 20  // of the values of a row group, about
	pages      = 8 << 20   // of all columns together
	maxPage    = 128 << 10 // of one column
	minPage    = 2 << 10
	dictionary = 512 << 10 // of one column; beyond that, its values are written plain

	maxDictionaries = 250 // sensors
)

func options(c *Columns, columns []column) []parquet.WriterOption {
	layout, _ := json.Marshal(c, json.Deterministic(true)) // of texts and numbers
	page := min(max(pages/len(columns), minPage), maxPage)
	return []parquet.WriterOption{
		schemaOf(c, columns),
		parquet.Compression(&parquet.Zstd),
		parquet.PageBufferSize(page),
		parquet.WriteBufferSize(0), // the caller buffers
		parquet.DictionaryMaxBytes(dictionary),
		parquet.CreatedBy("furrow", "1", ""),
		parquet.KeyValueMetadata(layoutKey, string(layout)),
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending(Device), parquet.Ascending(Key))),
	}
}

// layoutKey is the metadata with the Columns of a file, as JSON.
const layoutKey = "furrow.columns"
