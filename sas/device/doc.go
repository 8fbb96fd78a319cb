// Package device is what a device or a gateway runs to get its readings into
// the table, each of them once. It asks the SAS endpoint for a token, which it
// keeps in memory only, and writes straight to Table Storage.
//
//	client, err := device.Open(device.Config{
//		Endpoint:   "https://furrow.example:8443",
//		Device:     "pump-7",
//		Enrollment: "plant1",
//		Key:        os.Getenv("DEVICE_KEY"),
//		File:       "/var/lib/pump/readings",
//	})
//	...
//	defer client.Close()
//	go client.Run(ctx)
//	err = client.Send(device.Reading{Values: map[string]any{"Temperature": 21.5}})
//
// Send returns when the reading is safe: with a File, after it was flushed to
// disk. From then on the reading is stored once, or OnReport is told why not.
// Readings are sent in the order in which they were accepted. Nothing is given
// up because of an outage, however long; what the buffer cannot hold is refused
// by Send, or, with DropOldest, dropped and reported.
//
// # Time
//
// Readings are stamped with the server's time, carried on by the device's
// monotonic clock: a wrong clock, and one that is set while the device runs,
// does not matter. What was taken before the server's time was known gets its
// time when it is. Where the power went before that, the next start goes by
// the device's own clock, if what it said lies between the last time known
// before and the next start; if not, nobody knows when those readings were
// taken, and they are set aside and reported rather than stored under a time that was
// made up. The monotonic clock of most systems stands still while the machine
// sleeps; a reading taken after that and before the next token is early by as much.
//
// A Reading with a Time of its own keeps it, save that a Time which time.Now
// gave in this process is corrected as said above.
//
// A device that does not know the time cannot tell whether a certificate is
// valid already. If its clock stands before a certificate's first day it takes
// that day for the time, once, to ask the endpoint for the right one.
package device
