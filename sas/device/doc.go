// Package device is the client for devices and gateways. It stores each reading exactly once
// in the device's table: it gets tokens from the token endpoint, and writes directly to Table
// Storage.
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
// Send returns when the reading is durable: with a File, after it was flushed to disk. From
// then on the reading is either stored once, or reported to OnReport with the reason.
// Readings are sent in the order of acceptance. No outage, however long, loses a reading. If
// the buffer is full, Send refuses the new reading with ErrFull.
//
// Each row key ends with a random name of the boot and the number of the reading in it, so that
// furrow query --gaps tells which accepted readings are not stored. Readings in memory that are
// lost with the process are not seen: nothing has their numbers.
//
// # Key and token
//
// The device's key never leaves the device: it signs a short proof of identity, and with that
// proof the client asks the endpoint for a token. Config.Key is the device's own key, derived
// from its enrollment's key, so a stolen device reveals no other device's key.
//
// A token lets the device add rows to its own partition, in a window of row keys, until it
// expires (after an hour by default). It cannot read, change or delete anything; a second token reads the device's own
// commands, where its enrollment has any. The client
// keeps tokens only in memory, and gets a new one after a restart. It renews a token at a
// random time before it expires, so that a fleet does not renew all at once, and uses a valid
// token while the endpoint is down.
//
// # What a thief can do
//
// With a token: add rows to this device's partition, with row keys in the token's window, until it
// expires or the device is revoked. With the device's key: get such tokens until the device is
// revoked. Neither reads, changes or deletes anything, and neither helps with another device.
//
// The enrollment's key must never be on a device: it poses as each device of the enrollment and
// registers new ones, within the bounds of the enrollment. The storage account's key can do
// anything, and only the token endpoint needs it. A worker can read and write all data of the fleet,
// but without that key it cannot sign tokens.
//
// # Revocation
//
// A token can stop working before it expires, because this device or another one of its cohort
// was revoked. The client then asks for a new token at once. If this device was revoked, the
// endpoint refuses: the client reports Denied once, keeps the readings, and asks again every
// five minutes, so that a device that is restored sends what it has kept.
//
// # Time
//
// Readings are stamped with the server's time, extrapolated with the device's monotonic
// clock. A device clock that is wrong, or that is set while the device runs, does not matter.
// Readings taken before the server's time is known get their times once it is. If the power
// fails before that, the next start uses the device's own clock, provided that its time lies
// between the last known time and the next start. Otherwise the times are unknown, and the
// readings are reported instead of being stored under an invented time. The monotonic clock
// of most systems stops while the machine sleeps; readings between such a sleep and the next
// token are stamped too early by the length of the sleep.
//
// A Reading with its own Time keeps it, except that a Time from time.Now in this process is
// corrected as described above.
//
// A device that does not know the time cannot tell whether a certificate is already valid.
// If its clock is before the certificate's validity, it uses the first valid day once, to ask
// the endpoint for the right time.
//
// # Commands
//
// With Config.OnCommand or Config.OnDesired, a device of an enrollment with commands reads what it is to do, and the
// configuration that it is to have: with each token that says that commands wait, and every few minutes
// (Config.PollEvery).
// A function gets each command at least once, with its ID, and never one that has expired by the time of the response.
// The client acknowledges it with readings, as received and then as succeeded or failed, with what the function
// returned. A device that is killed before its result was processed gets the command again, unless File has the result.
//
// # Many devices in one program
//
// A gateway opens a client for each of its devices. Where they send seldom, it closes each of them in between and keeps
// its Session, which is some hundred bytes and has the token: see Config.Session. furrow simulate runs its devices so.
//
// # Other languages
//
// The folder examples has devices in MicroPython, C, Node and shell, which follow the same rules. Its
// README names the rules that matter to whoever writes another one.
package device
