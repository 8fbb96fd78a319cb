package tabular

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// seriesKey is the metadata of a file of Furrow's archive.
const seriesKey = "furrow.series"

// parquetMagic begins and ends a Parquet file.
const parquetMagic = "PAR1"

// A parquetReader reads the rows of a Parquet file by its columns. A column within a group has a name like
// group.column. Lists and maps are JSON.
type parquetReader struct {
	*Reader
	file    *file.Reader
	columns []*node
	leaves  []*leaf // in the order of the file
	group   int     // the next one
	left    int64   // rows of the current one
	buffers sync.Pool

	from       io.ReaderAt
	size       int64 // of the file
	properties *parquet.ReaderProperties
}

// openParquet opens a Parquet file. Reading begins at the end of the file, so it cannot be a stream.
func (f *Reader) openParquet(r io.Reader) error {
	from, is := r.(parquet.ReaderAtSeeker)
	if !is {
		return errors.New("a file of Parquet cannot be read from a stream")
	}
	p := &parquetReader{Reader: f, buffers: buffers()}
	if err := p.open(from); err != nil {
		return err
	}
	f.Format, f.records = Parquet, p
	return nil
}

func (p *parquetReader) open(from parquet.ReaderAtSeeker) (err error) {
	defer rescue(&err, "Parquet file")
	p.from, p.properties = from, parquet.NewReaderProperties(limited{memory.DefaultAllocator})
	p.properties.BufferedStreamEnabled = true // or a whole column of a row group is in memory
	p.file, err = file.NewParquetReader(from, file.WithReadProps(p.properties))
	if err != nil {
		return fmt.Errorf("the Parquet file is damaged or encrypted: %w", err)
	}
	root := p.file.MetaData().Schema.Root()
	for i := range root.NumFields() {
		n, err := p.node(root.Field(i), 0, 0)
		if err != nil {
			return err
		}
		p.add(n, n.name)
	}
	if arrow := p.file.MetaData().KeyValueMetadata().FindValue("ARROW:schema"); arrow != nil {
		for name, unit := range durations(*arrow) {
			if i := slices.Index(p.Names, name); i >= 0 {
				p.Types[i] = "duration in " + unit
				p.Notes = append(p.Notes, fmt.Sprintf("column %s is a duration: its values are numbers of %s", name, unit))
			}
		}
	}
	if series := p.file.MetaData().KeyValueMetadata().FindValue(seriesKey); series != nil {
		p.Series = *series
	}
	if len(p.Names) > MaxColumns {
		return fmt.Errorf("the file has %d columns; at most %d are read", len(p.Names), MaxColumns)
	}
	return p.check(from)
}

// add adds the columns of a node: those of a group have its name too.
func (p *parquetReader) add(n *node, name string) {
	if n.leaf == nil && n.kind == plainGroup {
		for _, child := range n.children {
			p.add(child, name+"."+child.name)
		}
		return
	}
	kind := "list"
	if n.leaf != nil && n.kind != bareList {
		kind = n.leaf.typeName()
	}
	p.columns, p.Names, p.Types = append(p.columns, n), append(p.Names, name), append(p.Types, kind)
}

// check refuses what arrow-go does not read, or reads wrongly, before the first row.
func (p *parquetReader) check(from parquet.ReaderAtSeeker) error {
	var err error
	if p.size, err = from.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	for g := range p.file.NumRowGroups() {
		for i, leaf := range p.leaves {
			chunk, err := p.file.MetaData().RowGroup(g).ColumnChunk(i)
			if err != nil {
				return fmt.Errorf("the Parquet file is damaged: %w", err)
			}
			if from, bytes := placeOf(chunk); from < 0 || bytes < 0 || from > p.size || bytes > p.size-from {
				return fmt.Errorf("the Parquet file is damaged: column %s is not in it", leaf.column.Path())
			}
			switch codec := chunk.Compression(); codec {
			case compress.Codecs.Lz4, compress.Codecs.Lzo:
				return fmt.Errorf("column %s has the codec %v, which is not read; write the file again with zstd",
					leaf.column.Path(), codec)
			}
			for _, encoding := range chunk.Encodings() {
				if encoding == parquet.Encodings.DeltaByteArray &&
					leaf.column.PhysicalType() == parquet.Types.FixedLenByteArray {
					if leaf.column.MaxRepetitionLevel() > 0 {
						return fmt.Errorf("list %s has the encoding DELTA_BYTE_ARRAY for values of a fixed length, which is not "+
							"read; write the file again without it", leaf.column.Path())
					}
					if leaf.fixed == nil {
						if leaf.fixed, err = newFixedReader(from, i); err != nil {
							return fmt.Errorf("the Parquet file is damaged: %w", err)
						}
					}
				}
			}
		}
	}
	return nil
}

