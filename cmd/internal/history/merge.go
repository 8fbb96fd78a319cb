package history

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"io"
	"iter"
)

// A run reads a sorted part: a device, its rows, the next device, and so on.
type run struct {
	in    *bufio.Reader
	block []byte
	head  device // the current one; its ID is empty at the end of the part
	left  int    // rows of the device that are not read
	row   row    // the one that was read last
}

// next reads the next block.
func (r *run) next() (*decoder, error) {
	n, err := binary.ReadUvarint(r.in)
	if err != nil {
		return nil, err
	}
	if uint64(cap(r.block)) < n {
		r.block = make([]byte, n)
	}
	r.block = r.block[:n]
	if _, err := io.ReadFull(r.in, r.block); err != nil {
		return nil, errDamaged
	}
	return &decoder{b: r.block}, nil
}

// nextDevice reads the next device, after all rows of the last one.
func (r *run) nextDevice() error {
	d, err := r.next()
	if err == io.EOF {
		r.head = device{}
		return nil
	}
	if err != nil {
		return err
	}
	r.head = d.device()
	r.left = r.head.rows
	return d.err
}

// nextRow reads the next row of the device, and reports whether there is one.
func (r *run) nextRow() (bool, error) {
	if r.left == 0 {
		return false, nil
	}
	d, err := r.next()
	if err != nil {
		return false, errDamaged
	}
	r.left--
	r.row = d.row()
	return true, d.err
}

// A merger reads the sorted parts together.
type merger struct {
	runs    []*run
	current rowHeap // the runs that have rows of the current device
}

// maxBuffers bounds the memory for reading all parts.
const maxBuffers = 32 << 20

// merge ends the sorting.
func (s *sorter) merge() (*merger, error) {
	if err := s.spill(); err != nil {
		return nil, err
	}
	s.rows, s.entries, s.devices = nil, nil, nil
	m := &merger{}
	buffer := max(4<<10, min(256<<10, maxBuffers/max(1, len(s.runs))))
	for _, part := range s.runs {
		r := &run{in: bufio.NewReaderSize(io.NewSectionReader(s.file, part.at, part.size), buffer)}
		if err := r.nextDevice(); err != nil {
			return nil, err
		}
		m.runs = append(m.runs, r)
	}
	return m, nil
}

// next returns the next device. All rows of the last one must have been read.
func (m *merger) next() (d device, ok bool, err error) {
	for _, r := range m.runs {
		if r.head.id != "" && (d.id == "" || r.head.id < d.id) {
			d.id = r.head.id
		}
	}
	m.current = m.current[:0]
	for _, r := range m.runs {
		if d.id == "" || r.head.id != d.id {
			continue
		}
		h := r.head
		if d.rows == 0 {
			d = h
		} else {
			d.from, d.to, d.rows = min(d.from, h.from), max(d.to, h.to), d.rows+h.rows
			d.line, d.place = min(d.line, h.line), d.place.with(h.place)
		}
		if _, err := r.nextRow(); err != nil {
			return d, false, err
		}
		m.current = append(m.current, r)
	}
	heap.Init(&m.current)
	return d, d.id != "", nil
}

// rows yields the rows of the device that next returned, in the order of time and lines.
func (m *merger) rows() iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for len(m.current) > 0 {
			r := m.current[0]
			if !yield(r.row, nil) {
				return
			}
			more, err := r.nextRow()
			if err == nil && !more {
				err = r.nextDevice()
			}
			switch {
			case err != nil:
				yield(row{}, err)
				return
			case more:
				heap.Fix(&m.current, 0)
			default:
				heap.Pop(&m.current)
			}
		}
	}
}

// A rowHeap has the run with the first row on top.
type rowHeap []*run

func (h rowHeap) Len() int      { return len(h) }
func (h rowHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *rowHeap) Push(x any)   { *h = append(*h, x.(*run)) }
func (h rowHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].row.at, h[j].row.at), cmp.Compare(h[i].row.line, h[j].row.line)) < 0
}

func (h *rowHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
