package earth

import "math"

// Coefficients of the projection.
const (
	a1, a2, a3, a4 = 1.340264, -0.081106, 0.000893, 0.003796
	m              = 0.8660254037844386 // √3/2
)

// Width and Height are of the whole world, projected, on a sphere of radius one.
const (
	Width  = 2 * math.Pi / (m * a1)
	Height = 2 * 1.3173627591574133
)

const radian = math.Pi / 180

// Project puts a place, in degrees, on the plane: x to the east, y to the north.
func Project(lon, lat float64) (x, y float64) {
	t := math.Asin(m * math.Sin(lat*radian))
	t2 := t * t
	t6 := t2 * t2 * t2
	return lon * radian * math.Cos(t) / (m * (a1 + 3*a2*t2 + t6*(7*a3+9*a4*t2))), t * (a1 + a2*t2 + t6*(a3+a4*t2))
}

// Place is where Project put x, y from. Beyond the edge of the world it is the
// nearest latitude, and a longitude beyond 180 degrees.
func Place(x, y float64) (lon, lat float64) {
	y = max(-Height/2, min(Height/2, y))
	t := y
	for range 12 { // Newton's method; it is there after 5 steps or so
		t2 := t * t
		t6 := t2 * t2 * t2
		d := (t*(a1+a2*t2+t6*(a3+a4*t2)) - y) / (a1 + 3*a2*t2 + t6*(7*a3+9*a4*t2))
		if t -= d; math.Abs(d) < 1e-14 {
			break
		}
	}
	t2 := t * t
	t6 := t2 * t2 * t2
	lon = m * x * (a1 + 3*a2*t2 + t6*(7*a3+9*a4*t2)) / math.Cos(t)
	return lon / radian, math.Asin(max(-1, min(1, math.Sin(t)/m))) / radian
}
