package factory

import (
	"hash/maphash"
	"strings"
)

// A seen tells which ids a file has had, by their hashes: 64 bits are more than
// the ids of any factory need, and take little memory.
type seen struct {
	seed  maphash.Seed
	first map[uint64]sighting // by the hash of the id in small letters
}

type sighting struct {
	id   uint64 // hash
	line int
}

// mostSeen bounds the memory. Lines beyond it are not compared.
const mostSeen = 4_000_000

func newSeen() *seen { return &seen{maphash.MakeSeed(), map[uint64]sighting{}} }

// add tells the line on which the same id was before, or one that differs by case
// alone; zero where there is none.
func (s *seen) add(id string, line int) (same, byCase int) {
	own, folded := maphash.String(s.seed, id), maphash.String(s.seed, strings.ToLower(id))
	before, there := s.first[folded]
	switch {
	case !there && len(s.first) < mostSeen:
		s.first[folded] = sighting{own, line}
	case there && before.id == own:
		return before.line, 0
	case there:
		return 0, before.line
	}
	return 0, 0
}
