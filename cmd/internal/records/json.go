package records

import (
	"encoding/base64"
	"math"

	"furrow/tables"
)

// JSON returns a value in its own type where JSON has it. Bytes are base64, times are
// RFC 3339, and numbers that are not finite are texts, as in OData.
func JSON(v tables.Value) any {
	switch v.Type() {
	case tables.TypeBoolean:
		return v.Boolean()
	case tables.TypeInt32, tables.TypeInt64:
		return v.Int()
	case tables.TypeDouble:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
		return number(v.Float())
	case tables.TypeDateTime:
		return Moment(v.Ticks()).String()
	case tables.TypeBinary:
		return base64.StdEncoding.EncodeToString(v.Binary())
	}
	return v.Text()
}
