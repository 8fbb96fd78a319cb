package schema

import "furrow/tables"

// DoubtfulProperty is the property of a reading that was imported from an output of Furrow, and that is of bad quality,
// whatever its model says: true.
const DoubtfulProperty = "_doubtful"

// SaysDoubtful reports whether a property says that its reading is of bad quality.
func SaysDoubtful(p tables.Property) bool {
	return p.Name == DoubtfulProperty && p.Value.String() == "true"
}
