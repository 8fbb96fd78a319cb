package jobs_test

import (
	"fmt"
	"time"

	"furrow/jobs"
	"furrow/tables"
)

func Example() {
	m := jobs.Message{Kind: jobs.Master, Pipeline: "live",
		Run: tables.TicksOf(time.Date(2026, 11, 20, 9, 17, 0, 0, time.UTC))}
	text, err := m.Encode()
	fmt.Println(text, err)
	_, err = jobs.Decode(`{"v":1,"kind":"mister","pipeline":"live"}`)
	fmt.Println(err)
	// Output:
	// {"v":1,"kind":"master","pipeline":"live","run":"0639307630200000000"} <nil>
	// the message cannot be read: kind "mister" is not known; want master, month, device, audit, group or deliver
}
