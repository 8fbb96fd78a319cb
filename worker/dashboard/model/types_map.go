package model

import "time"

// A Sensor is a property that devices measure.
type Sensor struct {
	Name    string   `json:"name"`
	Unit    string   `json:"unit,omitempty"`
	Kind    string   `json:"kind"` // number or state; rate, if the name is that of another sensor and /h
	Devices int      `json:"devices"`
	Min     *float64 `json:"min,omitempty"` // 2nd and 98th percentile, for the colours
	Max     *float64 `json:"max,omitempty"`
}

// Sensors is the answer of /v1/sensors.
type Sensors struct {
	Sensors []Sensor `json:"sensors"`
}

// A Map is the answer of /v1/map: the devices in a part of the world.
type Map struct {
	At         time.Time   `json:"at"`
	Sensor     string      `json:"sensor"`
	Unit       string      `json:"unit,omitempty"`
	Scale      *[2]float64 `json:"scale,omitempty"` // values of the first and the last colour; absent for states
	Total      int         `json:"total"`
	InView     int         `json:"inView"`
	Clusters   []Cluster   `json:"clusters"`
	Devices    []Dot       `json:"devices"`
	Operations int         `json:"operations"`
}

// A Cluster is several devices that lie close together.
type Cluster struct {
	ID  string  `json:"id"`
	Lat float64 `json:"lat"`
	Lon float64 `json:"lon"`
	N   int     `json:"n"`

	// Numbers, Mean, Min and Max are over the devices that have a number.
	Numbers int      `json:"numbers,omitempty"`
	Mean    *float64 `json:"mean,omitempty"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Silent  int      `json:"silent,omitempty"`
	Held    int      `json:"held,omitempty"`
	BBox    Box      `json:"bbox"` // west, south, east, north

	Incidents int    `json:"incidents,omitempty"` // devices with open ones that are not muted
	Severity  string `json:"severity,omitempty"`  // the greatest of these
}

// A State is the state of a device.
type State string

// All states.
const (
	OK      State = "ok"
	Silent  State = "silent"
	Held    State = "held"
	Revoked State = "revoked"
	Moved   State = "moved" // of a single device, for a tenant that had it
)

// A Dot is one device on the map.
type Dot struct {
	Device string     `json:"device"`
	Lat    float64    `json:"lat"`
	Lon    float64    `json:"lon"`
	Value  any        `json:"value"` // a float64, a string, or nil
	Time   *time.Time `json:"time,omitempty"`
	State  State      `json:"state"`

	Severity string `json:"severity,omitempty"` // the greatest of its open incidents that are not muted
}

// A Change is an event of /v1/stream: what has changed in view.
type Change struct {
	At       time.Time `json:"at"`
	Clusters []Cluster `json:"clusters,omitempty"`
	Devices  []Dot     `json:"devices,omitempty"`
	Gone     []string  `json:"gone,omitempty"` // IDs of clusters and devices

	Scale  *[2]float64 `json:"scale,omitempty"` // if it has changed
	Total  int         `json:"total"`
	InView int         `json:"inView"`
}
