package model

import "time"

// A Sensor is a property that devices measure.
type Sensor struct {
	Name    string   `json:"name"`
	Unit    string   `json:"unit,omitempty"`
	Kind    string   `json:"kind" enum:"number state rate"` // of a rate, the name is that of another sensor and /h
	Devices int      `json:"devices"`
	Min     *float64 `json:"min,omitempty"` // 2nd percentile, for colours
	Max     *float64 `json:"max,omitempty"` // 98th percentile, for colours
}

// Sensors is the answer of /v1/sensors.
type Sensors struct {
	Sensors []Sensor `json:"sensors"`
}

// A Map is the answer of /v1/map: the devices in a part of the world.
type Map struct {
	At     time.Time `json:"at"` // when the newest values were last read
	Sensor string    `json:"sensor"`
	Unit   string    `json:"unit,omitempty"`
	// Values of the first and the last colour: the 2nd and 98th percentile of what is in view, without outliers.
	// Absent for states.
	Scale *[2]float64 `json:"scale,omitempty"`
	Total int         `json:"total"` // all devices, with a position or without
	// devices in the cells of the grid that the box touches, in clusters or not
	InView   int       `json:"inView"`
	Clusters []Cluster `json:"clusters"`
	Devices  []Dot     `json:"devices"`
	Counted
}

// A Cluster is several devices that lie close together.
type Cluster struct {
	ID  string  `json:"id"` // ID of the cell; never the ID of a device
	Lat float64 `json:"lat"`
	Lon float64 `json:"lon"`
	N   int     `json:"n"`

	// devices that have a number; mean, min and max are over these
	Numbers int      `json:"numbers,omitempty"`
	Mean    *float64 `json:"mean,omitempty"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	New     int      `json:"new,omitempty"` // devices that have not sent their first reading
	Silent  int      `json:"silent,omitempty"`
	Held    int      `json:"held,omitempty"`
	BBox    Box      `json:"bbox"` // west, south, east and north, in degrees

	Incidents int    `json:"incidents,omitempty"`                             // devices with open incidents that are not muted
	Severity  string `json:"severity,omitempty" enum:"critical warning info"` // the greatest of these
}

// A State is the state of a device.
type State string

// All states.
const (
	OK      State = "ok"
	Unheard State = "new"    // it has not sent its first reading
	Silent  State = "silent" // nothing was heard for three of the intervals that are stated for it
	Held    State = "held"
	Revoked State = "revoked"
	Moved   State = "moved" // of a single device, for a tenant that had it
)

// A Dot is one device on the map.
type Dot struct {
	Device string     `json:"device"`
	Lat    float64    `json:"lat"`
	Lon    float64    `json:"lon"`
	Value  any        `json:"value"` // a number, a text, or null
	Time   *time.Time `json:"time,omitempty"`
	State  State      `json:"state" enum:"ok new silent held revoked"`

	Severity string `json:"severity,omitempty" enum:"critical warning info"` // the greatest of its open incidents that are not muted
}

// A Change is an event of /v1/stream: what has changed in view.
type Change struct {
	At       time.Time `json:"at"`
	Clusters []Cluster `json:"clusters,omitempty"`
	Devices  []Dot     `json:"devices,omitempty"`
	Gone     []string  `json:"gone,omitempty"` // IDs of clusters and devices that are no longer in view

	Scale  *[2]float64 `json:"scale,omitempty"` // if it has changed
	Total  int         `json:"total"`
	InView int         `json:"inView"`
}
