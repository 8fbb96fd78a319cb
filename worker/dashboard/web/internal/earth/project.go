package earth

import "math"

// Coefficients of the projection.
const (
	a1, a2, a3, a4 = 1.340264, -0.081106, 0.000893, 0.003796
	m              = 0.8660254037844386 // √3/2
)

// Width and Height are the size of the projected world, on a sphere of radius one.
const (
	Width  = 2 * math.Pi / (m * a1)
	Height = 2 * 1.3173627591574133
)

const radian = math.Pi / 180

// Project projects a place in degrees: x to the east, y to the north.
func Project(lon, lat float64) (x, y float64) {
	t := math.Asin(m * math.Sin(lat*radian))
	t2 := t * t
	t6 := t2 * t2 * t2
	return lon * radian * math.Cos(t) / (m * (a1 + 3*a2*t2 + t6*(7*a3+9*a4*t2))), t * (a1 + a2*t2 + t6*(a3+a4*t2))
}
