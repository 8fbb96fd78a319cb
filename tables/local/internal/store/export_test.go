package store

import "context"

// Compact rewrites all files, as happens to a full database bit by bit.
func (s *Store) Compact(ctx context.Context) error {
	return s.db.Compact(ctx, []byte{0}, []byte{0xff}, true)
}

// Live returns the bytes of the tables that are still used.
func (s *Store) Live() int64 { t := s.db.Metrics().Total(); return int64(t.TablesSize) }

// Compactions returns how many there were.
func (s *Store) Compactions() int64 { return s.db.Metrics().Compact.Count }
