package answers

import (
	"time"

	"furrow/tables/schema"
)

// An Act is something that somebody did to the fleet.
type Act struct {
	At     time.Time `json:"at" column:"at"` // when it began
	Who    string    `json:"who" column:"who"`
	From   string    `json:"from"`               // dashboard, API or command
	What   string    `json:"what" column:"what"` // the command that does the same, such as device revoke
	Device string    `json:"device,omitempty" column:"device"`
	Tenant string    `json:"tenant,omitempty" column:"tenant"` // that it is about; without it the fleet
	Detail string    `json:"detail,omitempty" column:"detail"`
	// or the error; without it the act is under way, or its outcome is unknown
	Outcome string `json:"outcome,omitempty" column:"outcome"`
	Failed  bool   `json:"failed,omitempty"`
}

// ActOf returns an act.
func ActOf(a schema.Act) Act {
	return Act{At: a.At.Time(), Who: a.Who, From: a.From, What: a.What, Device: string(a.Device),
		Tenant: string(a.Tenant), Detail: a.Detail, Outcome: a.Outcome, Failed: a.Failed}
}