// rescue makes a panic of the library about something damaged an error.
func rescue(err *error, what string) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the %s is damaged: %v", what, r)
	}
}

// next returns the next row, or io.EOF.
func (p *parquetReader) next() (r Record, err error) {
	defer rescue(&err, "Parquet file")
	for p.left == 0 {
		if p.group == p.file.NumRowGroups() {
			return nil, io.EOF
		}
		group := p.file.RowGroup(p.group)
		p.group, p.left = p.group+1, group.NumRows()
		for i, leaf := range p.leaves {
			if p.left == 0 {
				break
			}
			chunk, err := p.columnOf(group, i, leaf.column)
			if err != nil {
				return nil, fmt.Errorf("the Parquet file is damaged: column %s: %v", leaf.column.Path(), err)
			}
			if err := leaf.open(chunk); err != nil {
				return nil, err
			}
		}
	}
	p.left--
	p.Line++
	var wrong error
	size := 0
	r = make(Record, len(p.columns))
	for i, column := range p.columns {
		cell, err := column.cell()
		if line, is := errors.AsType[*LineError](err); is {
			wrong = errors.Join(wrong, fmt.Errorf("column %s: %w", p.Names[i], line.error))
		} else if err != nil {
			return nil, fmt.Errorf("the Parquet file is damaged: column %s: %v", p.Names[i], err)
		}
		r[i] = cell
		size += len(cell.Text)
	}
	if size > MaxLine {
		wrong = fmt.Errorf("the row has more than %d bytes", MaxLine)
	}
	if wrong != nil {
		return nil, &LineError{wrong}
	}
	return r, nil
}

// node builds the tree of a column. The levels are those of its parent.
func (p *parquetReader) node(of schema.Node, def, rep int16) (*node, error) {
	n := &node{name: of.Name()}
	switch of.RepetitionType() {
	case parquet.Repetitions.Optional:
		def++
	case parquet.Repetitions.Repeated:
		def, rep, n.kind = def+1, rep+1, bareList
	}
	n.def, n.rep = def, rep
	group, is := of.(*schema.GroupNode)
	if !is {
		n.leaf = &leaf{column: p.file.MetaData().Schema.Column(len(p.leaves))}
		if err := n.leaf.supported(); err != nil {
			return nil, err
		}
		p.leaves = append(p.leaves, n.leaf)
		n.first = n.leaf
		return n, nil
	}
	for i := range group.NumFields() {
		child, err := p.node(group.Field(i), def, rep)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, child)
	}
	if len(n.children) == 0 {
		return nil, fmt.Errorf("group %s has no columns", n.name)
	}
	n.first = n.children[0].first
	only := n.children[0]
	switch convert := of.ConvertedType(); {
	case n.kind == bareList:
	case len(n.children) > 1 || only.kind != bareList:
		n.kind = plainGroup
	case (convert == schema.ConvertedTypes.Map || convert == schema.ConvertedTypes.MapKeyValue) && len(only.children) == 2:
		n.kind, only.kind = mapGroup, pair
	case convert == schema.ConvertedTypes.List || only.name == "list" || only.name == "bag":
		n.kind = listGroup
		if len(only.children) == 1 && only.name != "array" && !strings.HasSuffix(only.name, "_tuple") {
			only.kind = element
		}
	default:
		n.kind = plainGroup
	}
	return n, nil
}
