package verify

import "context"

// An Output is what a processor makes of readings: what is known of its configuration. All that it takes to verify the
// outputs of a processor is in the file of its type.
type Output interface {
	// tables returns the tables whose rows are searched for devices that the fleet does not have.
	tables() []string
	// begin adds what compares the outputs of a device to the checks of a pipe.
	begin(ctx context.Context, p *pipe) error
	// home verifies what the devices of a home have together.
	home(ctx context.Context, h *home, p Pipeline) error
	// cost estimates the requests for a number of days, with readings on the busy ones.
	cost(values bool, days int64, busy load) cost
}

// A check compares an output of a device with its readings.
type check interface {
	name() string // under which readings are counted
	row(p *pipe, r *reading) error
	finish(ctx context.Context, p *pipe) error
}

// A cost is about how many requests it takes to verify an output.
type cost struct {
	device int64 // for each device
	home   int64 // for each home
	pages  int64 // for each page of readings
}

func (c *cost) add(o cost) {
	c.device, c.home, c.pages = c.device+o.device, c.home+o.home, c.pages+o.pages
}
