package fold

import (
	"furrow/tables"
	"furrow/tables/schema"
)

// An Effect asks for one output to be written as a whole.
type Effect struct {
	Output Output
	// Properties has a property for each sensor. If it is nil, the fold did not change the output, and only closes it. If
	// it is empty and not nil, no reading concerns the output: an existing one is emptied, and no new one is created.
	Properties []tables.Property
	// Closed says that no later sample in row order can change the output.
	Closed bool
	// Command is what a Watcher wants sent to the device. If too many commands wait, the output is written instead.
	Command *schema.Command
	// From and To are the window of an output: it is made of samples whose ticks lie in [From, To). An object is made of
	// all readings there, and nothing else.
	From, To tables.Ticks
	// Mark, if it has a kind, is left in the tracking partition with the commit: something that depends on the output has
	// to be made again. The partition is that of the device.
	Mark schema.Mark
	// Apart, if it is not zero, is the time of the service from which the mark is about this device alone: its name then
	// ends with the device.
	Apart tables.Ticks
	// Lapse, if it is not zero, is the time of the service from which no mark is left: another effect asks for more.
	Lapse tables.Ticks
}

// IsMark reports whether the effect is only a mark.
func (e Effect) IsMark() bool { return e.Output.Table == "" && e.Mark.Kind != "" }

// MarkFor returns the mark that an effect of a device leaves now, if any. A horizon of zero is that of rows which are
// folded again: history.
func (e Effect) MarkFor(d schema.DeviceID, horizon, now tables.Ticks) schema.Mark {
	if e.Lapse != 0 && e.Lapse <= now {
		return schema.Mark{}
	}
	if m := e.Mark; e.Apart == 0 || horizon > 0 && horizon < e.Apart {
		return m
	}
	e.Mark.Name += schema.Separator + string(d)
	return e.Mark
}
