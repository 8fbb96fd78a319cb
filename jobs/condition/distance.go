package condition

import (
	"errors"
	"math"
	"strconv"

	"github.com/expr-lang/expr/ast"
)

// distance compiles distance(lat, lon, lat, lon): the metres between two points in degrees. With one point, the other
// is that of the device's labels lat and lon.
func (c *Condition) distance(n *ast.CallNode) (eval, error) {
	arguments := n.Arguments
	if len(arguments) == 2 {
		for _, name := range []string{"lat", "lon"} {
			arguments = append(arguments, &ast.MemberNode{Node: &ast.IdentifierNode{Value: "labels"},
				Property: &ast.StringNode{Value: name}})
		}
	}
	if len(arguments) != 4 {
		return nil, errors.New("distance takes two points, as in distance(lat, lon, 57.15, -2.09), or one, and takes the " +
			"other from the labels lat and lon")
	}
	of, err := c.compileAll(arguments)
	if err != nil {
		return nil, err
	}
	return func(r Row) Value {
		var at [4]float64
		for i := range of {
			degrees, is := of[i](r).degrees()
			if at[i] = degrees; !is || math.Abs(degrees) > 90*float64(1+i%2) {
				return Value{}
			}
		}
		return Number(metres(at[0], at[1], at[2], at[3]))
	}, nil
}

// degrees returns the number of a value, which labels have as a text.
func (v Value) degrees() (degrees float64, is bool) {
	if v.is == text {
		degrees, err := strconv.ParseFloat(v.text, 64)
		return degrees, err == nil && degrees == degrees
	}
	return v.number, v.is == number && v.number == v.number
}

// metres returns the length of the shortest way between two points on a sphere with the earth's mean radius, by the
// haversine formula. It differs from that on the ellipsoid by at most 0.6 %.
func metres(lat, lon, toLat, toLon float64) float64 {
	const radius, radian = 6_371_009, math.Pi / 180
	half := func(degrees float64) float64 {
		s := math.Sin(degrees * radian / 2)
		return s * s
	}
	h := half(toLat-lat) + math.Cos(lat*radian)*math.Cos(toLat*radian)*half(toLon-lon)
	return 2 * radius * math.Asin(min(1, math.Sqrt(h)))
}
