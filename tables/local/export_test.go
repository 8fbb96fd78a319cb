package local

// OpenOn is Open with the data on another file system. The key and the format stay
// in the directory itself.
var OpenOn = openOn

// SetRaw writes a record past all services.
func (s *Server) SetRaw(key, value string) error {
	b := s.store.Batch()
	b.Set([]byte(key), []byte(value))
	return s.store.Apply(b)()
}
